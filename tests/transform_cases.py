"""Functions of a memory for the tests of torch.func transforms."""

from collections.abc import Callable

import torch
from torch import Tensor

from cases import T, random_case, random_var
from kanerva import (
    DiagonalCovariance,
    Evidence,
    LowRankCovariance,
    MemoryState,
    condition,
    energy,
    fill,
    infer_weights,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
    sample_memory,
)

F64 = torch.float64
B = 3
"""How many memories a batch has."""

COVARIANCES: dict[str, Callable[[Tensor], object]] = {
    "full": lambda cov: cov,
    "diagonal": lambda cov: DiagonalCovariance(cov.diagonal(dim1=-2, dim2=-1)),
    "low rank": lambda cov: LowRankCovariance(cov.diagonal(dim1=-2, dim2=-1), rank=3),
    "low rank with room": lambda cov: LowRankCovariance(cov.diagonal(dim1=-2, dim2=-1), rank=99),
}


def memory(mean: Tensor, cov: Tensor, kind: str) -> MemoryState:
    return MemoryState(mean, COVARIANCES[kind](cov))  # pyright: ignore[reportArgumentType]


def both(state: MemoryState) -> tuple[Tensor, ...]:
    return state.mean, state.cov


Function = Callable[..., "Tensor | tuple[Tensor, ...]"]
FUNCTIONS: dict[str, Function] = {
    # of a memory, weights, codes and one noise variance
    "condition": lambda p, W, Z, n: both(condition(p, W, Z, noise_var=n)),
    "condition online": lambda p, W, Z, n: both(condition(p, W, Z, noise_var=n, chunk=1)),
    "condition code_var": lambda p, W, Z, n: both(
        condition(p, W, Z, code_var=n.expand(W.shape[-2]))
    ),
    "condition per column": lambda p, W, Z, n: both(
        condition(p, W, Z, code_var=n.expand(Z.shape), per_column=True)
    ),
    "predict": lambda p, W, Z, n: tuple(predict(p, W, noise_var=n)),
    "distribution": lambda p, W, Z, n: predict(p, W, noise_var=n).distribution().log_prob(Z),
    "recall": lambda p, W, Z, n: recall(p, W),
    "infer_weights": lambda p, W, Z, n: infer_weights(p, Z, noise_var=n),
    "energy": lambda p, W, Z, n: energy(p, W, Z, noise_var=n),
    "log_evidence": lambda p, W, Z, n: log_evidence(p, W, Z, noise_var=n),
    "memory_kl": lambda p, W, Z, n: memory_kl(condition(p, W, Z, noise_var=n), p),
    "fill": lambda p, W, Z, n: fill(condition(p, W, Z, noise_var=n), p),
    "log_prob": lambda p, W, Z, n: log_prob(p, W.mT @ Z),
    "sample_memory": lambda p, W, Z, n: sample_memory(p, noise=W.mT @ Z),
    "evidence": lambda p, W, Z, n: both(Evidence.of(W, Z, noise_var=n).posterior(p)),
    "merging and forgetting": lambda p, W, Z, n: both(
        (Evidence.of(W, Z, noise_var=n) + Evidence.of(W, Z) - Evidence.of(W, Z)).posterior(p)
    ),
}


def as_function(name: str, kind: str) -> Function:
    """Of tensors alone: mean, cov, weights, codes, noise; only the symmetric part of cov counts."""

    def function(mean: Tensor, cov: Tensor, W: Tensor, Z: Tensor, noise: Tensor):
        return FUNCTIONS[name](memory(mean, (cov + cov.mT) / 2, kind), W, Z, noise)

    return function


def scalar(name: str, kind: str) -> Callable[..., Tensor]:
    """A smooth function of all results."""
    function = as_function(name, kind)

    def total(*arguments: Tensor) -> Tensor:
        results = function(*arguments)
        return sum((part.sin().sum() for part in tuples(results)), torch.zeros((), dtype=F64))

    return total


def tuples(results: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)


def inputs(num_items: int = T) -> tuple[Tensor, ...]:
    case = random_case((B,), num_items=num_items)
    return (*case, random_var(B))


def assert_same(left: object, right: object) -> None:
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-9)
