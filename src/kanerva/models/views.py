"""Views of a cue: what it may have been before it was moved, and its parts.

Shapes: T cues; leading dimensions are free.
"""

import torch
from torch import Tensor
from torch.nn import functional

SHIFT = 2
"""How far copies of a cue are moved, in pixels. An encoder copes with the pixel that is left."""
MAX_SHIFT = 3
"""How far an image may have been moved before it is compared with a cue."""
NUM_PARTS = 4
"""How many views are parts of the cue. They come last."""
NUM_VIEWS = 9 + NUM_PARTS


def views(cues: Tensor) -> Tensor:
    """The cues (..., channels, H, W), copies that are moved in 8 directions, and their four halves.

    A cue that was moved comes back to its place in one of the copies. Ink that does not belong to
    a cue is often in one half of it, and the other half is as it was.

    Returns:
        (13, ..., channels, H, W), the cues themselves first.

    """
    height, width = cues.shape[-2] // 2, cues.shape[-1] // 2
    moves = [(down, right) for down in (0, -SHIFT, SHIFT) for right in (0, -SHIFT, SHIFT)]
    moved = [_moved(cues, down, right) for down, right in moves]
    halves = [cues.clone() for _ in range(4)]
    halves[0][..., :height, :] = 0
    halves[1][..., height:, :] = 0
    halves[2][..., :width] = 0
    halves[3][..., width:] = 0
    return torch.stack([*moved, *halves])


def _moved(images: Tensor, down: int, right: int) -> Tensor:
    """Images moved by whole pixels; what enters is background."""
    return functional.pad(images, (right, -right, down, -down))


def moved_towards(images: Tensor, cues: Tensor) -> tuple[Tensor, Tensor]:
    """Images (..., channels, H, W) moved by up to `MAX_SHIFT` pixels so that they match cues best.

    Returns:
        The moved images, and by how many pixels each was moved, (...).

    """
    shape = images.shape
    flat, wanted = (part.reshape(-1, *shape[-3:]) for part in (images, cues.expand(shape)))
    num, channels, height, width = flat.shape
    padded = functional.pad(flat, [MAX_SHIFT] * 4)
    # How much ink they share for every shift: each image is correlated with its own cue.
    shared = functional.conv2d(
        padded.reshape(1, -1, *padded.shape[-2:]),
        wanted.reshape(-1, 1, height, width),
        groups=num * channels,
    )
    side = 2 * MAX_SHIFT + 1
    shared = shared.reshape(num, channels, side**2).sum(1)
    steps = torch.arange(-MAX_SHIFT, MAX_SHIFT + 1, device=images.device).abs()
    distance = (steps[:, None] + steps).flatten().to(shared.dtype)
    best = (shared - 0.5 * distance).argmax(-1)
    rows = (best // side)[:, None] + torch.arange(height, device=images.device)
    columns = (best % side)[:, None] + torch.arange(width, device=images.device)
    number = torch.arange(num, device=images.device)
    picked = padded.movedim(1, -1)[number[:, None, None], rows[:, :, None], columns[:, None, :]]
    return picked.movedim(-1, 1).reshape(shape), distance[best].reshape(shape[:-3])
