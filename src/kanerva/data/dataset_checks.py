"""Checks of the fields of a `Dataset`."""

import torch
from torch import Tensor

from kanerva.checks import check_one_of
from kanerva.errors import KanervaError

BINARISATIONS = {"bernoulli": ("threshold20", "stochastic"), "gaussian": ("none",)}
"""The ways to turn grey pixels into 0 and 1 that each likelihood can be used with."""


def check_text(argument: str, value: object) -> None:
    if not isinstance(value, str):
        raise KanervaError(
            argument,
            expected="a string",
            got=type(value).__name__,
            fix=f"Pass {argument}=str(...).",
        )


def check_images(images: Tensor) -> None:
    if (
        not _is_plain(images)
        or images.dtype != torch.uint8
        or images.dim() != 4
        or images.numel() == 0
    ):
        raise KanervaError(
            "images",
            expected="a uint8 tensor (N, channels, H, W) with at least one image",
            got=_described(images),
            fix="Give pixels as whole numbers from 0 to 255, with one channel for grey.",
        )


def check_numbers(argument: str, numbers: Tensor, images: Tensor, *, fix: str) -> None:
    """One whole number for each image, on the same device."""
    if (
        not _is_plain(numbers)
        or numbers.dtype != torch.int64
        or numbers.shape != images.shape[:1]
        or numbers.device != images.device
    ):
        raise KanervaError(
            argument,
            expected=f"an int64 tensor ({len(images)},) on {images.device}, one number for each "
            "image",
            got=_described(numbers),
            fix=fix,
        )


def check_classes(labels: Tensor, class_names: tuple[str, ...]) -> None:
    """Names for all classes that occur."""
    if not (
        isinstance(class_names, tuple)
        and len(class_names) > 0
        and all(isinstance(name, str) for name in class_names)
    ):
        raise KanervaError(
            "class_names",
            expected="a tuple of strings, one for each class",
            got=repr(class_names)[:60],
            fix="Without classes, pass ('all',) and label 0 for every image.",
        )
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= len(class_names):
        raise KanervaError(
            "labels",
            expected=f"numbers from 0 to {len(class_names) - 1}, one class name for each",
            got=str(low if low < 0 else high),
            fix="Give class_names for all labels, and number the classes from 0.",
        )


def check_likelihood(likelihood: str, binarisation: str) -> None:
    """Check that the likelihood exists and that it can be used with the binarisation."""
    check_one_of("likelihood", likelihood, BINARISATIONS)
    if not isinstance(binarisation, str) or binarisation not in BINARISATIONS[likelihood]:
        raise KanervaError(
            "binarisation",
            expected=f"{' or '.join(BINARISATIONS[likelihood])} with a {likelihood} likelihood",
            got=repr(binarisation),
            fix="A Bernoulli likelihood explains pixels that are 0 or 1, a Gaussian one explains "
            "grey or colour.",
        )


def _is_plain(value: object) -> bool:
    """Whether it is a dense tensor that holds numbers."""
    if not isinstance(value, Tensor) or value.is_nested or value.is_meta:
        return False
    return value.layout is torch.strided


def _described(value: object) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    if value.is_nested or value.layout is not torch.strided:
        return f"a {'nested' if value.is_nested else 'sparse'} tensor"
    return f"{value.dtype} {tuple(value.shape)} on {value.device}"
