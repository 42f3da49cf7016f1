"""Samples of a memory and log-probabilities under it.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

import math

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.distributions import matrix_normal
from kanerva.errors import KanervaError
from kanerva.memory.episode import BLOCK_SIZE, Episode, check_episode_fits, checked_episode
from kanerva.memory.state import MemoryState, check_memory, cov_factor
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_flag,
    check_float_tensor,
    check_generator,
    check_gradients,
    check_same_device,
    check_same_dtype_and_device,
    check_size,
)
from kanerva.memory.value_checks import check_finite, check_result, infinite_if_overflown
from kanerva.memory.write import innovation, solve_statistics, sufficient_statistics


def sample_memory(
    memory: MemoryState,
    *,
    generator: torch.Generator | None = None,
    noise: Tensor | None = None,
) -> Tensor:
    """Draw a matrix M ~ MN(R, U, I) from the memory (section 3.1).

    The sample is reparametrised: gradients flow to R and U.

    Args:
        memory: the memory to draw from.
        generator: the source of randomness, on the memory's device; torch's default if None.
        noise: standard normal numbers (..., K, C) to use instead of new ones, of any floating-point
            dtype; leading dimensions broadcast with those of the memory.

    Returns:
        One matrix for each memory of the batch, (..., K, C).

    Raises:
        KanervaError: `noise` does not fit the memory or is not finite, `generator` is not a
            `torch.Generator` on the memory's device, or both are given.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, sample_memory
        >>> memory = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> sample_memory(memory, generator=torch.Generator().manual_seed(0)).shape
        torch.Size([3, 2])
        >>> torch.equal(sample_memory(memory, noise=torch.ones(3, 2)), torch.ones(3, 2))
        True

    """
    check_memory("memory", memory)
    if noise is None:
        noise = _draw_noise(memory, generator)
    else:
        _check_noise(memory, noise, generator)
    if memory.per_column:
        columns = noise.mT.unsqueeze(-1)
        return sample_memory(memory._split_columns(), noise=columns).squeeze(-1).mT
    sample = matrix_normal.sample(memory._mean, cov_factor(memory), linalg.to_float64(noise))
    check_result(sample, of="noise, memory")
    return sample.to(memory.dtype)


def _draw_noise(memory: MemoryState, generator: torch.Generator | None) -> Tensor:
    check_generator(generator, memory.device)
    shape = (*memory.batch_shape, memory.num_rows, memory.code_size)
    wide = linalg.WORKING_DTYPE
    try:
        return torch.randn(shape, dtype=wide, device=memory.device, generator=generator)
    except RuntimeError as error:
        if "randomness" not in str(error):
            raise
        raise KanervaError(
            "noise",
            expected="noise, or a vmap that says what random numbers are",
            got="neither",
            fix="Pass vmap(..., randomness='different'), or noise=torch.randn(K, C) drawn outside.",
        ) from None


def _check_noise(memory: MemoryState, noise: Tensor, generator: torch.Generator | None) -> None:
    """Check that given noise fits the memory, and that no other source of randomness is given."""
    check_float_tensor("noise", noise, "(..., K, C)", min_dims=2)
    check_size("noise", noise, -2, memory.num_rows, "the memory's rows K")
    check_size("noise", noise, -1, memory.code_size, "the memory's code size C")
    check_same_device(memory=memory, noise=noise)
    broadcast_batches(memory=memory.batch_shape, noise=noise.shape[:-2])
    check_gradients(memory=memory._tensors, noise=[noise])
    check_finite("noise", noise)
    if generator is not None:
        raise KanervaError(
            "generator",
            expected="noise or a generator",
            got="both",
            fix="Pass one of the two: noise replaces the random numbers of a generator.",
        )


def log_prob(memory: MemoryState, matrix: Tensor) -> Tensor:
    """The log-density log p(M) of a matrix under the memory, in nats (section 3.1).

    Args:
        memory: the memory, MN(R, U, I).
        matrix: M, (..., K, C), for example from `sample_memory`.

    Returns:
        The log-density of each matrix, (...).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, log_prob
        >>> memory = MemoryState(torch.zeros(1, 1), torch.eye(1))
        >>> log_prob(memory, torch.zeros(1, 1))  # -log(2 pi) / 2
        tensor(-0.9189)

    """
    check_memory("memory", memory)
    check_float_tensor("matrix", matrix, "(..., K, C)", min_dims=2)
    check_size("matrix", matrix, -2, memory.num_rows, "the memory's rows K")
    check_size("matrix", matrix, -1, memory.code_size, "the memory's code size C")
    check_same_dtype_and_device(memory=memory, matrix=matrix)
    broadcast_batches(memory=memory.batch_shape, matrix=matrix.shape[:-2])
    check_gradients(memory=memory._tensors, matrix=[matrix])
    check_finite("matrix", matrix)
    if memory.per_column:
        return log_prob(memory._split_columns(), matrix.mT.unsqueeze(-1)).sum(-1)
    value = matrix_normal.log_prob(linalg.to_float64(matrix), memory._mean, cov_factor(memory))
    return infinite_if_overflown(value, -1).to(memory.dtype)


def log_evidence(
    prior: MemoryState,
    weights: Tensor,
    codes: Tensor,
    *,
    noise_var: float | Tensor = 1.0,
    code_var: Tensor | float | None = None,
    per_column: bool = False,
) -> Tensor:
    """The log-probability log p(Z | W) of an episode, with the memory integrated out, in nats.

    This is the marginal likelihood N(Z | W R, Sigma_z) with Sigma_z of section 3.3, and with
    Sigma_z' of appendix F where codes are uncertain.

    Args:
        prior: the memory before the episode.
        weights: W, (..., T, K).
        codes: Z, (..., T, C).
        noise_var: sigma^2, the variance of the noise on each code.
        code_var: how uncertain the codes are: None, a number, (..., T) or (..., T, C), as in
            `condition`.
        per_column: give each column its own variances where `code_var` is (..., T, C), as in
            `condition`.

    Returns:
        The log-probability of each episode in the batch, (...).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, log_evidence
        >>> prior = MemoryState(torch.zeros(3, 1), torch.eye(3))
        >>> log_evidence(prior, torch.eye(3)[:1], torch.zeros(1, 1))  # -log(2 pi 2) / 2
        tensor(-1.2655)

    """
    check_memory("prior", prior)
    check_flag("per_column", per_column)
    per_column = per_column or prior.per_column
    episode = checked_episode(
        weights, codes, noise_var, code_var, memory=prior, per_column=per_column
    )
    check_episode_fits(prior, episode)
    if per_column:
        columns = _log_evidence(prior._split_columns(), episode.split_columns())
        return infinite_if_overflown(columns, -1).sum(-1).to(prior.dtype)
    return infinite_if_overflown(_log_evidence(prior, episode), -1).to(prior.dtype)


def _log_evidence(state: MemoryState, episode: Episode) -> Tensor:
    """No system is larger than K x K, and none loses digits when the noise is small."""
    batch = linalg.broadcast_shapes(
        state.batch_shape, episode.weights.shape[:-2], episode.codes.shape[:-2]
    )
    if episode.num_items == 0:
        return state._mean.new_zeros(batch)
    terms = _of_few_items if episode.num_items <= state.num_rows else _of_many_items
    misfit, log_det = terms(state, episode)
    T, C = episode.codes.shape[-2:]
    return -0.5 * (misfit + C * log_det + T * C * math.log(2 * math.pi)).expand(batch)


def _of_few_items(state: MemoryState, episode: Episode) -> tuple[Tensor, Tensor]:
    """tr(Delta' Sigma_z^-1 Delta) and ln |Sigma_z| from the T x T system."""
    Delta, _, _, L = innovation(state, episode.to_float64())
    return linalg.solve_lower(L, Delta).square().sum((-2, -1)), linalg.log_det(L)


def _of_many_items(state: MemoryState, episode: Episode) -> tuple[Tensor, Tensor]:
    """The same from the K x K system of the statistics (matrix determinant lemma).

    tr(Delta' Sigma_z^-1 Delta) is the smallest value of |Z - W M|^2 / sigma^2 plus the distance of
    M from the prior. The posterior mean reaches it, so its rounding errors hardly matter.
    """
    L, X, V = solve_statistics(state, sufficient_statistics(episode))
    mean = state._mean + X.mT @ V
    misfit = linalg.solve_upper(L, V).square().sum((-2, -1))
    for block in episode.blocks(BLOCK_SIZE):
        W, Z, noise_var = block.to_float64()
        error = linalg.subtract_product(Z, W, mean)
        misfit = misfit + (error.square().sum(-1) / noise_var).sum(-1)
    return misfit, linalg.log_det(L) + episode.noise_var.log().sum(-1)
