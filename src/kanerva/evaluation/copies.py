"""Is a drawing a copy? It is, if a small movement of a given drawing makes nearly the same one."""

import math

import torch
from torch import Tensor, nn

MAX_DIFFERENCE = 0.03
"""Share of the pixels in which a copy may differ."""
MAX_SHIFT = 2
"""Pixels by which a copy may be moved, in both directions."""
ANGLES = (-10.0, -5.0, 0.0, 5.0, 10.0)
"""Degrees by which a copy may be turned."""
SCALES = (0.9, 0.95, 1.0, 1.05, 1.1)
"""Factors by which a copy may be smaller or larger."""


def variants(images: Tensor) -> Tensor:
    """Every small movement of binary images (N, 1, H, W): (N, variants, H W) of 0 and 1.

    These are all shifts of up to 2 pixels, turns of up to 10 degrees and scalings of up to 10 %,
    each as it is, with one pixel of dilation and with one pixel of erosion: 1,875 variants.
    """
    num, _, height, width = images.shape
    grids = []
    for angle in ANGLES:
        cos, sin = (math.radians(angle),) * 2
        cos, sin = math.cos(cos), math.sin(sin)
        for scale in SCALES:
            rows = [[cos / scale, -sin / scale, 0.0], [sin / scale, cos / scale, 0.0]]
            grids.append(torch.tensor(rows))
    theta = torch.stack(grids).to(images)
    moved = []
    for one in theta:
        shape = [num, 1, height, width]
        grid = nn.functional.affine_grid(one.expand(num, 2, 3), shape, align_corners=False)
        moved.append(nn.functional.grid_sample(images, grid, align_corners=False) > 0.5)
    turned = torch.stack(moved, 1).flatten(0, 1).to(images.dtype)
    thick = nn.functional.max_pool2d(turned, 3, stride=1, padding=1)
    thin = 1 - nn.functional.max_pool2d(1 - turned, 3, stride=1, padding=1)
    shapes = torch.stack([turned, thick, thin], 1).reshape(-1, 1, height, width)
    padded = nn.functional.pad(shapes, (MAX_SHIFT,) * 4)
    shifted = padded.unfold(2, height, 1).unfold(3, width, 1)  # (M, 1, 5, 5, H, W)
    return shifted.reshape(num, -1, height * width)


def smallest_difference(drawings: Tensor, given: Tensor) -> Tensor:
    """Share of the pixels in which each drawing differs from the nearest variant of any given one.

    Args:
        drawings: binary images (N, 1, H, W).
        given: binary images (M, 1, H, W).

    Returns:
        Shares between 0 and 1, (N,).

    """
    ours = drawings.flatten(1)
    theirs = variants(given).flatten(0, 1)
    differ = ours.sum(-1, keepdim=True) + theirs.sum(-1) - 2 * ours @ theirs.mT
    return differ.amin(-1) / ours.shape[-1]


def is_copy(drawings: Tensor, given: Tensor) -> Tensor:
    """Whether each drawing (N, 1, H, W) is a copy of a given one (M, 1, H, W), (N,)."""
    return smallest_difference(drawings, given) <= MAX_DIFFERENCE


def pixel_entropies(means: Tensor) -> Tensor:
    """The mean entropy of the pixels of images (N, ...) that hold chances of ink, in nats, (N,)."""
    inside = means.double().clamp(1e-12, 1 - 1e-12)
    entropy = -(inside * inside.log() + (1 - inside) * (1 - inside).log())
    return entropy.flatten(1).mean(-1)
