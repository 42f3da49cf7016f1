"""Prefixes of an episode against dense oracles, on-line writing and `predict`, in float64."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from cases import BATCHES, C, K, T, assert_same_memory, flatten, random_case, random_var
from kanerva import (
    DiagonalCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    condition,
    condition_prefixes,
    predict,
)
from kanerva.memory.prefixes import predict_next

NOISE = 0.3
WHERE_CODE_VAR = {"none": None, "number": (), "items": (T,), "entries": (T, C)}


def code_var_of(name: str, batch: tuple[int, ...]) -> Tensor | None:
    shape = WHERE_CODE_VAR[name]
    if shape is None:
        return None
    return random_var(*batch, *shape) if shape else random_var(1)[0]


def at_prefix(states: MemoryState, number: int) -> tuple[Tensor, Tensor]:
    """Mean and covariance after `number` items."""
    dim = len(states.batch_shape) - 1
    return states.mean.select(dim, number), states.cov.select(dim, number)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", ["none", "number", "items"])
def test_each_prefix_is_the_dense_posterior(batch, kind):
    case, code_var = random_case(batch), code_var_of(kind, batch)
    states = condition_prefixes(case.prior, *case.episode, noise_var=NOISE, code_var=code_var)
    assert states.batch_shape == (*batch, T + 1)
    total = torch.as_tensor(NOISE if code_var is None else NOISE + code_var, dtype=torch.float64)
    noise = total[..., None].expand(*batch, T, C) if total.dim() else total.expand(*batch, T, C)
    parts = [flatten(part, 2) for part in (*case, noise)]
    for number in range(T + 1):
        mean, cov = (flatten(part, 2) for part in at_prefix(states, number))
        for one, (R, U, W, Z, n) in enumerate(zip(*parts, strict=True)):
            truth, dense = oracle.condition(R, U, W[:number], Z[:number], n[:number])
            torch.testing.assert_close(mean[one], truth, rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(cov[one], dense[:K, :K], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", WHERE_CODE_VAR)
@pytest.mark.parametrize("per_column", [False, True])
def test_prefixes_are_the_online_chain(batch, kind, per_column):
    case, code_var = random_case(batch), code_var_of(kind, batch)
    options = {"noise_var": NOISE, "per_column": per_column}
    states = condition_prefixes(case.prior, *case.episode, code_var=code_var, **options)
    assert states.per_column == per_column
    memory = condition(
        case.prior, case.weights[..., :0, :], case.codes[..., :0, :], per_column=per_column
    )
    for number in range(T + 1):
        mean, cov = at_prefix(states, number)
        torch.testing.assert_close(mean, memory.mean, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(
            cov, memory.cov.expand_as(cov) if number == 0 else memory.cov, rtol=1e-9, atol=1e-9
        )
        if number < T:
            item = slice(number, number + 1)
            one = code_var
            if one is not None and one.dim():
                one = one[..., item, :] if kind == "entries" else one[..., item]
            memory = condition(
                memory,
                case.weights[..., item, :],
                case.codes[..., item, :],
                code_var=one,
                **options,
            )


@given(st.integers(0, 10**6), st.sampled_from(BATCHES), st.integers(1, 12), st.integers(1, 7))
def test_last_prefix_is_condition_and_order_matters_only_before(seed, batch, num_items, num_rows):
    case = random_case(batch, num_items=num_items, num_rows=num_rows, seed=seed)
    states = condition_prefixes(case.prior, *case.episode, noise_var=NOISE)
    mean, cov = at_prefix(states, num_items)
    whole = condition(case.prior, *case.episode, noise_var=NOISE)
    assert_same_memory(MemoryState(mean, cov), whole)
    first = at_prefix(states, 0)
    torch.testing.assert_close(first[0], case.mean, rtol=1e-12, atol=1e-12)
    var = states.cov.diagonal(dim1=-2, dim2=-1)
    assert (var.diff(dim=-2) <= 1e-9).all(), "what was written is never known less"


@given(
    st.integers(0, 10**6),
    st.sampled_from(BATCHES),
    st.integers(1, 12),
    st.sampled_from([1e-3, 1.0, 10.0]),
)
def test_fast_prediction_is_prefixes_and_predict(seed, batch, num_items, scale):
    case = random_case(batch, num_items=num_items, seed=seed, scale=scale)
    readers = random_case(batch, num_items=num_items, seed=seed + 1, scale=scale).weights
    code_var = random_var(*batch, num_items)
    options = {"noise_var": NOISE, "code_var": code_var}
    fast = predict_next(case.prior, *case.episode, readers, **options)
    states = condition_prefixes(case.prior, *case.episode, **options)
    for number in range(num_items):
        memory = MemoryState(*at_prefix(states, number))
        slow = predict(memory, readers[..., number : number + 1, :], noise_var=NOISE)
        for left, right in (
            (fast.mean[..., number, :], slow.mean[..., 0, :]),
            (fast.var[..., number], slow.var[..., 0]),
        ):
            torch.testing.assert_close(left, right, rtol=1e-8, atol=1e-8)


def test_two_sets_of_readers_share_one_factorisation():
    case = random_case((3,))
    readers = torch.stack([case.weights.flip(-2), case.weights])
    both = predict_next(case.prior, *case.episode, readers)
    assert both.mean.shape == (2, 3, T, C)
    for one in range(2):
        alone = predict_next(case.prior, *case.episode, readers[one])
        torch.testing.assert_close(both.mean[one], alone.mean)
        torch.testing.assert_close(both.var[one], alone.var)


@pytest.mark.parametrize(
    "cov", [DiagonalCovariance(torch.ones(K)), LowRankCovariance(torch.ones(K), rank=3)]
)
def test_other_covariances_are_those_of_one_write(cov):
    case = random_case(dtype=torch.float32)
    prior = MemoryState(case.mean, cov)
    states = condition_prefixes(prior, *case.episode)
    for number in range(1, T + 1):
        once = condition(prior, case.weights[:number], case.codes[:number])
        mean, dense = at_prefix(states, number)
        torch.testing.assert_close(mean, once.mean, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(dense, once.cov, rtol=1e-4, atol=1e-4)


def test_empty_episode_gives_the_prior():
    case = random_case((2,), num_items=0)
    states = condition_prefixes(case.prior, *case.episode)
    assert states.batch_shape == (2, 1)
    torch.testing.assert_close(states.mean[:, 0], case.mean)
    assert predict_next(case.prior, *case.episode, case.weights).var.shape == (2, 0)


def test_float32_goes_in_and_comes_out():
    case = random_case(dtype=torch.float32)
    assert condition_prefixes(case.prior, *case.episode).mean.dtype == torch.float32
    assert predict_next(case.prior, *case.episode, case.weights).mean.dtype == torch.float32


@pytest.mark.parametrize("function", [condition_prefixes, predict_next])
def test_mistakes(function):
    case = random_case()
    extra = (case.weights,) if function is predict_next else ()
    with pytest.raises(KanervaError, match="codes"):
        function(case.prior, case.weights, case.codes[:2], *extra)
    with pytest.raises(KanervaError, match="prior"):
        function(case.mean, *case.episode, *extra)
    with pytest.raises(KanervaError, match="noise_var"):
        function(case.prior, *case.episode, *extra, noise_var=-1.0)
    if extra:
        with pytest.raises(KanervaError, match="read_weights"):
            predict_next(case.prior, *case.episode, case.weights[:2])
        columns = condition(case.prior, *case.episode, per_column=True)
        with pytest.raises(KanervaError, match="share one covariance"):
            predict_next(columns, *case.episode, case.weights)
