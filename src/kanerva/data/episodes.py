"""Episodes: T items of a data set, drawn where the images are. Shapes: B episodes, T items."""

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.data.dataset import Dataset
from kanerva.errors import KanervaError

THRESHOLD = 20
"""Of 255: the paper's binarisation of Omniglot (section 4.2, footnote)."""
_LARGEST_INT32 = 2**31 - 1


class EpisodeSampler:
    """Draws episodes from the whole split, or each from a few of its classes.

    Images stay on their device as bytes, and drawing is device work alone, without a question
    back to the host: it can be part of a captured CUDA graph. Items are drawn with replacement.
    """

    def __init__(self, dataset: Dataset, *, num_items: int, num_classes: int | None = None) -> None:
        check_integer("num_items", num_items, fix="The paper's episodes have 32 items.")
        self.dataset = dataset
        self.num_items = num_items
        self.num_classes = num_classes
        if num_classes is not None:
            self._index_classes(num_classes)

    def _index_classes(self, num_classes: int) -> None:
        """Image numbers sorted by class, and where each class that occurs begins among them."""
        self._by_class = self.dataset.labels.argsort(stable=True)
        present, counts = self.dataset.labels.unique(return_counts=True)
        self._counts = counts
        self._starts = counts.cumsum(0) - counts
        check_integer(
            "num_classes",
            num_classes,
            at_most=min(len(present), self.num_items),
            fix=f"The split has images of {len(present)} classes, and an episode has "
            f"{self.num_items} items: it cannot hold more classes than either.",
        )

    def sample(self, num_episodes: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Images (B, T, channels, H, W) in float32: 0 or 1 for Bernoulli, [0, 1) for Gaussian.

        Gaussian images are bytes / 256, without the noise that fills the gaps between them: the
        model adds that in training.
        """
        index = self._draw(num_episodes, generator)
        return self._pixels(index, generator)

    def sample_labelled(
        self, num_episodes: int, *, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same images as `sample`, and their labels (B, T)."""
        index = self._draw(num_episodes, generator)
        return self._pixels(index, generator), self.dataset.labels[index]

    def _draw(self, num_episodes: int, generator: torch.Generator | None) -> Tensor:
        """Image numbers (B, T)."""
        check_integer(
            "num_episodes", num_episodes, fix="Pass how many episodes to draw, for example 16."
        )
        device = self.dataset.device
        if generator is not None and generator.device.type != device.type:
            raise KanervaError(
                "generator",
                expected=f"a generator on {device}, where the images are",
                got=str(generator.device),
                fix=f"Make it there: torch.Generator({str(device)!r}).",
            )
        shape = (num_episodes, self.num_items)
        if self.num_classes is None:
            return torch.randint(len(self.dataset), shape, generator=generator, device=device)
        scores = torch.rand(num_episodes, len(self._counts), generator=generator, device=device)
        classes = scores.topk(self.num_classes).indices
        # Items take turns among the classes, so that each occurs, and then change places.
        turns = torch.rand(shape, generator=generator, device=device).argsort(-1)
        chosen = classes.gather(-1, turns % self.num_classes)
        # The remainder favours no image by more than one part in 2^31 / count.
        item = torch.randint(_LARGEST_INT32, shape, generator=generator, device=device)
        return self._by_class[self._starts[chosen] + item % self._counts[chosen]]

    def _pixels(self, index: Tensor, generator: torch.Generator | None) -> Tensor:
        images = self.dataset.images[index]
        if self.dataset.likelihood == "gaussian":
            return images.float() / 256
        if self.dataset.binarisation == "threshold20":
            return (images > THRESHOLD).float()
        noise = torch.rand(images.shape, generator=generator, device=images.device)
        return (noise < images.float() / 255).float()
