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
UNIT = 30.0
"""The unit of differences that are not relative to ink, in pixels: about what a block changes."""
NUM_COUNTS = 9
"""How many numbers `compare` returns."""
NUM_FEATURES = 4 + 4 * NUM_COUNTS


class Ranking(FittedNetwork):
    """How likely each candidate is the item that a cue means, up to a constant of the cue.

    It is fitted on images that the model was not trained on (`kanerva.evaluation.calibrate`).
    """

    def __init__(self) -> None:
        super().__init__(NUM_FEATURES, num_hidden=32)

    def forward(self, features: Tensor) -> Tensor:
        """Log-odds (S, ..., T) of candidates with features (S, ..., T, 40)."""
        return self.logits(features)


def features(distance: Tensor, log_var: Tensor, cues: Tensor, images: Tensor) -> Tensor:
    """What is known about each candidate, (S, ..., T, 40).

    Args:
        distance: squared distances of their addresses from the cue's, in standard deviations of
            q(y|cue), (S, ..., T).
        log_var: the logarithm of the variance of the codes that are read there, (S, ..., T).
        cues: (..., T, channels, H, W).
        images: what was decoded for each candidate, (S, ..., T, channels, H, W).

    Returns:
        The first two, by how many pixels a candidate has to be moved to match its cue best, the
        logarithm of how much more ink it has, and `compare` for candidates as they are and as they
        were moved. Each count is there twice. Relative to the candidate's ink it says how alike two
        images are. In pixels it is the same measure for all candidates of a cue, which tells them
        apart.

    """
    moved, shift = moved_towards(images, cues)
    ink = _sum(images).clamp_min(LEAST_INK)
    more_ink = (ink / _sum(cues).clamp_min(LEAST_INK)).log()
    counts = torch.cat([compare(cues, images), compare(cues, moved)], -1)
    parts = [torch.stack([distance, log_var, shift, more_ink], -1)]
    return torch.cat([*parts, counts / ink[..., None], counts / UNIT], -1)


def compare(cues: Tensor, images: Tensor) -> Tensor:
    """How many pixels of cues (..., T, channels, H, W) differ from candidates (S, ..., T, ...).

    Returns:
        (S, ..., T, 9): all differences, those outside the square and outside the half with the
        most; ink of the cue that the candidate does not have, and the other way round; then both
        again if more than one pixel away from any ink of the other, and these two outside the
        square with the most.

    """
    shape = images.shape[:-3]
    away_from_cues = (1 - _thickened(cues)).expand_as(images).flatten(end_dim=-4)
    cues = cues.expand_as(images).flatten(end_dim=-4)
    images = images.flatten(end_dim=-4)
    difference = (cues - images).abs()
    added, missing = (cues - images).clamp_min(0), (images - cues).clamp_min(0)
    added_away, missing_away = cues * (1 - _thickened(images)), images * away_from_cues
    parts = [
        _sum(difference),
        _outside_square(difference),
        _sum(difference) - _largest_half(difference),
        _sum(added),
        _sum(missing),
        _sum(added_away),
        _sum(missing_away),
        _outside_square(added_away),
        _outside_square(missing_away),
    ]
    return torch.stack(parts, -1).unflatten(0, shape)


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
