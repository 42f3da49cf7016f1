"""How far the cheaper memories are from the exact one, measured on random episodes.

Weights are random directions of length 1, codes are standard normal, the noise is 0.1. The codes
have no structure, so nothing about an item can be predicted from the others. This is the hardest
case for an approximation.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.memory import (
    DiagonalCovariance,
    LowRankCovariance,
    MemoryState,
    RowCovariance,
    condition,
    memory_kl,
    predict,
)

NUM_EPISODES, NUM_ROWS, CODE_SIZE = 16, 64, 100
NOISE_VAR = 0.1
LENGTHS = (32, 128)
RANKS = (8, 16, 32, 64)


class Approximation(NamedTuple):
    """One approximate posterior against the exact one."""

    covariance: str
    writing: str
    num_items: int
    mean_error: float
    """Relative error of the posterior mean (Frobenius)."""
    var_error: float
    """Mean relative error of the predicted variances of new items."""
    nats_per_item: float
    """KL(approximate || exact) / T."""


def measure_approximations(generator: torch.Generator) -> list[Approximation]:
    """Compare row covariances, written at once and on-line, and one covariance for all columns."""
    return [
        *(row for length in LENGTHS for row in row_covariances(length, generator)),
        *(shared_columns(length, generator) for length in LENGTHS),
    ]


def row_covariances(num_items: int, generator: torch.Generator) -> list[Approximation]:
    """Diagonal and low-rank row covariances, written at once and item by item."""
    W, Z, new_weights = _episodes(num_items, generator)
    ones = torch.ones(NUM_ROWS, dtype=torch.float64)
    kinds: dict[str, RowCovariance] = {
        "diagonal": DiagonalCovariance(ones),
        **{f"low rank {rank}": LowRankCovariance(ones, rank=rank) for rank in RANKS},
    }
    mean = torch.zeros(NUM_ROWS, CODE_SIZE, dtype=torch.float64)
    exact = condition(MemoryState(mean, torch.diag(ones)), W, Z, noise_var=NOISE_VAR)
    return [
        _compare(
            exact,
            condition(MemoryState(mean, rows), W, Z, noise_var=NOISE_VAR, chunk=chunk),
            new_weights,
            name,
            "at once" if chunk is None else "on-line",
            num_items,
        )
        for name, rows in kinds.items()
        for chunk in (None, 1)
    ]


def shared_columns(num_items: int, generator: torch.Generator) -> Approximation:
    """One covariance for all columns, where `code_var` differs by dimension (0 to 1, uniform)."""
    W, Z, new_weights = _episodes(num_items, generator)
    code_var = torch.rand(Z.shape, generator=generator, dtype=torch.float64)
    prior = MemoryState(
        torch.zeros(NUM_ROWS, CODE_SIZE, dtype=torch.float64),
        torch.eye(NUM_ROWS, dtype=torch.float64),
    )
    exact, shared = (
        condition(prior, W, Z, noise_var=NOISE_VAR, code_var=code_var, per_column=per_column)
        for per_column in (True, False)
    )
    return _compare(exact, shared, new_weights, "shared by columns", "at once", num_items)


def _compare(
    exact: MemoryState,
    approximate: MemoryState,
    new_weights: Tensor,
    covariance: str,
    writing: str,
    num_items: int,
) -> Approximation:
    truth = predict(exact, new_weights, noise_var=NOISE_VAR).var
    var = predict(approximate, new_weights, noise_var=NOISE_VAR).var
    if truth.dim() > var.dim():
        var = var[..., None]
    return Approximation(
        covariance,
        writing,
        num_items,
        mean_error=((approximate.mean - exact.mean).norm() / exact.mean.norm()).item(),
        var_error=((var - truth).abs() / truth).mean().item(),
        nats_per_item=memory_kl(approximate, exact).mean().item() / num_items,
    )


def _episodes(num_items: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Weights and codes of random episodes, and weights of as many new items."""

    def randn(size: int) -> Tensor:
        shape = (NUM_EPISODES, num_items, size)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def directions() -> Tensor:
        return torch.nn.functional.normalize(randn(NUM_ROWS), dim=-1)

    return directions(), randn(CODE_SIZE), directions()
