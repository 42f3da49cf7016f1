"""Damage as functions of images and uniform random numbers: masks, strokes, movements.

Every function takes images (..., channels, H, W) with ink 1 and background 0, or their height and
width, and numbers between 0 and 1 that decide what happens to each image.
"""

import math

import torch
from torch import Tensor, nn


def block_mask(place: Tensor, height: int, width: int, side: int) -> Tensor:
    """A mask (..., 1, H, W) that is true in a square; `place` (..., 2) moves it."""
    rows, columns = (
        _between(place[..., axis], size, min(side, size))
        for axis, size in enumerate((height, width))
    )
    return (rows[..., :, None] & columns[..., None, :]).unsqueeze(-3)


def _between(place: Tensor, size: int, length: int) -> Tensor:
    """Say which of `size` pixels lie in a stretch of `length`; `place`, 0 to 1, moves it."""
    start = (place * (size - length + 1)).floor().unsqueeze(-1)
    pixels = torch.arange(size, device=place.device)
    return (pixels >= start) & (pixels < start + length)


def half_mask(place: Tensor, height: int, width: int) -> Tensor:
    """A mask (..., 1, H, W) that is true above, below, left or right of the middle."""
    device = place.device
    rows = (torch.arange(height, device=device) < height / 2)[:, None].expand(height, width)
    columns = (torch.arange(width, device=device) < width / 2).expand(height, width)
    upright, first = (place[..., axis, None, None] > 0.5 for axis in (0, 1))
    return (torch.where(upright, rows, columns) == first).unsqueeze(-3)


def line_mask(place: Tensor, height: int, width: int, *, thickness: float = 2.0) -> Tensor:
    """A mask (..., 1, H, W) of a line from an edge to the opposite one; `place` is (..., 3)."""
    begin, end, upright = place[..., 0], place[..., 1], place[..., 2] > 0.5
    zero, one = torch.zeros_like(begin), torch.ones_like(begin)
    first = torch.stack([torch.where(upright, zero, begin), torch.where(upright, begin, zero)], -1)
    last = torch.stack([torch.where(upright, one, end), torch.where(upright, end, one)], -1)
    return _near_path(torch.stack([first, last], -2), height, width, thickness)


def scribble_mask(place: Tensor, height: int, width: int, *, thickness: float = 2.0) -> Tensor:
    """A mask (..., 1, H, W) of a path through points; `place` (..., 2 n) are their coordinates."""
    return _near_path(place.unflatten(-1, (-1, 2)), height, width, thickness)


def _near_path(points: Tensor, height: int, width: int, thickness: float) -> Tensor:
    """True within half a thickness of the path through points (..., n, 2) between 0 and 1.

    A point is (row, column). Distances are measured from the centres of the pixels.
    """
    # Plain numbers, not a tensor of them: a CUDA graph cannot copy from the CPU.
    points = torch.stack([points[..., 0] * height, points[..., 1] * width], -1) - 0.5
    pixels = torch.cartesian_prod(
        torch.arange(height, device=points.device), torch.arange(width, device=points.device)
    ).to(points.dtype)
    begin, end = points[..., :-1, None, :], points[..., 1:, None, :]
    along = end - begin  # (..., n - 1, 1, 2)
    share = ((pixels - begin) * along).sum(-1) / along.square().sum(-1).clamp_min(1e-6)
    nearest = begin + share.clamp(0, 1)[..., None] * along
    distance = (pixels - nearest).square().sum(-1).amin(-2).sqrt()
    return (distance <= thickness / 2).unflatten(-1, (1, height, width))


def thinned(images: Tensor) -> Tensor:
    """The minimum of each pixel and its right and lower neighbours."""
    right = nn.functional.pad(images, (0, 1))[..., 1:]
    below = nn.functional.pad(images, (0, 0, 0, 1))[..., 1:, :]
    return torch.minimum(images, torch.minimum(right, below))


def thickened(images: Tensor) -> Tensor:
    """The maximum of each pixel and its four neighbours."""
    height, width = images.shape[-2:]
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    thick = images
    for row, column in ((0, 1), (2, 1), (1, 0), (1, 2)):
        thick = torch.maximum(thick, padded[..., row : row + height, column : column + width])
    return thick


def shifted(images: Tensor, place: Tensor, pixels: int) -> Tensor:
    """Images moved by -`pixels`, 0 or `pixels` along each axis, not 0 along both.

    `place` (...) chooses one of the eight moves. What leaves the image is lost.
    """
    which = (place * 8).floor().clamp(0, 7).long()
    which = which + (which >= 4).long()  # of 3 x 3 moves, the one in the middle is left out
    down, right = which // 3 - 1, which % 3 - 1
    return moved(
        images,
        angle=torch.zeros_like(place),
        scale=torch.ones_like(place),
        down=down.to(place.dtype) * pixels,
        right=right.to(place.dtype) * pixels,
    )


def moved(images: Tensor, *, angle: Tensor, scale: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """Turned, enlarged and shifted images: bilinear, ink from 0.5 on. Other arguments are (...).

    Args:
        images: (..., channels, H, W).
        angle: in degrees.
        scale: factor of the size, above 0.
        down: shift in pixels.
        right: shift in pixels.

    """
    *batch, channels, height, width = images.shape
    angle, scale, down, right = (
        number.expand(batch).reshape(-1) for number in (angle, scale, down, right)
    )
    cos, sin = torch.cos(angle * math.pi / 180) / scale, torch.sin(angle * math.pi / 180) / scale
    x, y = -2 * right / width, -2 * down / height
    # Rows of the inverse map, which says where each pixel of the result comes from.
    first = torch.stack([cos, -sin * height / width, cos * x - sin * height / width * y], -1)
    second = torch.stack([sin * width / height, cos, sin * width / height * x + cos * y], -1)
    theta = torch.stack([first, second], -2)
    flat = images.reshape(-1, channels, height, width)
    grid = nn.functional.affine_grid(theta, list(flat.shape), align_corners=False)
    result = nn.functional.grid_sample(flat, grid, mode="bilinear", align_corners=False)
    return (result >= 0.5).to(images.dtype).reshape(images.shape)
