"""Damage of many kinds and degrees, to train on: cues as people and cameras spoil them."""

import torch
from torch import Tensor

from kanerva.data import damage_shapes as shapes
from kanerva.data.damage import DamageNoise

MAX_SALT, MAX_FLIP = 0.3, 0.15
"""The largest shares of pixels that become ink, and that are inverted."""
MAX_ANGLE, MAX_SHIFT, MAX_LOG_SCALE = 20.0, 3, 0.22
"""The largest turn in degrees, shift in pixels, and change of the logarithm of the size."""
SIDES = (8, 12, 14)
"""Sides of the squares."""


NUM_KINDS = 18
LEFT_OUT: dict[str, tuple[int, ...]] = {
    "block12": (0, 1, 2, 17),
    "erase12": (3, 17),
    "invert12": (4,),
    "half": (5,),
    "salt20": (6,),
    "flip10": (7,),
    "rotate15": (8, 12, 17),
    "shift": (9, 10, 12, 17),
    "scale20": (11, 12, 17),
    "thin": (13,),
    "thick": (14,),
    "line": (15,),
    "scribble": (16,),
}
"""The kinds that have something of a damage, to train without it."""


def varied_damage(images: Tensor, noise: DamageNoise, *, left_out: str | None = None) -> Tensor:
    """Damage every image in one of many ways, to train on.

    Images take turns: squares of ink, of background and inverted; a lost half; salt and inverted
    pixels of all densities; turns, shifts, changes of size, and all of these together; thin and
    thick strokes; a line; a scribble; nothing; two kinds at once. Images of an episode are in
    random order, so each kind meets every image.

    Args:
        images: (..., channels, H, W), ink 1 and background 0.
        noise: what `DamageNoise.draw(images, generator)` returned.
        left_out: a key of `LEFT_OUT`: damage that no image gets, not even a part of it.

    Returns:
        The damaged images, of the same shape.

    Example:
        >>> import torch
        >>> from kanerva.data.damage import DamageNoise
        >>> from kanerva.data.varied_damage import varied_damage
        >>> images = torch.zeros(2, 32, 1, 28, 28)
        >>> varied_damage(images, DamageNoise.draw(images, None)).shape
        torch.Size([2, 32, 1, 28, 28])

    """
    flat = images.flatten(end_dim=-4)
    numbers = noise.more(16).flatten(end_dim=-2)
    pixels = noise.per_pixel.flatten(end_dim=-4)
    damaged = flat.clone()
    without = () if left_out is None else LEFT_OUT[left_out]
    turns = [turn for turn in range(NUM_KINDS) if turn not in without]
    for number, turn in enumerate(turns):
        part = slice(number, None, len(turns))
        if len(flat[part]):
            damaged[part] = _damaged(flat[part], turn, numbers[part], pixels[part])
    return damaged.reshape(images.shape)


def _damaged(images: Tensor, turn: int, numbers: Tensor, pixels: Tensor) -> Tensor:
    """Images (N, channels, H, W) with damage of one kind."""
    height, width = images.shape[-2:]
    if turn < 3:
        mask = shapes.block_mask(numbers, height, width, SIDES[turn])
        return torch.where(mask, 1.0, images)
    if turn in (3, 4):
        mask = shapes.block_mask(numbers, height, width, SIDES[1])
        return torch.where(mask, 0.0 if turn == 3 else 1 - images, images)
    if turn == 5:
        return torch.where(shapes.half_mask(numbers, height, width), 0.0, images)
    density = numbers[:, 15, None, None, None]
    if turn == 6:
        return torch.where(pixels < MAX_SALT * density, 1.0, images)
    if turn == 7:
        return torch.where(pixels < MAX_FLIP * density, 1 - images, images)
    if turn < 13:
        return _moved(images, turn, numbers)
    if turn == 13:
        return shapes.thinned(images)
    if turn == 14:
        return shapes.thickened(images)
    if turn == 15:
        return torch.where(shapes.line_mask(numbers, height, width), 1.0, images)
    if turn == 16:
        return torch.where(shapes.scribble_mask(numbers[:, :8], height, width), 1.0, images)
    moved = _moved(images, 12, numbers)
    mask = shapes.block_mask(numbers[:, 8:10], height, width, SIDES[0])
    return torch.where(mask, (numbers[:, 10, None, None, None] > 0.5).to(images.dtype), moved)


def _moved(images: Tensor, turn: int, numbers: Tensor) -> Tensor:
    """Turned (8), shifted (9, 10), scaled (11), or all of these (12)."""
    signed = 2 * numbers[:, 4:8] - 1
    zero = torch.zeros_like(signed[:, 0])
    angle, log_scale, down, right = zero, zero, zero, zero
    if turn in (8, 12):
        angle = MAX_ANGLE * signed[:, 0]
    if turn in (9, 10):
        down, right = ((signed[:, axis] * (MAX_SHIFT + 0.5)).round() for axis in (1, 2))
    if turn in (11, 12):
        log_scale = MAX_LOG_SCALE * signed[:, 3]
    if turn == 12:
        down, right = signed[:, 1] * MAX_SHIFT, signed[:, 2] * MAX_SHIFT
    return shapes.moved(images, angle=angle, scale=log_scale.exp(), down=down, right=right)
