"""Weights so large, or noise so small, that float64 has no digits left: what is said about it."""

import warnings

import pytest
import torch

from cases import DEVICES, random_case
from kanerva import (
    DiagonalCovariance,
    Evidence,
    LowRankCovariance,
    MemoryState,
    PrecisionWarning,
    condition,
    condition_prefixes,
    predict,
)
from kanerva.memory.prefixes import predict_next

F64 = torch.float64
K, C = 4, 2
EXTREME = [(1.0, 1e-16), (100.0, 1e-12), (1e8, 1.0)]


def items(num: int, *, scale: float = 1.0, device: str = "cpu"):
    generator = torch.Generator().manual_seed(0)
    W = scale * torch.randn(num, K, generator=generator, dtype=F64)
    return W.to(device), torch.randn(num, C, generator=generator, dtype=F64).to(device)


def prior(device: str = "cpu") -> MemoryState:
    return MemoryState(torch.zeros(K, C, dtype=F64), torch.eye(K, dtype=F64)).to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize(("scale", "noise_var"), EXTREME)
def test_a_variance_is_never_below_the_noise(scale, noise_var, per_column, device):
    W, Z = items(3, scale=scale, device=device)
    memory = condition(prior(device), W, Z, noise_var=noise_var, per_column=per_column)
    with pytest.warns(PrecisionWarning, match="variance that is read"):
        prediction = predict(memory, W, noise_var=noise_var)
    assert (prediction.var >= noise_var).all()
    assert prediction.distribution().log_prob(Z).isfinite().all()


def test_in_float32():
    W, Z = (part.float() for part in items(3, scale=1e3))
    empty = prior().to(torch.float32)
    memory = condition(empty, W, Z, noise_var=1e-12)
    with pytest.warns(PrecisionWarning):
        assert (predict(memory, W, noise_var=1e-12).var > 0).all()


def test_one_warning_for_many_memories():
    W, Z = items(3, scale=1e8)
    memory = condition(prior(), W, Z.expand(5, -1, -1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predict(memory, W)
    assert [one.category for one in caught] == [PrecisionWarning]


def test_inside_vmap():
    W, Z = items(3, scale=1e8)
    memory = condition(prior(), W, Z)
    with pytest.warns(PrecisionWarning):
        torch.func.vmap(lambda w: predict(memory, w[None]).var)(W)


@pytest.mark.parametrize("scale", [1e8, 1e9])
@pytest.mark.parametrize(
    "write",
    [
        lambda W, Z: condition(prior(), W, Z, chunk=1),
        lambda W, Z: condition(prior(), W[:1].expand(3, -1), Z),
        lambda W, Z: condition_prefixes(prior(), W, Z),
        lambda W, Z: Evidence.of(W, Z).posterior(prior()),
        lambda W, Z: predict_next(prior(), W, Z, W[[1, 0, 0]]),
    ],
)
@pytest.mark.filterwarnings("ignore::kanerva.JitterWarning")
def test_what_may_be_wrong_gives_a_warning(write, scale):
    with pytest.warns(PrecisionWarning, match="rounding errors"):
        write(*items(3, scale=scale))


@pytest.mark.parametrize("num_items", [3, 8])
@pytest.mark.parametrize(("scale", "noise_var"), [*EXTREME, (1e150, 1.0)])
def test_an_episode_at_once_is_exact_and_gives_no_warning(num_items, scale, noise_var):
    """Different addresses do not need the digits: the noise is as good as zero."""
    W, Z = items(num_items, scale=scale)
    memory = condition(prior(), W, Z, noise_var=noise_var)
    least_squares = torch.linalg.pinv(W / scale) @ Z / scale
    torch.testing.assert_close(memory.mean * scale, least_squares * scale)


@pytest.mark.parametrize(
    "cov", [torch.eye(K), DiagonalCovariance(torch.ones(K)), LowRankCovariance(torch.ones(K), 2)]
)
def test_nearly_no_noise_gives_no_warning(cov):
    W, Z = (part.float() for part in items(3))
    empty = MemoryState(torch.zeros(K, C), cov)
    for chunk in (None, 1):
        predict(condition(empty, W, Z, noise_var=1e-12, chunk=chunk), W, noise_var=1e-12)


def test_the_covariance_bounds_its_variances():
    W, Z = random_case(num_items=3).episode
    num_rows = W.shape[-1]
    full = torch.eye(num_rows, dtype=F64)
    kinds = (full, DiagonalCovariance(full.diagonal()), LowRankCovariance(full.diagonal(), 4))
    for kind in kinds:
        empty = MemoryState(torch.zeros(num_rows, Z.shape[-1], dtype=F64), kind)
        row_cov = condition(empty, W, Z).row_cov
        assert row_cov.largest_variance() >= row_cov.dense().diagonal().max()


def test_gradients_are_untouched():
    W, Z = items(3)
    memory = condition(prior(), W, Z)
    assert torch.autograd.gradcheck(lambda w: predict(memory, w).var, W.requires_grad_())
