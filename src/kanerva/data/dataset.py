"""A data set as models see it: one split, its images kept as bytes until an episode is drawn."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kanerva.checks import check_one_of
from kanerva.errors import KanervaError

SPLITS = ("train", "fit", "valid", "test")
"""`fit` and `valid` partition `train`: choices are made on `valid`, the report is on `test`."""
BINARISATIONS = {"bernoulli": ("threshold20", "stochastic"), "gaussian": ("none",)}
"""How grey becomes what a likelihood can explain."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """One split of a data set, with what has to stand beside a number that was measured on it."""

    name: str
    """omniglot, omniglot-burda, cifar10, glyphs, or the name of a folder."""
    split: str
    """train, fit, valid or test."""
    images: Tensor
    """uint8 (N, channels, H, W); for drawings ink is 255, in grey."""
    labels: Tensor
    """int64 (N,): the class of each image, the same number in every split."""
    class_names: tuple[str, ...]
    """Of all classes, whether or not the split has images of them."""
    likelihood: str
    """bernoulli or gaussian."""
    binarisation: str
    """threshold20 (the paper's), stochastic (drawn anew each time), or none (gaussian)."""
    encoding: str
    """Where the pixels come from, in words."""
    alphabets: Tensor | None = None
    """int64 (N,), for Omniglot."""
    drawers: Tensor | None = None
    """int64 (N,), 1 to 20, for Omniglot."""

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.dim() != 4 or len(self.images) == 0:
            raise KanervaError(
                "images",
                expected="a uint8 tensor (N, channels, H, W) with at least one image",
                got=f"{self.images.dtype} {tuple(self.images.shape)}",
                fix="Give pixels as whole numbers from 0 to 255, with one channel for grey.",
            )
        numbers = {"labels": self.labels, "alphabets": self.alphabets, "drawers": self.drawers}
        for name, tensor in numbers.items():
            if tensor is None:
                continue
            if tensor.dtype != torch.int64 or tensor.shape != self.images.shape[:1]:
                raise KanervaError(
                    name,
                    expected=f"an int64 tensor ({len(self.images)},), one number an image",
                    got=f"{tensor.dtype} {tuple(tensor.shape)}",
                    fix="Without classes, give every image label 0 and one class name.",
                )
        check_one_of("split", self.split, SPLITS)
        check_likelihood(self.likelihood, self.binarisation)

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, H, W)."""
        channels, height, width = self.images.shape[1:]
        return channels, height, width

    @property
    def device(self) -> torch.device:
        return self.images.device

    def to(self, device: torch.device | str) -> "Dataset":
        """The same data set on another device."""
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
    """The likelihood exists, and the binarisation is one that it can use."""
    check_one_of("likelihood", likelihood, BINARISATIONS)
    if binarisation not in BINARISATIONS[likelihood]:
        raise KanervaError(
            "binarisation",
            expected=f"{' or '.join(BINARISATIONS[likelihood])} with a {likelihood} likelihood",
            got=repr(binarisation),
            fix="Bernoulli explains pixels that are 0 or 1, Gaussian explains grey or colour.",
        )
