"""`ImageArrays`: what the reader of a data set returns, all images in the order of their splits."""

from typing import NamedTuple

import numpy as np

FIT, VALID, TEST = 0, 1, 2
PARTS = {"fit": (FIT, FIT), "valid": (VALID, VALID), "train": (FIT, VALID), "test": (TEST, TEST)}
"""First and last part of each split."""


class ImageArrays(NamedTuple):
    """The images and labels of a data set as NumPy arrays.

    The images are in the order fit, valid, test, so that every split is a slice. `split_bounds`
    says which.
    """

    images: np.ndarray
    """uint8 (N, channels, H, W)."""
    labels: np.ndarray
    """int64 (N,)."""
    split_sizes: tuple[int, int, int]
    """How many images of the whole data set are for fitting, validation and test."""
    class_names: tuple[str, ...]
    encoding: str
    """In words, where the pixels come from."""
    alphabets: np.ndarray | None = None
    """int64 (N,), for Omniglot."""
    drawers: np.ndarray | None = None
    """int64 (N,), for Omniglot."""

    def take(self, index: np.ndarray | slice) -> "ImageArrays":
        """Keep some of the images, in the order of `index`."""
        return self._replace(
            images=self.images[index],
            labels=self.labels[index],
            alphabets=None if self.alphabets is None else self.alphabets[index],
            drawers=None if self.drawers is None else self.drawers[index],
        )


def in_split_order(
    parts: np.ndarray,
    *,
    images: np.ndarray,
    labels: np.ndarray,
    class_names: tuple[str, ...],
    encoding: str,
    alphabets: np.ndarray | None = None,
    drawers: np.ndarray | None = None,
) -> ImageArrays:
    """Sort images by their part (N,): FIT, VALID or TEST. Inside a part the order stays."""
    fit, valid, test = np.bincount(parts, minlength=3)[:3].tolist()
    split_sizes = (fit, valid, test)
    arrays = ImageArrays(
        images, labels, split_sizes, class_names, encoding, alphabets=alphabets, drawers=drawers
    )
    return arrays.take(np.argsort(parts, kind="stable"))


def split_bounds(split_sizes: tuple[int, int, int], split: str) -> tuple[int, int]:
    """Where a split begins and ends among all images in the order fit, valid, test."""
    first, last = PARTS[split]
    return sum(split_sizes[:first]), sum(split_sizes[: last + 1])


def random_parts(is_test: np.ndarray | None, num_images: int) -> np.ndarray:
    """Split by a fixed seed: a tenth of the training images (N,) is for validation.

    `is_test` (N,) says which images are for test. Without it a fifth of all images is.
    """
    generator = np.random.default_rng(0)
    parts = np.full(num_images, FIT)
    if is_test is None:
        parts[generator.permutation(num_images)[: round(num_images / 5)]] = TEST
    else:
        parts[is_test] = TEST
    train = np.flatnonzero(parts == FIT)
    parts[generator.permutation(train)[: round(len(train) / 10)]] = VALID
    return parts
