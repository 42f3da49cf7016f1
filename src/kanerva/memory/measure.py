"""Sampling a memory, and how probable, how different and how well supported it is."""

import math

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.distributions import matrix_normal
from kanerva.memory import checks
from kanerva.memory.covariance import FullCovariance
from kanerva.memory.episode import Episode, check_fits, checked_episode
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.write import _write, surprise


def sample_memory(
    state: MemoryState,
    *,
    generator: torch.Generator | None = None,
    noise: Tensor | None = None,
) -> Tensor:
    """M ~ MN(R, U, I), (..., K, C), reparametrised: gradients flow to R and U.

    `noise`, standard normal numbers of that shape, takes the place of drawing them.
    """
    check_memory("state", state)
    if noise is None:
        shape = (*state.batch_shape, state.num_rows, state.code_size)
        wide = linalg.WORKING_DTYPE
        noise = torch.randn(shape, dtype=wide, device=state.device, generator=generator)
    if state.per_column:
        columns = noise.mT.unsqueeze(-1)
        return sample_memory(state._by_column(), noise=columns).squeeze(-1).mT
    sample = matrix_normal.sample(state._mean, _factor(state), linalg.widen(noise))
    return sample.to(state.dtype)


def log_prob(state: MemoryState, memory: Tensor) -> Tensor:
    """log p(M) of a matrix (..., K, C) under the memory, in nats."""
    check_memory("state", state)
    checks.float_tensor("memory", memory, "(..., K, C)", min_dims=2)
    checks.size("memory", memory, -2, state.num_rows, "the memory's rows K")
    checks.size("memory", memory, -1, state.code_size, "the memory's code size C")
    checks.alike(state=state, memory=memory)
    checks.broadcastable(state=state.batch_shape, memory=memory.shape[:-2])
    checks.finite("memory", memory)
    if state.per_column:
        return log_prob(state._by_column(), memory.mT.unsqueeze(-1)).sum(-1)
    value = matrix_normal.log_prob(linalg.widen(memory), state._mean, _factor(state))
    return value.to(state.dtype)


def memory_kl(posterior: MemoryState, prior: MemoryState) -> Tensor:
    """KL( q(M | X) || p(M) ) in nats, exactly and with full covariances: what a write cost.

    The term that the paper's bound on ln p(X | M) leaves out and one on ln p(X) would have.
    """
    check_memory("posterior", posterior)
    check_memory("prior", prior)
    checks.size("prior", prior._mean, -2, posterior.num_rows, "the posterior's rows K")
    checks.size("prior", prior._mean, -1, posterior.code_size, "the posterior's code size C")
    checks.alike(posterior=posterior, prior=prior)
    checks.broadcastable(posterior=posterior.batch_shape, prior=prior.batch_shape)
    if posterior.per_column or prior.per_column:
        return memory_kl(posterior._by_column(), prior._by_column()).sum(-1)
    nats = matrix_normal.kl(posterior._mean, _factor(posterior), prior._mean, _factor(prior))
    return nats.to(posterior.dtype)


def log_evidence(
    prior: MemoryState,
    weights: Tensor,
    codes: Tensor,
    *,
    noise_var: float | Tensor = 1.0,
    code_var: Tensor | float | None = None,
    per_column: bool = False,
) -> Tensor:
    """log p(Z | W) in nats with the memory integrated out: the marginal likelihood of an episode.

    N(Z | W R, Sigma_z) with Sigma_z of section 3.3, and Sigma_z' of appendix F where codes are
    uncertain. Arguments as in `condition`.
    """
    check_memory("prior", prior)
    per_column = per_column or prior.per_column
    episode = checked_episode(weights, codes, noise_var, code_var, per_column=per_column)
    check_fits(prior, episode)
    if per_column:
        columns = _log_evidence(prior._by_column(), episode.by_column())
        return columns.sum(-1).to(prior.dtype)
    return _log_evidence(prior, episode).to(prior.dtype)


def _log_evidence(state: MemoryState, episode: Episode) -> Tensor:
    """By the chain rule over blocks of at most K items: no T x T system larger than K x K."""
    batch = torch.broadcast_shapes(
        state.batch_shape, episode.weights.shape[:-2], episode.codes.shape[:-2]
    )
    rows = FullCovariance(state.rows.dense())  # cheaper rows would approximate between blocks
    state = MemoryState._trusted(state._mean, rows, state.dtype)
    total = state._mean.new_zeros(batch)
    for block in episode.blocks(state.num_rows):
        if block.num_items == 0:
            continue
        T, C = block.codes.shape[-2:]
        news = surprise(state, block.widened())
        total = total - 0.5 * (
            linalg.solve_lower(news.factor, news.error).square().sum((-2, -1))
            + C * linalg.log_det(news.factor)
            + T * C * math.log(2 * math.pi)
        )
        state = _write(state, block, chunk=None)
    return total


def _factor(state: MemoryState) -> Tensor:
    return linalg.cholesky(state.rows.dense(), name="the memory's covariance")
