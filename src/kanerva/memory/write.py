"""Writing: the posterior of the memory after an episode (section 3.3, appendices E and F).

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.checks import check_integer
from kanerva.memory.episode import BLOCK_SIZE, Episode, check_episode_fits, checked_episode
from kanerva.memory.precision import check_factor, check_precision, largest_var, may_be_lost
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import broadcast_batches, check_flag
from kanerva.memory.value_checks import check_result


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
    """Write an episode: the posterior p(M | W, Z) of the memory, exact with a full covariance.

    This is eq:update-first to eq:update-last (section 3.3, derived in appendix E, sec:bayes):

        Delta   = Z - W R
        Sigma_c = W U                        Sigma_z = W U W' + Sigma_xi
        R      <- R + Sigma_c' Sigma_z^-1 Delta
        U      <- U - Sigma_c' Sigma_z^-1 Sigma_c

    Leading dimensions are the fast way to many memories. Transforms of `torch.func` (vmap, grad,
    jacrev, jacfwd) work on all functions of the memory, with the same checks; a `MemoryState` may
    go into them and come out.

    Args:
        prior: the memory to write into, of any batch shape. Pass the result of an earlier write to
            continue it.
        weights: W, (..., T, K): how much each of the T items uses each of the K rows. T = 0 is an
            empty episode, which gives the prior back.
        codes: Z, (..., T, C): what is written.
        noise_var: sigma^2, the diagonal of Sigma_xi: a positive number, or a tensor of no
            dimensions (a learned number).
        code_var: how uncertain the codes are, for distribution-based writing (appendix F,
            eq:dist-posterior): Sigma_z' = Sigma_z + Sigma_Q. A number, or one variance for each
            item (..., T), is exact. One variance for each item and dimension (..., T, C) gives
            every column a covariance of its own. By default the columns share one covariance,
            which is an approximation (see `episode._item_noise_var`).
        chunk: how many items to write at a time. 1 is the paper's on-line rule, None writes the
            whole episode at once. With a full covariance the posterior is the same, up to rounding.
        per_column: keep a covariance for each column, so that `code_var` (..., T, C) is exact too.
            The covariance then takes C times the time and memory.

    Returns:
        The memory after the episode. It has the dtype and the kind of covariance of `prior`; its
        leading dimensions are those of all arguments, broadcast.

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, condition, recall
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))  # K = 3, C = 2
        >>> weights = torch.tensor([[1.0, 0.0, 0.0]])  # T = 1
        >>> codes = torch.tensor([[4.0, 8.0]])
        >>> memory = condition(prior, weights, codes, noise_var=1.0)
        >>> recall(memory, weights)  # half way: noise and prior have the same variance
        tensor([[2., 4.]])
        >>> memory = condition(memory, weights, codes)  # the same item once more
        >>> torch.allclose(recall(memory, weights), codes * 2 / 3)
        True

    """
    check_memory("prior", prior)
    check_flag("per_column", per_column)
    per_column = per_column or prior.per_column
    episode = checked_episode(
        weights, codes, noise_var, code_var, memory=prior, per_column=per_column
    )
    check_episode_fits(prior, episode)
    if chunk is not None:
        check_integer(
            "chunk",
            chunk,
            fix="Pass 1 to write one item at a time, or None to write the whole episode at once.",
        )
    if per_column:
        columns = write_episode(prior._split_columns(), episode.split_columns(), chunk)
        posterior = columns._join_columns()
    else:
        posterior = write_episode(prior, episode, chunk)
    check_result(*posterior._tensors, of="weights, codes, prior")
    return posterior


def write_episode(state: MemoryState, episode: Episode, chunk: int | None) -> MemoryState:
    """The posterior after a checked episode, `chunk` items at a time."""
    if episode.num_items == 0:
        batch = broadcast_batches(
            memory=state.batch_shape,
            weights=episode.weights.shape[:-2],
            codes=episode.codes.shape[:-2],
        )
        return state._expand_batch(batch)
    # Two ways to the same posterior: a T x T system, or the K x K system of the statistics.
    if (chunk or episode.num_items) > state.num_rows:
        for part in episode.blocks(chunk or episode.num_items):
            state = posterior_from_statistics(state, sufficient_statistics(part))
    else:
        in_parts = chunk is not None and chunk < episode.num_items
        # A check of every part would take longer than to write it.
        if in_parts and may_be_lost(episode.weights, state.row_cov, episode.noise_var):
            largest = largest_var(episode.weights, state.row_cov)
            check_precision(episode.noise_var, largest, what="what items say, written in parts,")
        for part in episode.chunks(chunk or episode.num_items):
            state = _write_items(state, part, check=not in_parts)
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


def innovation(state: MemoryState, episode: Episode, *, check: bool = True) -> Innovation:
    """Delta, Sigma_c and Sigma_z: eq:update-first and the line below it; `episode` in float64.

    With `check` there is a warning where rounding leaves nothing of Sigma_z.
    """
    W, Z, noise_var = episode
    Delta = linalg.subtract_product(Z, W, state._mean)
    Sigma_c = state.row_cov._cross_cov(W)
    Sigma_z = linalg.add_diagonal_(Sigma_c @ W.mT, noise_var)
    L = linalg.cholesky(Sigma_z, name="W U W' + noise")
    if check and may_be_lost(W, state.row_cov, noise_var):
        check_factor(L, largest_var(W, state.row_cov).sum(-1), what="what the items say")
    return Innovation(Delta, Sigma_c, Sigma_z, L)


def _write_items(state: MemoryState, episode: Episode, *, check: bool) -> MemoryState:
    """Write by a T x T system: eq:update-last, or eq:sigma_matrix without Kronecker products."""
    Delta, Sigma_c, Sigma_z, L = innovation(state, episode, check=check)
    whitened_cross, mean_update = linalg.solve_and_project(Sigma_z, L, Sigma_c, Delta)
    mean = state._mean + mean_update
    row_cov = state.row_cov.posterior_from_items(episode.weights, episode.noise_var, whitened_cross)
    return MemoryState._unchecked(mean, row_cov, state.dtype)


class SufficientStatistics(NamedTuple):
    """What a posterior needs to know about an episode; the size does not grow with T."""

    gram: Tensor
    """W' Sigma_xi^-1 W, (..., K, K)."""
    cross: Tensor
    """W' Sigma_xi^-1 Z, (..., K, C)."""


def sufficient_statistics(episode: Episode) -> SufficientStatistics:
    """Sum over blocks of items, so that only one block at a time is converted to float64."""
    gram = cross = torch.zeros((), dtype=linalg.WORKING_DTYPE, device=episode.weights.device)
    for block in episode.blocks(BLOCK_SIZE):
        W, Z, noise_var = block.to_float64()
        scaled = (W / noise_var[..., None]).mT
        gram = gram + scaled @ W
        cross = cross + scaled @ Z
    return SufficientStatistics(gram, cross)


def sum_of_squares(episode: Episode) -> Tensor:
    """The sum of |z|^2 / sigma^2 over all items, (...), in float64 and without a gradient."""
    lengths = [linalg.squared_length(block.codes.detach()) for block in episode.blocks(BLOCK_SIZE)]
    return (torch.cat(lengths, dim=-1) / episode.noise_var.detach()).sum(-1)


class StatisticsSolution(NamedTuple):
    """The K x K system of sufficient statistics, solved: with U = F F', I + F' G F = L L'."""

    factor: Tensor
    """L, (..., K, K)."""
    posterior_root: Tensor
    """X = L^-1 F', (..., K, K): the posterior covariance is U' = X' X."""
    whitened_update: Tensor
    """V = X (H - G R), (..., K, C): the mean moves by X' V."""


def solve_statistics(state: MemoryState, statistics: SufficientStatistics) -> StatisticsSolution:
    """Solve for the posterior from G = W' W / sigma^2 and H = W' Z / sigma^2.

    The matrix I + F' G F has no eigenvalue below 1.
    """
    G, H = statistics
    F = linalg.cholesky(state.row_cov.dense(), name="the memory's covariance")
    system = linalg.add_diagonal(F.mT @ G @ F, G.new_ones(G.shape[-1]))
    L = linalg.cholesky(system, name="I + F' W' W F / noise")
    if not linalg.is_capturing_graph(L):
        check_factor(L, what="what the items say about some directions")
    X = linalg.solve_lower(L, F.mT)
    return StatisticsSolution(L, X, X @ (H - G @ state._mean))


def posterior_from_statistics(state: MemoryState, statistics: SufficientStatistics) -> MemoryState:
    """The posterior from sufficient statistics G = W' W / sigma^2 and H = W' Z / sigma^2.

    With U = F F': U' = F (I + F' G F)^-1 F' and R' = R + U' (H - G R). U' = X' X is positive
    definite by construction.
    """
    _, X, V = solve_statistics(state, statistics)
    row_cov = state.row_cov.posterior_from_gram(statistics.gram, X)
    return MemoryState._unchecked(state._mean + X.mT @ V, row_cov, state.dtype)
