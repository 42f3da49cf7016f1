"""Which of several items a cue means: their images are compared with it.

The address of a damaged cue is near those of a few items. Each of them can be decoded, and an image
tells more than a distance between addresses: a block of ink hides one part and leaves all others as
they were.

Shapes: S candidates, T cues; leading dimensions are free.
"""

import torch
from torch import Tensor
from torch.nn import functional

from kanerva.models.fitted_network import FittedNetwork
from kanerva.models.views import moved_towards

SIDE = 12
"""Side of the square that a comparison leaves out."""
LEAST_INK = 10.0
"""Differences are relative to an image's ink, and to this much where it has less."""
NUM_FEATURES = 17


class Ranking(FittedNetwork):
    """How likely each candidate is the item that a cue means, up to a constant of the cue.

    It is fitted on images that the model was trained on (`kanerva.evaluation.calibrate`).
    """

    def __init__(self) -> None:
        super().__init__(NUM_FEATURES)

    def forward(self, features: Tensor) -> Tensor:
        """Log-odds (S, ..., T) of candidates with features (S, ..., T, 17)."""
        return self.logits(features)


def features(distance: Tensor, log_var: Tensor, cues: Tensor, images: Tensor) -> Tensor:
    """What is known about each candidate, (S, ..., T, 17).

    Args:
        distance: squared distances of their addresses from the cue's, in standard deviations of
            q(y|cue), (S, ..., T).
        log_var: the logarithm of the variance of the codes that are read there, (S, ..., T).
        cues: (..., T, channels, H, W).
        images: what was decoded for each candidate, (S, ..., T, channels, H, W).

    Returns:
        The first two, by how many pixels a candidate has to be moved to match its cue best, and
        `compare` for candidates as they are and as they were moved.

    """
    moved, shift = moved_towards(images, cues)
    parts = [torch.stack([distance, log_var, shift], -1), compare(cues, images)]
    return torch.cat([*parts, compare(cues, moved)], -1)


def compare(cues: Tensor, images: Tensor) -> Tensor:
    """Differences between cues (..., T, channels, H, W) and candidates (S, ..., T, ...).

    Returns:
        (S, ..., T, 7), relative to the ink of the candidate: all differences, those outside the
        square and outside the half with the most; then ink of the cue more than one pixel away from
        any ink of the candidate, ink of the candidate that far from the cue's, and both again
        outside the square with the most.

    """
    shape = images.shape[:-3]
    away_from_cues = (1 - _thickened(cues)).expand_as(images).flatten(end_dim=-4)
    cues = cues.expand_as(images).flatten(end_dim=-4)
    images = images.flatten(end_dim=-4)
    difference = (cues - images).abs()
    added, missing = cues * (1 - _thickened(images)), images * away_from_cues
    parts = [
        _sum(difference),
        _outside_square(difference),
        _sum(difference) - _largest_half(difference),
        _sum(added),
        _sum(missing),
        _outside_square(missing),
        _outside_square(added),
    ]
    ink = _sum(images).clamp_min(LEAST_INK)
    return (torch.stack(parts, -1) / ink[..., None]).unflatten(0, shape)


def _sum(pixels: Tensor) -> Tensor:
    return pixels.sum((-3, -2, -1))


def _thickened(images: Tensor) -> Tensor:
    flat = images.flatten(end_dim=-4)
    return functional.max_pool2d(flat, 3, stride=1, padding=1).reshape(images.shape)


def _outside_square(pixels: Tensor) -> Tensor:
    side = min(SIDE, *pixels.shape[-2:])
    columns = functional.avg_pool2d(pixels.sum(-3, keepdim=True), (side, 1), stride=1)
    squares = functional.avg_pool2d(columns, (1, side), stride=1) * side**2
    return _sum(pixels) - squares.flatten(1).amax(-1)


def _largest_half(pixels: Tensor) -> Tensor:
    height, width = pixels.shape[-2] // 2, pixels.shape[-1] // 2
    halves = [
        pixels[..., :height, :],
        pixels[..., height:, :],
        pixels[..., :width],
        pixels[..., width:],
    ]
    return torch.stack([_sum(half) for half in halves]).amax(0)
