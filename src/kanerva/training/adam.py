"""Adam on one vector. Each entry of the gradient is clipped by its usual size."""

from typing import NamedTuple

import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""The usual settings of Adam."""
CLIP_FROM = 100
"""Steps after which the mean square of a gradient is known well enough to clip by it."""


class Adam(NamedTuple):
    """Parameters as a flat vector, and Adam's two moments of their gradient.

    torch's own Adam takes dozens of small kernels, or one kernel that cuts a vector into pieces of
    64k entries, which are too few to fill a GPU. Here `update` is a function of tensors that takes
    one pass when it is compiled.
    """

    vector: Tensor
    mean: Tensor
    square: Tensor

    @staticmethod
    def of(vector: Tensor) -> "Adam":
        """Adam before its first step."""
        return Adam(vector, torch.zeros_like(vector), torch.zeros_like(vector))


def update(adam: Adam, gradient: Tensor, lr: Tensor, count: Tensor, clip: float) -> None:
    """Make one step in place, after `count` others."""
    vector, mean, square = adam
    gradient = clipped(gradient, square, count, clip)
    mean.lerp_(gradient, 1 - BETA1)
    square.lerp_(gradient.square(), 1 - BETA2)
    deviation = (square / _share(BETA2, count + 1)).sqrt() + EPSILON
    vector.sub_((lr / _share(BETA1, count + 1)) * mean / deviation)


def clipped(gradient: Tensor, square: Tensor, count: Tensor, clip: float) -> Tensor:
    """The gradient with no entry above `clip` times its usual size.

    The usual size of an entry is the root of its mean square, which Adam keeps. A gradient that is
    not finite counts as zero.

    Without clipping, a rare batch with a gradient of a million times the usual length moves every
    parameter of one layer by 30 learning rates, all in the same direction. Clipping the whole
    gradient by its length does not prevent that, because all of it may be in that layer.
    """
    gradient = torch.where(gradient.norm().isfinite(), gradient, 0.0)
    usual = (square / _share(BETA2, count)).sqrt()
    limit = torch.where(count < CLIP_FROM, torch.inf, clip * usual)
    return gradient.clamp(-limit, limit)


def _share(beta: float, count: Tensor) -> Tensor:
    """The total weight of a running mean with decay `beta` after `count` steps."""
    return (1 - beta**count).float()
