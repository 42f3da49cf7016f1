"""gradcheck on every differentiable function, for every covariance."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cases import C, K, T, random_case, random_var
from kanerva import (
    DiagonalCovariance,
    Evidence,
    LowRankCovariance,
    MemoryState,
    condition,
    condition_prefixes,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
    sample_memory,
)
from kanerva.memory.prefixes import predict_next

Inputs = tuple[Tensor, ...]

# Each makes a valid covariance from any matrix (K, K), because gradcheck changes every entry.
COVARIANCES: dict[str, Callable[[Tensor], object]] = {
    "full": lambda root: root @ root.mT + torch.eye(K, dtype=root.dtype),
    "diagonal": lambda root: DiagonalCovariance(root.exp().sum(-1)),
    "low rank": lambda root: LowRankCovariance(root.exp().sum(-1), rank=3, factor=root[:, :1]),
    "low rank with room": lambda root: LowRankCovariance(root.exp().sum(-1), rank=99),
}


def both(state: MemoryState) -> Inputs:
    return state.mean, state.cov


def write(**options) -> Callable[..., Inputs]:
    def function(prior, W, Z, noise, v):
        return both(condition(prior, W, Z, noise_var=noise, **options))

    return function


FUNCTIONS: dict[str, Callable[..., Inputs | Tensor]] = {
    "condition": write(),
    "condition online": write(chunk=1),
    "condition chunks": write(chunk=2),
    "condition code_var": lambda p, W, Z, n, v: both(
        condition(p, W, Z, noise_var=n, code_var=v[:, 0])
    ),
    "condition shared": lambda p, W, Z, n, v: both(condition(p, W, Z, noise_var=n, code_var=v)),
    "condition per column": lambda p, W, Z, n, v: both(
        condition(p, W, Z, noise_var=n, code_var=v, per_column=True)
    ),
    "condition_prefixes": lambda p, W, Z, n, v: both(
        condition_prefixes(p, W, Z, noise_var=n, code_var=v[:, 0])
    ),
    "predict_next": lambda p, W, Z, n, v: tuple(
        predict_next(p, W, Z, W.flip(0), noise_var=n, code_var=v[:, 0])
    ),
    "predict": lambda p, W, Z, n, v: tuple(predict(p, W, noise_var=n)),
    "recall": lambda p, W, Z, n, v: recall(p, W),
    "log_evidence": lambda p, W, Z, n, v: log_evidence(p, W, Z, noise_var=n, code_var=v[:, 0]),
    "memory_kl": lambda p, W, Z, n, v: memory_kl(condition(p, W, Z, noise_var=n), p),
    "log_prob": lambda p, W, Z, n, v: log_prob(p, W.mT @ Z),
    "sample_memory": lambda p, W, Z, n, v: sample_memory(
        p, generator=torch.Generator().manual_seed(0)
    ),
}


def check(function: Callable[..., Inputs | Tensor], kind: str, num_items: int) -> None:
    case = random_case(num_items=num_items, seed=4)
    root = 0.3 * random_case(num_items=K, seed=6).weights
    noise = torch.tensor(0.8, dtype=torch.float64)
    inputs = (case.mean, root, *case.episode, noise, random_var(num_items, C))
    for tensor in inputs:
        tensor.requires_grad_()

    def through(mean, root, W, Z, noise, v):
        prior = MemoryState(mean, COVARIANCES[kind](root))  # pyright: ignore[reportArgumentType]
        return function(prior, W, Z, noise, v)

    assert torch.autograd.gradcheck(through, inputs)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", COVARIANCES)
def test_gradients(name, kind):
    check(FUNCTIONS[name], kind, num_items=T)


@pytest.mark.parametrize("name", ["condition", "log_evidence", "condition code_var"])
@pytest.mark.parametrize("kind", COVARIANCES)
def test_gradients_with_more_items_than_rows(name, kind):
    check(FUNCTIONS[name], kind, num_items=2 * K + 1)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_gradients_through_evidence(kind):
    def merged(prior, W, Z, noise, v):
        first = Evidence.of(W[:2], Z[:2], noise_var=noise, code_var=v[:2, 0])
        second = Evidence.of(W[2:], Z[2:], noise_var=noise, code_var=v[2:])
        return both((first + second).posterior(prior))

    check(merged, kind, num_items=T)


def test_gradients_reach_float32_inputs():
    """The algebra is float64 inside, but float32 parameters get float32 gradients."""
    case = random_case(dtype=torch.float32)
    W = case.weights.requires_grad_()
    post = condition(case.prior, W, case.codes)
    memory_kl(post, case.prior).backward()
    assert W.grad is not None
    assert W.grad.dtype == torch.float32
    assert W.grad.abs().sum() > 0


@pytest.mark.parametrize("chunk", [None, 1])
@pytest.mark.parametrize(
    "weights",
    [torch.eye(K)[:T], torch.ones(T, K), torch.zeros(T, K), torch.eye(K)[:1].expand(T, K)],
    ids=["orthogonal", "equal", "zero", "repeated"],
)
@pytest.mark.parametrize("through_evidence", [False, True])
def test_low_rank_gradients_are_finite_where_directions_tie(weights, chunk, through_evidence):
    case = random_case(dtype=torch.float32)
    weights = weights.clone().requires_grad_()
    variances = torch.ones(K, requires_grad=True)
    prior = MemoryState(case.mean, LowRankCovariance(variances, rank=2))
    if through_evidence:
        post = Evidence.of(weights, case.codes).posterior(prior)
    else:
        post = condition(prior, weights, case.codes, chunk=chunk)
    (post.mean.sum() + post.cov.square().sum()).backward()
    assert weights.grad is not None
    assert variances.grad is not None
    assert weights.grad.isfinite().all()
    assert variances.grad.isfinite().all()


def test_second_derivatives():
    case = random_case(num_items=2)
    W = case.weights.requires_grad_()
    inputs = (W, case.codes)

    def function(W, Z):
        return condition(case.prior, W, Z).mean

    assert torch.autograd.gradgradcheck(function, inputs)
