"""Images that are no drawings: a model that knows only drawings has to notice that it fails."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from kanerva.data import Dataset

WIDTHS = (1, 3, 5, 9, 15)
"""How wide the spots of a pattern are, in pixels. Spots of one pixel are dots."""
SHARES = (0.02, 0.9)
"""The least and the largest share of ink."""
CONTRASTS = (0.5, 4.0)
"""The least and the largest contrast of grey patterns."""


def random_patterns(num: int, *, generator: torch.Generator, size: int = 28) -> Dataset:
    """Dots and spots of random sizes, half of them in grey.

    Args:
        num: how many images.
        generator: where the random numbers come from.
        size: height and width in pixels.

    Returns:
        A data set of grey images; those that are not grey have pixels 0 and 1.

    """
    noise = torch.randn(num, 1, size, size, generator=generator)
    widths = torch.randint(len(WIDTHS), (num,), generator=generator)
    smooth = torch.empty_like(noise)
    for number, width in enumerate(WIDTHS):
        chosen = widths == number
        smooth[chosen] = functional.avg_pool2d(noise[chosen], width, 1, padding=width // 2)
    low, high = SHARES
    shares = low + (high - low) * torch.rand(num, generator=generator)
    pixels = smooth.flatten(1).sort(descending=True).values
    limits = pixels.gather(1, (shares * pixels.shape[1]).long()[:, None])
    above = smooth - limits[..., None, None]
    spread = smooth.std((1, 2, 3), keepdim=True)
    is_grey, contrast = torch.rand(2, num, 1, 1, 1, generator=generator)
    contrast = CONTRASTS[0] + (CONTRASTS[1] - CONTRASTS[0]) * contrast
    grey = torch.sigmoid(contrast * above / spread)
    images = torch.where(is_grey < 0.5, grey, (above > 0).float())
    return Dataset(
        name="patterns",
        split="valid",
        images=(255 * images).round().to(torch.uint8),
        labels=torch.zeros(num, dtype=torch.int64),
        class_names=("pattern",),
        likelihood="gaussian",
        binarisation="none",
        encoding="random spots",
    )


def among(patterns: Dataset, drawings: Tensor) -> Dataset:
    """Patterns and drawings (N, channels, H, W) with pixels from 0 to 1 as one data set."""
    images = torch.cat([patterns.images, (255 * drawings).round().to(torch.uint8)])
    return replace(patterns, images=images, labels=torch.zeros(len(images), dtype=torch.int64))
