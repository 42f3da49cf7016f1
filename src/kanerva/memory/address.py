"""Weights found by the memory itself: those that explain given codes best.

The addressing of the Dynamic Kanerva Machine (Wu et al. 2018, Learning attractor dynamics for
generative memory), where nothing is learned: regularised least squares against the memory's mean.
Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from torch import Tensor

from kanerva import linalg
from kanerva.memory.episode import check_weights
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import (
    check_finite,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
    checked_noise_var,
)


def infer_weights(memory: MemoryState, codes: Tensor, *, noise_var: float | Tensor = 1.0) -> Tensor:
    """argmin over w of `energy`, (..., T, K): the mean of p(w | z, R) for w ~ N(0, I).

    w = (R R' + sigma^2 I)^-1 R z. The system is positive definite whatever the memory holds.
    """
    check_memory("memory", memory)
    check_float_tensor("codes", codes, "(..., T, C)", min_dims=2)
    check_size("codes", codes, -1, memory.code_size, "the memory's code size C")
    check_same_dtype_and_device(memory=memory, codes=codes)
    check_finite("codes", codes)
    noise = checked_noise_var(noise_var, like=codes)
    R = memory._mean
    system = linalg.add_diagonal(R @ R.mT, noise.expand(memory.num_rows))
    solution = linalg.solve(system, R @ linalg.to_float64(codes).mT, name="R R' + noise")
    return solution.mT.to(memory.dtype)


def energy(
    memory: MemoryState, weights: Tensor, codes: Tensor, *, noise_var: float | Tensor = 1.0
) -> Tensor:
    """|z - w R|^2 / (2 sigma^2) + |w|^2 / 2, (..., T): -ln p(z | w, R) p(w) but for constants."""
    check_weights(memory, weights)
    noise = checked_noise_var(noise_var, like=weights)
    error = linalg.subtract_product(
        linalg.to_float64(codes), linalg.to_float64(weights), memory._mean
    )
    own = linalg.to_float64(weights).square().sum(-1)
    return (0.5 * (error.square().sum(-1) / noise + own)).to(memory.dtype)
