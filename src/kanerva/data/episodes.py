"""`EpisodeSampler`: episodes of T items, drawn on the device of the images.

Shapes: B episodes, T items.
"""

import math

import torch
from torch import Tensor

from kanerva.checks import MOST_BYTES, check_bool, check_generator, check_integer
from kanerva.data.dataset import Dataset
from kanerva.data.pixels import THRESHOLD as THRESHOLD
from kanerva.data.pixels import to_pixels
from kanerva.data.symmetries import check_square, turned
from kanerva.errors import KanervaError

_LARGEST_INT32 = 2**31 - 1


class EpisodeSampler:
    """Draws episodes from a data set, each from the whole split or from a few of its classes.

    An episode is a set of T images in any order (the paper's X, section 3). Images are drawn with
    replacement. They stay on their device as bytes, and drawing does not wait for that device, so
    it can be part of a captured CUDA graph.

    Args:
        dataset: the split to draw from.
        num_items: T, the images of one episode.
        num_classes: draw each episode from this many random classes; every one of them occurs. By
            default episodes are drawn from the whole split.
        distinct: draw without replacement: no image occurs twice in an episode.
        symmetries: turn and mirror the images of an episode in one of 8 ways, all images of a class
            in the same way, as if they were of another class.

    Raises:
        KanervaError: `num_items` is below 1, `num_classes` is more than there are, or there are too
            few images for episodes without replacement.

    Example:
        >>> import torch
        >>> from kanerva.data import Dataset, EpisodeSampler
        >>> images = torch.randint(256, (4, 1, 28, 28), dtype=torch.uint8)
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> data = Dataset(
        ...     "mine", "train", images, labels, ("a", "b"), "bernoulli", "threshold20", "noise"
        ... )
        >>> sampler = EpisodeSampler(data, num_items=8, num_classes=2)
        >>> sampler.sample(16, generator=torch.Generator().manual_seed(0)).shape
        torch.Size([16, 8, 1, 28, 28])

    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        num_items: int,
        num_classes: int | None = None,
        distinct: bool = False,
        symmetries: bool = False,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise KanervaError(
                "dataset",
                expected="a Dataset",
                got=type(dataset).__name__,
                fix='Pass load_dataset("omniglot", "train"), or make a Dataset from your tensors.',
            )
        self._most_images = MOST_BYTES // (4 * dataset.images[0].numel())
        check_integer(
            "num_items",
            num_items,
            at_most=self._most_images,
            fix="The paper's episodes have 32 items.",
        )
        self.dataset = dataset
        self.num_items = num_items
        self.num_classes = num_classes
        check_bool("distinct", distinct, fix="Pass True or False.")
        self.distinct = distinct
        check_bool("symmetries", symmetries, fix="Pass True or False.")
        self.symmetries = symmetries
        if num_classes is not None:
            self._index_classes(num_classes)
        if symmetries:
            check_square(dataset.image_shape)
        if distinct:
            self._check_enough()

    def _check_enough(self) -> None:
        """Refuse episodes without replacement that need more images than there are."""
        if self.num_classes is None:
            needed, there, where = self.num_items, len(self.dataset), "in the split"
        else:
            needed = math.ceil(self.num_items / self.num_classes)
            there, where = int(self._counts.min()), "of one class"
        if needed > there:
            raise KanervaError(
                "num_items",
                expected=f"episodes that need at most the {there} images {where}",
                got=f"{self.num_items} items, {needed} different images {where}",
                fix="Draw shorter episodes, or draw with replacement: distinct=False.",
            )

    def _index_classes(self, num_classes: int) -> None:
        """Sort image numbers by class, and note where each class that occurs begins."""
        self._by_class = self.dataset.labels.argsort(stable=True)
        present, counts = self.dataset.labels.unique(return_counts=True)
        self._counts = counts
        self._starts = counts.cumsum(0) - counts
        self._most_of_class = int(counts.max())
        check_integer(
            "num_classes",
            num_classes,
            at_most=min(len(present), self.num_items),
            fix=f"The split has images of {len(present)} classes, and an episode has "
            f"{self.num_items} items: it cannot hold more classes than either.",
        )

    def sample(self, num_episodes: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Draw B random episodes of `num_items` images, (B, T, channels, H, W), without labels.

        Gaussian images are bytes / 256. Training adds the noise that fills the gaps between these
        values; there is none here.

        Args:
            num_episodes: B, how many to draw.
            generator: the source of random numbers, on the device of the images.

        Returns:
            Images (B, T, channels, H, W) in float32: 0 or 1 for a Bernoulli likelihood, at least 0
            and below 1 for a Gaussian one.

        Raises:
            KanervaError: `num_episodes` is below 1, or the generator is on another device.

        Example:
            >>> images, labels = torch.full((4, 1, 2, 2), 99).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "train", images, labels, ("a", "b"), "bernoulli", "threshold20", "grey"
            ... )
            >>> EpisodeSampler(data, num_items=2).sample(1)
            tensor([[[[[1., 1.],
                       [1., 1.]]],
            <BLANKLINE>
            <BLANKLINE>
                     [[[1., 1.],
                       [1., 1.]]]]])

        """
        index = self._draw(num_episodes, generator)
        return self._pixels(index, generator)

    def sample_labelled(
        self, num_episodes: int, *, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw the same episodes as `sample`, with their labels.

        Args:
            num_episodes: B, how many to draw.
            generator: the source of random numbers, on the device of the images.

        Returns:
            Images (B, T, channels, H, W) as `sample` returns them, and labels (B, T).

        Raises:
            KanervaError: `num_episodes` is below 1, or the generator is on another device.

        Example:
            >>> images, labels = torch.zeros(4, 1, 28, 28).byte(), torch.tensor([0, 0, 1, 1])
            >>> data = Dataset(
            ...     "mine", "train", images, labels, ("a", "b"), "bernoulli", "threshold20", "zeros"
            ... )
            >>> sampler = EpisodeSampler(data, num_items=6, num_classes=2)
            >>> images, labels = sampler.sample_labelled(1)
            >>> sorted(labels[0].tolist())
            [0, 0, 0, 1, 1, 1]

        """
        index = self._draw(num_episodes, generator)
        return self._pixels(index, generator), self.dataset.labels[index]

    def _draw(self, num_episodes: int, generator: torch.Generator | None) -> Tensor:
        """Draw image numbers (B, T)."""
        check_integer(
            "num_episodes",
            num_episodes,
            at_most=max(1, self._most_images // self.num_items),
            fix="Pass how many episodes to draw, for example 16.",
        )
        device = self.dataset.device
        check_generator(generator, device)
        shape = (num_episodes, self.num_items)
        if self.num_classes is None and self.distinct:
            scores = torch.rand(num_episodes, len(self.dataset), generator=generator, device=device)
            return scores.topk(self.num_items).indices
        if self.num_classes is None:
            return torch.randint(len(self.dataset), shape, generator=generator, device=device)
        scores = torch.rand(num_episodes, len(self._counts), generator=generator, device=device)
        classes = scores.topk(self.num_classes).indices
        # The items are dealt to the classes in turn, so that each class occurs, in random order.
        turns = torch.rand(shape, generator=generator, device=device).argsort(-1)
        chosen = classes.gather(-1, turns % self.num_classes)
        if self.distinct:
            order = self._shuffled(classes, generator)  # item number n of its class gets the n-th
            item = order[
                torch.arange(num_episodes, device=device)[:, None],
                turns % self.num_classes,
                turns // self.num_classes,
            ]
            return self._by_class[self._starts[chosen] + item]
        # The remainder prefers no image by more than one part in 2^31 / count.
        item = torch.randint(_LARGEST_INT32, shape, generator=generator, device=device)
        return self._by_class[self._starts[chosen] + item % self._counts[chosen]]

    def _shuffled(self, classes: Tensor, generator: torch.Generator | None) -> Tensor:
        """The numbers of all images of each class (B, n) in random order, (B, n, largest)."""
        most = torch.arange(self._most_of_class, device=classes.device)
        shape = (*classes.shape, self._most_of_class)
        scores = torch.rand(shape, generator=generator, device=classes.device)
        return (scores + (most >= self._counts[classes][..., None])).argsort(-1)

    def _pixels(self, index: Tensor, generator: torch.Generator | None) -> Tensor:
        images = self.dataset.images[index]
        if self.symmetries:
            shape = (len(index), self.dataset.num_classes)
            ways = torch.randint(8, shape, generator=generator, device=index.device)
            images = turned(images, ways.gather(-1, self.dataset.labels[index]))
        return to_pixels(
            images,
            likelihood=self.dataset.likelihood,
            binarisation=self.dataset.binarisation,
            generator=generator,
        )
