"""Addressing by content, as the DNC and LRUA share it."""

import torch
from torch import Tensor
from torch.nn import functional

EPSILON = 1e-6
"""Added under the square roots, so that the gradient at an empty row is zero and not infinite."""


def similarity(memory: Tensor, keys: Tensor, strengths: Tensor) -> Tensor:
    """softmax( strength * cosine(key, row) ) over rows, (..., n, K), for n keys (..., n, C)."""
    rows = memory * torch.rsqrt(memory.square().sum(-1, keepdim=True) + EPSILON)
    keys = keys * torch.rsqrt(keys.square().sum(-1, keepdim=True) + EPSILON)
    one = keys.shape[-2] == 1  # then a sum of products, which a compiler fuses with the rest
    cosines = (keys * rows).sum(-1).unsqueeze(-2) if one else keys @ rows.mT
    return (strengths * cosines).softmax(-1)


def oneplus(value: Tensor) -> Tensor:
    """1 + softplus: a strength of at least 1."""
    return 1 + functional.softplus(value)
