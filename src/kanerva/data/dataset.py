"""`Dataset`: one split of a data set. Its images stay bytes until an episode is drawn."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kanerva.checks import check_one_of
from kanerva.errors import KanervaError

SPLITS = ("train", "fit", "valid", "test")
"""`fit` and `valid` are the two parts of `train`. Make choices on `valid`, report on `test`."""
BINARISATIONS = {"bernoulli": ("threshold20", "stochastic"), "gaussian": ("none",)}
"""The ways to turn grey pixels into 0 and 1 that each likelihood can be used with."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """One split of a data set: its images, their labels, and how the pixels were made.

    The words (`split`, `binarisation`, `encoding`, ...) are what a reader has to know about a
    number that was measured on this data. `load_dataset` reads the known data sets; make a
    `Dataset` yourself for tensors of your own.

    Args:
        name: omniglot, omniglot-burda, cifar10, glyphs, or any name for data of your own.
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

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.dim() != 4 or len(self.images) == 0:
            raise KanervaError(
                "images",
                expected="a uint8 tensor (N, channels, H, W) with at least one image",
                got=f"{self.images.dtype} {tuple(self.images.shape)}",
                fix="Give pixels as whole numbers from 0 to 255, with one channel for grey.",
            )
        self._check_numbers(
            "labels",
            self.labels,
            fix="Without classes, give every image label 0 and one class name.",
        )
        for name, numbers in (("alphabets", self.alphabets), ("drawers", self.drawers)):
            if numbers is not None:
                self._check_numbers(name, numbers, fix="Leave it out where it is not known.")
        check_one_of("split", self.split, SPLITS)
        check_likelihood(self.likelihood, self.binarisation)

    def _check_numbers(self, name: str, numbers: Tensor, *, fix: str) -> None:
        if numbers.dtype != torch.int64 or numbers.shape != self.images.shape[:1]:
            raise KanervaError(
                name,
                expected=f"an int64 tensor ({len(self.images)},), one number for each image",
                got=f"{numbers.dtype} {tuple(numbers.shape)}",
                fix=fix,
            )

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

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "test", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> data.to("cpu").device
            device(type='cpu')

        """
        return replace(
            self,
            images=self.images.to(device),
            labels=self.labels.to(device),
            alphabets=None if self.alphabets is None else self.alphabets.to(device),
            drawers=None if self.drawers is None else self.drawers.to(device),
        )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {self.split!r}, {len(self)} images {self.image_shape}, "
            f"{self.num_classes} classes, {self.likelihood}, {self.binarisation}, {self.device})"
        )


def check_likelihood(likelihood: str, binarisation: str) -> None:
    """Check that the likelihood exists and that it can be used with the binarisation."""
    check_one_of("likelihood", likelihood, BINARISATIONS)
    if binarisation not in BINARISATIONS[likelihood]:
        raise KanervaError(
            "binarisation",
            expected=f"{' or '.join(BINARISATIONS[likelihood])} with a {likelihood} likelihood",
            got=repr(binarisation),
            fix="A Bernoulli likelihood explains pixels that are 0 or 1, a Gaussian one explains "
            "grey or colour.",
        )
