"""What a reader returns: a whole data set with its split, before anyone asks for a part of it."""

from typing import NamedTuple

import numpy as np

FIT, VALID, TEST = 0, 1, 2
PARTS = {"fit": (FIT, FIT), "valid": (VALID, VALID), "train": (FIT, VALID), "test": (TEST, TEST)}
"""First and last part of each split."""


class ImageArrays(NamedTuple):
    """N images in the order fit, valid, test, so that every split is one run of them."""

    images: np.ndarray
    """uint8 (N, channels, H, W)."""
    labels: np.ndarray
    """int64 (N,)."""
    split_sizes: tuple[int, int, int]
    """How many images are for fitting, validation and test."""
    class_names: tuple[str, ...]
    encoding: str
    alphabets: np.ndarray | None = None
    drawers: np.ndarray | None = None

    def bounds(self, split: str) -> tuple[int, int]:
        """Where a split begins and ends."""
        return split_bounds(self.split_sizes, split)


def split_bounds(split_sizes: tuple[int, int, int], split: str) -> tuple[int, int]:
    """Where a split begins and ends among images in the order fit, valid, test."""
    first, last = PARTS[split]
    return sum(split_sizes[:first]), sum(split_sizes[: last + 1])


def sort_by_split(arrays: ImageArrays, parts: np.ndarray) -> ImageArrays:
    """The arrays sorted by `parts` (FIT, VALID or TEST for each image), otherwise in place."""
    order = np.argsort(parts, kind="stable")
    fit, valid, test = np.bincount(parts, minlength=3)[:3].tolist()
    return arrays._replace(
        images=arrays.images[order],
        labels=arrays.labels[order],
        split_sizes=(fit, valid, test),
        alphabets=None if arrays.alphabets is None else arrays.alphabets[order],
        drawers=None if arrays.drawers is None else arrays.drawers[order],
    )


def random_split(is_test: np.ndarray | None, num_images: int) -> np.ndarray:
    """A split by a fixed seed: test as told, or a fifth of all; validation a tenth of the rest."""
    generator = np.random.default_rng(0)
    parts = np.full(num_images, FIT)
    if is_test is None:
        parts[generator.permutation(num_images)[: round(num_images / 5)]] = TEST
    else:
        parts[is_test] = TEST
    train = np.flatnonzero(parts == FIT)
    parts[generator.permutation(train)[: round(len(train) / 10)]] = VALID
    return parts
