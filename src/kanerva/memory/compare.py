"""A memory compared with the one it was written into: what writing cost, and how full it is.

Shapes: K rows, C code size; leading dimensions are free and broadcast.
"""

from torch import Tensor

from kanerva import linalg
from kanerva.distributions import matrix_normal
from kanerva.errors import KanervaError
from kanerva.memory.covariance import LowRankCovariance
from kanerva.memory.state import MemoryState, check_memory, cov_factor
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_gradients,
    check_same_dtype_and_device,
    check_size,
)
from kanerva.memory.value_checks import infinite_if_overflown

FILL_TOLERANCE = 1e-3
"""How far below zero `fill` may be. Rounding of a float32 covariance can make it slightly negative;
a value far below zero means that the arguments are swapped or do not belong together."""


def memory_kl(posterior: MemoryState, prior: MemoryState) -> Tensor:
    """The exact divergence KL( q(M | X) || p(M) ) in nats: the cost of what was written.

    The paper bounds ln p(X | M) (eq:J, eq:vlb), which leaves this term out. A bound on ln p(X)
    would include it (section 3.4). Covariances are used in full.

    Args:
        posterior: q(M | X), the memory after writing.
        prior: p(M), the memory before writing.

    Returns:
        The divergence of each memory in the batch, (...); zero where nothing was written.

    Raises:
        KanervaError: sizes, dtypes, devices or batches do not fit.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, condition, memory_kl
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> memory = condition(prior, torch.eye(3)[:1], torch.tensor([[4.0, 8.0]]))
        >>> memory_kl(memory, prior)
        tensor(10.1931)
        >>> memory_kl(prior, prior)
        tensor(0.)

    """
    _check_comparable(posterior, prior)
    if posterior.per_column or prior.per_column:
        return memory_kl(posterior._split_columns(), prior._split_columns()).sum(-1)
    nats = matrix_normal.kl(posterior._mean, cov_factor(posterior), prior._mean, cov_factor(prior))
    return infinite_if_overflown(nats).to(posterior.dtype)


def fill(posterior: MemoryState, prior: MemoryState) -> Tensor:
    """How full a memory is, from 0 (nothing is written) towards 1: 1 - tr(U U0^-1) / K.

    U0 is the covariance before writing and U the one after (section 3.1). The value is the share of
    the prior's uncertainty that writing has removed, averaged over all K directions. Each item can
    add at most 1 / K, so a memory of K rows has room for about K items: beyond that, items overlap
    and recall gets worse. The codes do not matter, only weights and noise.

    With full and with diagonal covariances every write raises it. A `LowRankCovariance` that has to
    drop directions forgets what it knew about them, so there a write can also lower it.

    Args:
        posterior: the memory after writing.
        prior: the memory before writing, of the same sizes, dtype and device.

    Returns:
        The fill of each memory in the batch, (...). For `per_column` memories it is the mean over
        their columns.

    Raises:
        KanervaError: sizes, dtypes, devices or batches do not fit, or `posterior` is less certain
            than `prior` (they are swapped, or do not belong together); this is not checked for a
            `LowRankCovariance`, which may forget.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, condition, fill
        >>> prior = MemoryState(torch.zeros(4, 2), torch.eye(4))
        >>> memory = condition(prior, torch.eye(4)[:3], torch.ones(3, 2), noise_var=0.01)
        >>> fill(memory, prior)  # three of four rows are known almost exactly
        tensor(0.7426)
        >>> fill(prior, prior)
        tensor(0.)

    """
    _check_comparable(posterior, prior)
    batch = broadcast_batches(posterior=posterior.batch_shape, prior=prior.batch_shape)
    if posterior.per_column or prior.per_column:
        share = _fill(posterior._split_columns(), prior._split_columns()).mean(-1)
    else:
        share = _fill(posterior, prior)
    may_fall = isinstance(posterior.row_cov, LowRankCovariance)
    if not may_fall and not linalg.is_capturing_graph(share):
        _check_fill(share)
    return share.expand(batch).to(posterior.dtype)


def _fill(posterior: MemoryState, prior: MemoryState) -> Tensor:
    """With U = L L' and U0 = L0 L0', tr(U U0^-1) is the sum of squares of L0^-1 L."""
    remaining = linalg.solve_lower(cov_factor(prior), cov_factor(posterior)).square().sum((-2, -1))
    return 1 - remaining / prior.num_rows


def _check_fill(share: Tensor) -> None:
    lowest = linalg.numbers(share).min().item() if share.numel() else 0.0
    if lowest < -FILL_TOLERANCE:
        raise KanervaError(
            "posterior",
            expected="a memory that is at least as certain as prior",
            got=f"a fill of {lowest:.3g}",
            fix="Pass the memory after writing first and the one before writing second, "
            "fill(posterior, prior), and the prior that this memory was written into.",
        )


def _check_comparable(posterior: MemoryState, prior: MemoryState) -> None:
    """Check for two memories of the same sizes, dtype, device and batch."""
    check_memory("posterior", posterior)
    check_memory("prior", prior)
    K, C = posterior.num_rows, posterior.code_size
    fix = (
        "Compare memories of the same sizes: pass the memory that this posterior was written into."
    )
    check_size("prior", prior._mean, -2, K, "the posterior's rows K", fix=fix)
    check_size("prior", prior._mean, -1, C, "the posterior's code size C", fix=fix)
    check_same_dtype_and_device(posterior=posterior, prior=prior)
    broadcast_batches(posterior=posterior.batch_shape, prior=prior.batch_shape)
    check_gradients(posterior=posterior._tensors, prior=prior._tensors)
