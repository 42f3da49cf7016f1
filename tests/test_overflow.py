"""Numbers too large for the algebra: an error or an infinity, never NaN."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch

from kanerva import (
    DiagonalCovariance,
    Evidence,
    KanervaError,
    MemoryState,
    PrecisionWarning,
    condition,
    energy,
    infer_weights,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
    sample_memory,
)

K, C, T = 4, 3, 5
WIDE = torch.float64


def numbers(*shape: int, scale: float = 1.0) -> torch.Tensor:
    drawn = torch.randn(*shape, dtype=WIDE, generator=torch.Generator().manual_seed(0))
    return scale * drawn


def memory(*, mean: float = 1.0, cov: float = 1.0) -> MemoryState:
    return MemoryState(numbers(K, C, scale=mean), cov * torch.eye(K, dtype=WIDE))


def test_measures_become_infinite():
    large = numbers(K, C, scale=1e160)
    assert log_prob(memory(cov=1e-300), large) == -math.inf
    assert memory_kl(memory(), memory(mean=1e300, cov=1e-300)) == math.inf
    assert (energy(memory(mean=1e150), numbers(T, K, scale=1e160), numbers(T, C)) == math.inf).all()
    weights, codes = numbers(T, K, scale=1e80), numbers(T, C, scale=1e300)
    assert log_evidence(memory(cov=1e-300), weights, codes) == -math.inf
    assert log_evidence(memory(cov=1e-300), weights[:2], codes[:2]) == -math.inf


CALLS = {
    "recall": lambda: recall(memory(mean=1e150), numbers(T, K, scale=1e160)),
    "predict": lambda: predict(memory(mean=1e150), numbers(T, K, scale=1e160)),
    "predict, its variance": lambda: predict(memory(), numbers(T, K, scale=1e160)),
    "condition": lambda: condition(
        memory(cov=1e-300), numbers(T, K, scale=1e80), numbers(T, C, scale=1e300)
    ),
    "condition, on-line": lambda: condition(
        memory(cov=1e150), numbers(T, K, scale=1e-80), numbers(T, C, scale=1e300), chunk=1
    ),
    "condition, diagonal": lambda: condition(
        MemoryState(numbers(K, C), DiagonalCovariance(torch.full((K,), 1e150, dtype=WIDE))),
        numbers(T, K, scale=1e-10),
        numbers(T, C, scale=1e300),
    ),
    "posterior": lambda: Evidence.of(
        numbers(T, K, scale=1e-10), numbers(T, C, scale=1e300)
    ).posterior(memory(cov=1e150)),
    "infer_weights": lambda: infer_weights(memory(mean=1e155), numbers(T, C)),
    "sample_memory": lambda: sample_memory(memory(cov=1e300), noise=numbers(K, C, scale=1e200)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::kanerva.JitterWarning", "ignore::kanerva.PrecisionWarning")
def test_memories_and_codes_are_refused(name):
    with pytest.raises(KanervaError, match=r"too large|1e150") as caught:
        CALLS[name]()
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::kanerva.JitterWarning", "ignore::kanerva.PrecisionWarning")
def test_every_scale_gives_numbers_or_an_error():
    """Products of scales from 1e-300 to 1e300: no result has a NaN."""
    scales = (1e-300, 1e-80, 1.0, 1e80, 1e154, 1e300)
    calls: tuple[Callable[..., torch.Tensor], ...] = (
        lambda state, W, Z: recall(state, W),
        lambda state, W, Z: energy(state, W, Z),
        lambda state, W, Z: log_prob(state, Z[:K]),
        lambda state, W, Z: condition(state, W, Z, chunk=1).mean,
        lambda state, W, Z: log_evidence(state, W, Z),
        lambda state, W, Z: infer_weights(state, Z),
    )
    for mean, weight, code in itertools.product(scales, scales, scales):
        W, Z = numbers(T, K, scale=weight), numbers(T, C, scale=code)
        for call in calls:
            try:
                result = call(memory(mean=mean), W, Z)
            except KanervaError:
                continue
            assert not result.isnan().any(), (mean, weight, code)


def test_ordinary_numbers_are_as_before():
    assert memory_kl(memory(), memory()) == 0
    assert energy(memory(), numbers(T, K), numbers(T, C)).isfinite().all()
    gradient = torch.func.grad(lambda w: energy(memory(), w, numbers(T, C)).sum())(numbers(T, K))
    assert gradient.isfinite().all()


@pytest.mark.parametrize(("rows", "size"), [(6, 3), (3, 6)])
@pytest.mark.parametrize("noise_var", [1e-6, 1e-12, 1e-16, 1e-100])
def test_weights_are_exact_however_small_the_noise(rows, size, noise_var):
    """With fewer columns than rows, R R' has eigenvalues of zero."""
    state = MemoryState(numbers(rows, size), torch.eye(rows, dtype=WIDE))
    codes = numbers(5, size)
    exact = codes @ torch.linalg.pinv(state.mean)  # the limit, which is 1e-6 away at most
    found = infer_weights(state, codes, noise_var=noise_var)
    assert (found - exact).abs().max() <= (10 * noise_var + 1e-13) * exact.abs().max()


def test_weights_that_are_rounding_errors_are_announced():
    flat = numbers(5, 2) @ numbers(2, 5)  # rank 2
    state = MemoryState(flat, torch.eye(5, dtype=WIDE))
    with pytest.warns(PrecisionWarning, match=r"the weights .* \|R\|\^2 / noise"):
        infer_weights(state, numbers(3, 5), noise_var=1e-14)
