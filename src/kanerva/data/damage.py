"""Damage to images: what a cue may have suffered before the memory is asked to repair it.

Ink is 1, paper is 0. Everything is a function of numbers drawn before, so that it can be compiled.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from kanerva.checks import check_one_of

Damage = Literal["block12", "erase12", "salt", "half", "none"]
DAMAGES: tuple[Damage, ...] = get_args(Damage)
BLOCK = 12
"""Side of the square that the paper puts on its cues (section 4.3)."""
SALT = 0.1
"""Share of pixels that salt turns into ink."""


class DamageNoise(NamedTuple):
    """Uniform numbers between 0 and 1."""

    per_image: Tensor
    """(..., 4): where, or which half; which kind; how much of a neighbour."""
    per_pixel: Tensor
    """(..., 1, H, W)."""

    @staticmethod
    def draw(images: Tensor, generator: torch.Generator | None) -> "DamageNoise":
        *items, _, height, width = images.shape
        options = {"device": images.device, "generator": generator}
        return DamageNoise(
            torch.rand(*items, 4, **options), torch.rand(*items, 1, height, width, **options)
        )


def damage(images: Tensor, kind: Damage, *, generator: torch.Generator | None = None) -> Tensor:
    """Images (..., channels, H, W), each damaged at its own random place.

    block12 puts a 12 x 12 square of ink somewhere, erase12 one of paper, salt turns a tenth of the
    pixels into ink, half wipes out one of the four halves.
    """
    check_one_of("damage", kind, DAMAGES, fix="The paper uses block12.")
    return apply_damage(images, kind, DamageNoise.draw(images, generator))


def apply_damage(images: Tensor, kind: Damage, noise: DamageNoise) -> Tensor:
    height, width = images.shape[-2:]
    if kind == "none":
        return images
    if kind == "salt":
        return torch.where(noise.per_pixel < SALT, 1.0, images)
    if kind == "half":
        return torch.where(_half(noise.per_image, height, width), 0.0, images)
    return torch.where(_block(noise.per_image, height, width), float(kind == "block12"), images)


def any_damage(images: Tensor, noise: DamageNoise) -> Tensor:
    """Episodes (..., T, channels, H, W), each item with one kind of damage at random: for training.

    One more kind is a faint neighbour shining through, as in what a memory gives back when it is
    not sure: to lead that to the stronger of the two makes what is written attract.
    """
    kinds: list[Damage] = [kind for kind in DAMAGES if kind != "none"]
    which, share = (noise.per_image[..., number, None, None, None] for number in (2, 3))
    damaged = torch.lerp(images, images.roll(1, dims=-4), 0.5 * share)
    for number, kind in enumerate(kinds):
        chosen = (which * (len(kinds) + 1)).floor() == number
        damaged = torch.where(chosen, apply_damage(images, kind, noise), damaged)
    return damaged


def _block(per_image: Tensor, height: int, width: int) -> Tensor:
    """A mask (..., 1, H, W) that is true in a square of side BLOCK."""
    rows, columns = (
        _between(per_image[..., axis], size, min(BLOCK, size))
        for axis, size in enumerate((height, width))
    )
    return (rows[..., :, None] & columns[..., None, :]).unsqueeze(-3)


def _between(place: Tensor, size: int, length: int) -> Tensor:
    """Which of `size` pixels lie in a stretch of `length` that starts anywhere."""
    start = (place * (size - length + 1)).floor().unsqueeze(-1)
    pixels = torch.arange(size, device=place.device)
    return (pixels >= start) & (pixels < start + length)


def _half(per_image: Tensor, height: int, width: int) -> Tensor:
    """A mask (..., 1, H, W) that is true above, below, left or right of the middle."""
    rows = (torch.arange(height, device=per_image.device) < height / 2)[:, None].expand(
        height, width
    )
    columns = (torch.arange(width, device=per_image.device) < width / 2).expand(height, width)
    upright, first = (per_image[..., axis, None, None] > 0.5 for axis in (0, 1))
    return (torch.where(upright, rows, columns) == first).unsqueeze(-3)
