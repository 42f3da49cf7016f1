"""Weights that explain given codes best, found by the memory itself.

This is the addressing of the Dynamic Kanerva Machine (Wu et al. 2018, Learning attractor dynamics
for generative memory). Nothing is learned: it is regularised least squares against the memory's
mean.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

import functools

from torch import Tensor

from kanerva import linalg
from kanerva.memory.episode import check_weights
from kanerva.memory.precision import check_factor
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
    check_gradients,
    check_same_dtype_and_device,
    check_size,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_no_overflow,
    check_result,
    checked_noise_var,
    infinite_if_overflown,
)


def infer_weights(memory: MemoryState, codes: Tensor, *, noise_var: float | Tensor = 1.0) -> Tensor:
    """Find the weights that explain codes best, in closed form: the minimum of `energy`.

    w = (R R' + sigma^2 I)^-1 R z = R (R' R + sigma^2 I)^-1 z, the mean of p(w | z, R) for
    w ~ N(0, I). The system is positive definite for every memory, and the smaller of the two is
    solved: with C < K the first has K - C eigenvalues of sigma^2 alone, however small that is. The
    Kanerva Machine of the paper learns its weights instead (eq:cosine); this is the rule of its
    successor, the Dynamic Kanerva Machine.

    Args:
        memory: the memory that is asked.
        codes: Z, (..., T, C): the codes to explain.
        noise_var: sigma^2, the variance of the noise on each code. A larger value gives smaller
            weights.

    Returns:
        The weights W, (..., T, K).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite. Where
            rounding leaves less than two digits of the weights, a `PrecisionWarning` says so.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, infer_weights
        >>> memory = MemoryState(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.eye(2))
        >>> infer_weights(memory, torch.tensor([[2.0, 0.0]]), noise_var=1.0)
        tensor([[0.8000, 0.0000]])

    """
    check_memory("memory", memory)
    check_float_tensor("codes", codes, "(..., T, C)", min_dims=2)
    check_size("codes", codes, -1, memory.code_size, "the memory's code size C")
    check_same_dtype_and_device(memory=memory, codes=codes)
    broadcast_batches(memory=memory.batch_shape, codes=codes.shape[:-2])
    check_gradients(memory=memory._tensors, codes=[codes])
    check_finite("codes", codes)
    noise = checked_noise_var(noise_var, like=codes)
    R, Z = memory._mean, linalg.to_float64(codes)
    is_tall = memory.num_rows > memory.code_size
    product, size = (R.mT @ R, memory.code_size) if is_tall else (R @ R.mT, memory.num_rows)
    system = linalg.add_diagonal(product, noise.expand(size))
    check_no_overflow(
        "memory",
        system,
        expected="a mean R whose product R R' is finite",
        fix="Divide the codes by a number before writing them, so that |R| stays below 1e150.",
    )
    check = functools.partial(check_factor, what="the weights", ratio="|R|^2 / noise")
    sides = Z.mT if is_tall else R @ Z.mT
    solution = linalg.solve(system, sides, name="R R' + noise", check=check)
    solution = R @ solution if is_tall else solution
    check_result(solution, of="codes, memory")
    return solution.mT.to(memory.dtype)


def energy(
    memory: MemoryState, weights: Tensor, codes: Tensor, *, noise_var: float | Tensor = 1.0
) -> Tensor:
    """How badly weights explain codes: |z - w R|^2 / (2 sigma^2) + |w|^2 / 2.

    This is -ln p(z | w, R) p(w) up to a constant, for w ~ N(0, I). `infer_weights` finds the
    weights with the lowest energy (Dynamic Kanerva Machine, Wu et al. 2018).

    Args:
        memory: the memory that is asked.
        weights: W, (..., T, K).
        codes: Z, (..., T, C).
        noise_var: sigma^2, the variance of the noise on each code.

    Returns:
        The energy of each item in nats, (..., T).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, energy, infer_weights
        >>> memory = MemoryState(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.eye(2))
        >>> codes = torch.tensor([[2.0, 0.0]])
        >>> energy(memory, torch.tensor([[1.0, 0.0]]), codes)
        tensor([0.5000])
        >>> energy(memory, infer_weights(memory, codes), codes)
        tensor([0.4000])

    """
    check_weights(memory, weights)
    check_float_tensor("codes", codes, "(..., T, C)", min_dims=2)
    check_size("codes", codes, -1, memory.code_size, "the memory's code size C")
    check_size("codes", codes, -2, weights.shape[-2], "the T items of weights")
    check_same_dtype_and_device(memory=memory, codes=codes)
    broadcast_batches(memory=memory.batch_shape, weights=weights.shape[:-2], codes=codes.shape[:-2])
    check_gradients(memory=memory._tensors, weights=[weights], codes=[codes])
    check_finite("weights", weights)
    check_finite("codes", codes)
    noise = checked_noise_var(noise_var, like=weights)
    error = linalg.subtract_product(
        linalg.to_float64(codes), linalg.to_float64(weights), memory._mean
    )
    own = linalg.to_float64(weights).square().sum(-1)
    value = 0.5 * (error.square().sum(-1) / noise + own)
    return infinite_if_overflown(value).to(memory.dtype)
