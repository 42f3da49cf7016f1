"""Reading: what the memory says for given weights."""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.memory.episode import BLOCK_SIZE, check_weights
from kanerva.memory.state import MemoryState
from kanerva.memory.tensor_checks import broadcast_batches, check_finite, checked_noise_var


class Prediction(NamedTuple):
    """The Gaussian that the memory predicts for each code."""

    mean: Tensor
    """(..., T, C)."""
    var: Tensor
    """(..., T): the same for every entry of a code; (..., T, C) when columns differ."""


def recall(memory: MemoryState, weights: Tensor) -> Tensor:
    """w' R (..., T, C): the mean of eq:z_prior with R in the place of M (section 3.4)."""
    check_weights(memory, weights)
    check_finite("weights", weights)
    return _recall(memory, weights)


def predict(memory: MemoryState, weights: Tensor, *, noise_var: float | Tensor = 1.0) -> Prediction:
    """Distribution-based reading (appendix F, app:dist-update): M is integrated out of eq:z_prior.

    p(z | y) = N( w' R, w' U w + noise_var ). The variance tells a well-known address from one the
    memory has heard nothing about: it lies between `noise_var` and that of the prior.
    """
    check_weights(memory, weights)
    check_finite("weights", weights)
    noise = checked_noise_var(noise_var, like=weights)
    if memory.per_column:
        var = _recall_var(memory._split_columns(), weights.unsqueeze(-3)).mT
    else:
        var = _recall_var(memory, weights)
    return Prediction(_recall(memory, weights), (var + noise).to(memory.dtype))


def _recall(state: MemoryState, weights: Tensor) -> Tensor:
    """W R. Many cues are converted to float64 block by block, each into its place."""
    R = state._mean
    needs_grad = torch.is_grad_enabled() and (weights.requires_grad or R.requires_grad)
    few = weights.shape[-2] <= BLOCK_SIZE
    if few or needs_grad or weights.dtype == linalg.WORKING_DTYPE:
        return (linalg.to_float64(weights) @ R).to(state.dtype)
    batch = broadcast_batches(memory=state.batch_shape, weights=weights.shape[:-2])
    shape = (*batch, weights.shape[-2], state.code_size)
    recalled = torch.empty(shape, dtype=state.dtype, device=state.device)
    # Buffers for whole blocks: fresh memory for each would cost as much as the product.
    wide = weights.new_empty((*weights.shape[:-2], BLOCK_SIZE, state.num_rows), dtype=R.dtype)
    product = R.new_empty((*batch, BLOCK_SIZE, state.code_size))
    for W, part in zip(weights.split(BLOCK_SIZE, -2), recalled.split(BLOCK_SIZE, -2), strict=True):
        if W.shape[-2] == BLOCK_SIZE:
            part.copy_(torch.matmul(wide.copy_(W), R, out=product))
        else:
            part.copy_(linalg.to_float64(W) @ R)
    return recalled


def _recall_var(state: MemoryState, weights: Tensor) -> Tensor:
    """w' U w, (..., T), in float64."""
    blocks = map(linalg.to_float64, weights.split(BLOCK_SIZE, dim=-2))
    var = torch.cat([(state.row_cov.cross_cov(W) * W).sum(-1) for W in blocks], dim=-1)
    batch = broadcast_batches(memory=state.batch_shape, weights=weights.shape[:-2])
    return var.expand(*batch, -1)  # episodes that share weights share a covariance
