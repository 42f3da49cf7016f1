"""`Dataset`: one split of a data set. Its images stay bytes until an episode is drawn."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
import torch.utils.data
from torch import Tensor

from kanerva.checks import check_device, check_one_of
from kanerva.data.dataset_checks import (
    check_classes,
    check_images,
    check_likelihood,
    check_numbers,
    check_text,
)
from kanerva.data.pixels import mean_pixels, to_pixels
from kanerva.errors import KanervaError

SPLITS = ("train", "fit", "valid", "test")
"""`fit` and `valid` are the two parts of `train`. Make choices on `valid`, report on `test`."""


class ItemError(KanervaError, IndexError):
    """There is no image with this number. Python's loops end at an `IndexError`."""


@dataclass(frozen=True, eq=False)
class Dataset(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """One split of a data set: its images, their labels, and how the pixels were made.

    The words (`split`, `binarisation`, `encoding`, ...) are what a reader has to know about a
    number that was measured on this data. `load_dataset` reads the known data sets; make a
    `Dataset` yourself for tensors of your own. `dataset[number]` is one image and its label, so
    that a `torch.utils.data.DataLoader` can take a data set as it is.

    Args:
        name: a data set such as omniglot or glyphs, or any name for data of your own.
        split: train, fit, valid or test.
        images: uint8 (N, channels, H, W), from 0 to 255. In drawings ink is 255.
        labels: int64 (N,), the class of each image. A class has the same number in every split.
        class_names: the names of all classes, also of those without an image in this split.
        likelihood: bernoulli (pixels 0 or 1) or gaussian (grey or colour).
        binarisation: threshold20 (the paper's) or stochastic (drawn anew each time) for bernoulli;
            none for gaussian.
        encoding: in words, where the pixels come from.
        alphabets: int64 (N,), the alphabet of each image; Omniglot only.
        drawers: int64 (N,), who drew each image, from 1 to 20; Omniglot only.
        source: what `load_dataset` needs to read the same data again: the name of a known data set,
            or the absolute path of a folder; None for tensors of your own.

    Raises:
        KanervaError: a tensor has the wrong type or shape, or a word is not one of those above.

    Example:
        >>> import torch
        >>> pixels = torch.randint(256, (6, 1, 28, 28), dtype=torch.uint8)
        >>> Dataset(
        ...     name="drawings",
        ...     split="train",
        ...     images=pixels,
        ...     labels=torch.tensor([0, 0, 0, 1, 1, 1]),
        ...     class_names=("circle", "cross"),
        ...     likelihood="bernoulli",
        ...     binarisation="threshold20",
        ...     encoding="random numbers",
        ... )
        Dataset('drawings', 'train', 6 images (1, 28, 28), 2 classes, bernoulli, threshold20, cpu)

    """

    name: str
    split: str
    images: Tensor
    labels: Tensor
    class_names: tuple[str, ...]
    likelihood: str
    binarisation: str
    encoding: str
    alphabets: Tensor | None = None
    drawers: Tensor | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.class_names, list):
            object.__setattr__(self, "class_names", tuple(self.class_names))
        check_text("name", self.name)
        check_text("encoding", self.encoding)
        if self.source is not None:
            check_text("source", self.source)
        check_images(self.images)
        none = "Without classes, give every image label 0 and one class name."
        check_numbers("labels", self.labels, self.images, fix=none)
        for name, numbers in (("alphabets", self.alphabets), ("drawers", self.drawers)):
            if numbers is not None:
                fix = "Leave it out where it is not known."
                check_numbers(name, numbers, self.images, fix=fix)
        check_classes(self.labels, self.class_names)
        check_one_of("split", self.split, SPLITS)
        check_likelihood(self.likelihood, self.binarisation)

    @property
    def num_classes(self) -> int:
        """The number of classes, also counting those without an image in this split.

        Returns:
            The length of `class_names`.

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> data.num_classes
            2

        """
        return len(self.class_names)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """The shape of one image.

        Returns:
            (channels, height, width).

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> data.image_shape
            (1, 28, 28)

        """
        channels, height, width = self.images.shape[1:]
        return channels, height, width

    @property
    def device(self) -> torch.device:
        """The device that the images are on.

        Returns:
            The device of `images`.

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> data.device
            device(type='cpu')

        """
        return self.images.device

    def to(self, device: torch.device | str) -> "Dataset":
        """Copy the data set to another device.

        Args:
            device: where to, for example "cuda".

        Returns:
            The same data set with all tensors on `device`.

        Raises:
            KanervaError: there is no such device here.

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> data.to("cpu").device
            device(type='cpu')

        """
        device = check_device("device", device)
        return replace(
            self,
            images=self.images.to(device),
            labels=self.labels.to(device),
            alphabets=None if self.alphabets is None else self.alphabets.to(device),
            drawers=None if self.drawers is None else self.drawers.to(device),
        )

    def mean_image(self) -> Tensor:
        """The mean of all images as episodes show them, that is after binarisation.

        For a Bernoulli likelihood this is how often each pixel is ink.

        Returns:
            (channels, H, W) in float64, from 0 to 1.

        Example:
            >>> images, labels = torch.tensor([0, 20, 21, 255]), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images.byte().reshape(4, 1, 1, 1), labels, ("a", "b"),
            ...     "bernoulli", "threshold20", "greys",
            ... )
            >>> data.mean_image().item()
            0.5

        """
        return mean_pixels(self.images, likelihood=self.likelihood, binarisation=self.binarisation)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """One image (channels, H, W) in float32, as episodes show it, and its label."""
        try:
            number = None if isinstance(index, bool) else operator.index(index)
        except TypeError:
            number = None
        if number is None:
            raise KanervaError(
                "index",
                expected="the number of one image",
                got=repr(index)[:60],
                fix="For several at once take dataset.images[index] and dataset.labels[index].",
            )
        if not -len(self) <= number < len(self):
            raise ItemError(
                "index",
                expected=f"a number from {-len(self)} to {len(self) - 1}",
                got=str(number),
                fix="len(dataset) says how many images there are.",
            )
        image = to_pixels(
            self.images[number], likelihood=self.likelihood, binarisation=self.binarisation
        )
        return image, int(self.labels[number])

    def __iter__(self) -> Iterator[tuple[Tensor, int]]:
        return (self[number] for number in range(len(self)))

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {self.split!r}, {len(self)} images {self.image_shape}, "
            f"{self.num_classes} classes, {self.likelihood}, {self.binarisation}, {self.device})"
        )
