"""How well damaged images find the address codes of their originals: a loss for training.

Shapes: N images, Y address code size.
"""

import math

import torch
from torch import Tensor

CHANCE = 1.0
"""Evidence for something else than any item. It keeps pulling a cue towards its original even where
no other item is near: 1 is as much as an item gives that is found exactly."""
MATCHING_WEIGHT = 5.0
"""Weight of this loss next to the bound, for each damaged image."""


def matching_loss(cue_codes: Tensor, address_codes: Tensor, *, width: float) -> Tensor:
    """-ln of the probability that each cue belongs to its original, (N,).

    The overlap of the keys of a cue and an item is exp(-d^2 / (2 width^2)), with d the distance of
    their address codes. The memory's evidence for an item is its square. The probability is the
    share of the original in the evidence of all items and of chance.

    Args:
        cue_codes: means of q(y | damaged image), (N, Y).
        address_codes: means of q(y | image), (M, Y) with M >= N; the first N are the originals.
        width: the width of the Fourier keys.

    """
    evidence = -squared_distances(cue_codes, address_codes) / width**2
    chance = torch.full_like(evidence[:, :1], math.log(CHANCE))
    return torch.cat([evidence, chance], -1).logsumexp(-1) - evidence.diagonal()


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances (N, M) of codes (N, Y) and (M, Y).

    One product in float64: a GPU takes a tenth of the time of `torch.cdist`, and in float32 the
    difference of the squares would lose the small distances.
    """
    exact_a, exact_b = a.double(), b.double()
    squares = exact_a.square().sum(-1)[:, None] + exact_b.square().sum(-1)
    return (squares - 2 * exact_a @ exact_b.mT).clamp_min(0).to(a.dtype)
