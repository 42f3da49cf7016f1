"""Pixels: how the bytes of an image become the numbers that a model sees."""

import torch
from torch import Tensor

THRESHOLD = 20
"""Grey values above this one, of 255, are ink: the paper's Omniglot (section 4.2, footnote)."""


def to_pixels(
    images: Tensor, *, likelihood: str, binarisation: str, generator: torch.Generator | None = None
) -> Tensor:
    """Turn bytes into float32: 0 or 1 for a Bernoulli likelihood, bytes / 256 for a Gaussian one.

    With stochastic binarisation a pixel is drawn anew each time: ink with probability byte / 255.
    """
    if likelihood == "gaussian":
        return images.float() / 256
    if binarisation == "threshold20":
        return (images > THRESHOLD).float()
    noise = torch.rand(images.shape, generator=generator, device=images.device)
    return (noise < images.float() / 255).float()


def mean_pixels(images: Tensor, *, likelihood: str, binarisation: str) -> Tensor:
    """The mean over the first dimension of what `to_pixels` returns, in float64.

    Sums are taken in whole numbers, so that nothing is rounded and no copy in float is made.
    """
    if likelihood == "bernoulli" and binarisation == "threshold20":
        return (images > THRESHOLD).sum(0).double() / len(images)
    scale = 256 if likelihood == "gaussian" else 255
    return images.sum(0, dtype=torch.int64).double() / (scale * len(images))
