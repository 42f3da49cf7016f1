"""Adam on one vector, with the entries of its gradient clipped by their usual size."""

from typing import NamedTuple

import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's defaults."""
CLIP_FROM = 100
"""Steps after which the mean square of a gradient is worth clipping by."""


class Adam(NamedTuple):
    """Parameters as a flat vector, and Adam's moments of it.

    torch's own Adam takes dozens of small kernels, or one that cuts a vector into pieces of 64k
    entries, too few to fill a GPU. Here `update` is a function of tensors, one pass
    when compiled.
    """

    vector: Tensor
    mean: Tensor
    square: Tensor

    @staticmethod
    def of(vector: Tensor) -> "Adam":
        return Adam(vector, torch.zeros_like(vector), torch.zeros_like(vector))


def update(adam: Adam, gradient: Tensor, lr: Tensor, count: Tensor, clip: float) -> None:
    """One step in place, after `count` others."""
    vector, mean, square = adam
    gradient = clipped(gradient, square, count, clip)
    mean.lerp_(gradient, 1 - BETA1)
    square.lerp_(gradient.square(), 1 - BETA2)
    deviation = (square / _share(BETA2, count + 1)).sqrt() + EPSILON
    vector.sub_((lr / _share(BETA1, count + 1)) * mean / deviation)


def clipped(gradient: Tensor, square: Tensor, count: Tensor, clip: float) -> Tensor:
    """No entry more than `clip` times its usual size, Adam's root of the mean square.

    A gradient that is not finite counts as none.

    A rare batch with a gradient of a million times the usual length would otherwise move every
    parameter of one layer by 30 learning rates, all in step. Clipping the whole gradient by its
    length does not prevent that: it may all be in that layer.
    """
    gradient = torch.where(gradient.norm().isfinite(), gradient, 0.0)
    usual = (square / _share(BETA2, count)).sqrt()
    limit = torch.where(count < CLIP_FROM, torch.inf, clip * usual)
    return gradient.clamp(-limit, limit)


def _share(beta: float, count: Tensor) -> Tensor:
    """How much of a running mean with decay `beta` is there after `count` steps."""
    return (1 - beta**count).float()
