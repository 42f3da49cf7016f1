"""Reading: what the memory says for given weights."""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.memory import checks
from kanerva.memory.episode import BLOCK, check_weights
from kanerva.memory.state import MemoryState


class Prediction(NamedTuple):
    """The Gaussian that the memory predicts for each code."""

    mean: Tensor
    """(..., T, C)."""
    var: Tensor
    """(..., T): the same for every entry of a code; (..., T, C) when columns differ."""


def recall(state: MemoryState, weights: Tensor) -> Tensor:
    """w' R (..., T, C): the mean of eq:z_prior with R in the place of M (section 3.4)."""
    check_weights(state, weights)
    checks.finite("weights", weights)
    return _recall(state, weights)


def predict(state: MemoryState, weights: Tensor, *, noise_var: float | Tensor = 1.0) -> Prediction:
    """Distribution-based reading (appendix F, app:dist-update): M is integrated out of eq:z_prior.

    p(z | y) = N( w' R, w' U w + noise_var ). The variance tells a well-known address from one the
    memory has heard nothing about: it lies between `noise_var` and that of the prior.
    """
    check_weights(state, weights)
    checks.finite("weights", weights)
    noise = checks.positive_scalar("noise_var", noise_var, like=weights)
    if state.per_column:
        spread = _spread(state._by_column(), weights.unsqueeze(-3)).mT
    else:
        spread = _spread(state, weights)
    return Prediction(_recall(state, weights), (spread + noise).to(state.dtype))


def _recall(state: MemoryState, weights: Tensor) -> Tensor:
    """W R. Many narrow queries are widened a block at a time, each into its place in the result."""
    R = state._mean
    learning = torch.is_grad_enabled() and (weights.requires_grad or R.requires_grad)
    few = weights.shape[-2] <= BLOCK
    if few or learning or weights.dtype == linalg.WORKING_DTYPE:
        return (linalg.widen(weights) @ R).to(state.dtype)
    batch = checks.broadcastable(memory=state.batch_shape, weights=weights.shape[:-2])
    shape = (*batch, weights.shape[-2], state.code_size)
    recalled = torch.empty(shape, dtype=state.dtype, device=state.device)
    # Buffers for whole blocks: fresh memory for each would cost as much as the product.
    wide = weights.new_empty((*weights.shape[:-2], BLOCK, state.num_rows), dtype=R.dtype)
    product = R.new_empty((*batch, BLOCK, state.code_size))
    for W, part in zip(weights.split(BLOCK, -2), recalled.split(BLOCK, -2), strict=True):
        if W.shape[-2] == BLOCK:
            part.copy_(torch.matmul(wide.copy_(W), R, out=product))
        else:
            part.copy_(linalg.widen(W) @ R)
    return recalled


def _spread(state: MemoryState, weights: Tensor) -> Tensor:
    """w' U w, (..., T), in float64."""
    blocks = map(linalg.widen, weights.split(BLOCK, dim=-2))
    spread = torch.cat([(state.rows.times(W) * W).sum(-1) for W in blocks], dim=-1)
    batch = checks.broadcastable(memory=state.batch_shape, weights=weights.shape[:-2])
    return spread.expand(*batch, -1)  # episodes that share weights share a covariance
