"""Writing: the posterior of the memory given an episode (section 3.3, appendices E and F).

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.checks import check_integer
from kanerva.memory.episode import BLOCK_SIZE, Episode, check_episode_fits, checked_episode
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import broadcast_batches


def condition(
    prior: MemoryState,
    weights: Tensor,
    codes: Tensor,
    *,
    noise_var: float | Tensor = 1.0,
    code_var: Tensor | float | None = None,
    chunk: int | None = None,
    per_column: bool = False,
) -> MemoryState:
    """p(M | W, Z): the exact posterior of the memory after writing an episode.

    eq:update-first to eq:update-last (section 3.3, derived in appendix E, sec:bayes):

        Delta   = Z - W R
        Sigma_c = W U                        Sigma_z = W U W' + Sigma_xi
        R      <- R + Sigma_c' Sigma_z^-1 Delta
        U      <- U - Sigma_c' Sigma_z^-1 Sigma_c

    Args:
        prior: the memory to write into; the result of an earlier write continues it.
        weights: W, (..., T, K). T = 0 is an empty episode: the prior comes back.
        codes: Z, (..., T, C).
        noise_var: sigma^2, the diagonal of Sigma_xi.
        code_var: how unsure each code is, for distribution-based writing (appendix F,
            eq:dist-posterior): Sigma_z' = Sigma_z + Sigma_Q. A number or one variance an item
            (..., T) is exact. One for each item and dimension (..., T, C) gives every column a
            covariance of its own; by default they share one, an approximation (see
            `episode._item_noise_var`).
        chunk: write this many items at a time: 1 is the paper's on-line rule. None writes the
            episode at once. The posterior is the same, to rounding, where the covariance is full.
        per_column: keep a covariance for each column, so that `code_var` (..., T, C) is exact too.
            Time and memory of the covariance grow C-fold.

    """
    check_memory("prior", prior)
    per_column = per_column or prior.per_column
    episode = checked_episode(weights, codes, noise_var, code_var, per_column=per_column)
    check_episode_fits(prior, episode)
    if chunk is not None:
        check_integer(
            "chunk",
            chunk,
            fix="Pass 1 to write one item at a time, or None to write the whole episode at once.",
        )
    if per_column:
        return write_episode(prior._split_columns(), episode.split_columns(), chunk)._join_columns()
    return write_episode(prior, episode, chunk)


def write_episode(state: MemoryState, episode: Episode, chunk: int | None) -> MemoryState:
    if episode.num_items == 0:
        batch = broadcast_batches(
            memory=state.batch_shape,
            weights=episode.weights.shape[:-2],
            codes=episode.codes.shape[:-2],
        )
        return state._expand_batch(batch)
    # Two routes to one posterior: a T x T system, or the K x K one of the statistics.
    if (chunk or episode.num_items) > state.num_rows:
        for part in episode.blocks(chunk or episode.num_items):
            state = posterior_from_statistics(state, sufficient_statistics(part))
    else:
        for part in episode.chunks(chunk or episode.num_items):
            state = _write_items(state, part)
    return state


class Innovation(NamedTuple):
    """How an episode differs from what the memory predicts."""

    error: Tensor
    """Delta, (..., T, C)."""
    cross: Tensor
    """Sigma_c, (..., T, K)."""
    cov: Tensor
    """Sigma_z, (..., T, T)."""
    factor: Tensor
    """L, (..., T, T), with L L' = Sigma_z."""


def innovation(state: MemoryState, episode: Episode) -> Innovation:
    """eq:update-first and the line below it; `episode` is widened."""
    W, Z, noise_var = episode
    Delta = linalg.subtract_product(Z, W, state._mean)
    Sigma_c = state.row_cov.cross_cov(W)
    Sigma_z = linalg.add_diagonal_(Sigma_c @ W.mT, noise_var)
    L = linalg.cholesky(Sigma_z, name="W U W' + noise")
    return Innovation(Delta, Sigma_c, Sigma_z, L)


def _write_items(state: MemoryState, episode: Episode) -> MemoryState:
    """eq:update-last, and eq:sigma_matrix of appendix E without its Kronecker products."""
    Delta, Sigma_c, Sigma_z, L = innovation(state, episode)
    whitened_cross, mean_update = linalg.solve_and_project(Sigma_z, L, Sigma_c, Delta)
    mean = state._mean + mean_update
    row_cov = state.row_cov.posterior_from_items(episode.weights, episode.noise_var, whitened_cross)
    return MemoryState._unchecked(mean, row_cov, state.dtype)


class SufficientStatistics(NamedTuple):
    """All that a posterior needs to know of an episode, of a size that does not grow with T."""

    gram: Tensor
    """W' Sigma_xi^-1 W, (..., K, K)."""
    cross: Tensor
    """W' Sigma_xi^-1 Z, (..., K, C)."""


def sufficient_statistics(episode: Episode) -> SufficientStatistics:
    """Summed over blocks of items, so that a million of them are widened a block at a time."""
    gram = cross = torch.zeros((), dtype=linalg.WORKING_DTYPE, device=episode.weights.device)
    for block in episode.blocks(BLOCK_SIZE):
        W, Z, noise_var = block.to_float64()
        scaled = (W / noise_var[..., None]).mT
        gram = gram + scaled @ W
        cross = cross + scaled @ Z
    return SufficientStatistics(gram, cross)


def posterior_from_statistics(state: MemoryState, statistics: SufficientStatistics) -> MemoryState:
    """The same posterior from sufficient statistics G = W' W / s2 and H = W' Z / s2.

    With U = F F': U' = F (I + F' G F)^-1 F' and R' = R + U' (H - G R). The matrix in brackets has
    no eigenvalue below 1, and U' comes out as X' X, positive definite by construction.
    """
    G, H = statistics
    F = linalg.cholesky(state.row_cov.dense(), name="the memory's covariance")
    system = linalg.add_diagonal(F.mT @ G @ F, G.new_ones(G.shape[-1]))
    X = linalg.solve_lower(linalg.cholesky(system, name="I + F' W' W F / noise"), F.mT)
    mean = state._mean + X.mT @ (X @ (H - G @ state._mean))
    return MemoryState._unchecked(mean, state.row_cov.posterior_from_gram(G, X), state.dtype)
