"""How full a memory is: 1 - tr(U U0^-1) / K, against a dense inverse, and what must hold for it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cases import BATCHES, C, Case, K, flatten, random_case, random_var
from kanerva import (
    DiagonalCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    condition,
    fill,
)
from kanerva.memory import RowCovariance

F64 = torch.float64
KINDS = ["full", "diagonal", "low rank"]
every_batch = pytest.mark.parametrize("batch", BATCHES)
every_kind = pytest.mark.parametrize("kind", KINDS)


def prior_of(case: Case, kind: str, *, rank: int = 99) -> MemoryState:
    batch, num_rows = case.mean.shape[:-2], case.mean.shape[-2]
    variances = random_var(*batch, num_rows)
    covariances: dict[str, torch.Tensor | RowCovariance] = {
        "full": case.cov,
        "diagonal": DiagonalCovariance(variances),
        "low rank": LowRankCovariance(variances, rank=rank),
    }
    return MemoryState(case.mean, covariances[kind])


def dense_fill(cov: torch.Tensor, prior_cov: torch.Tensor) -> torch.Tensor:
    return 1 - (cov @ torch.linalg.inv(prior_cov)).trace() / len(cov)


def close(value: torch.Tensor, truth: torch.Tensor) -> None:
    torch.testing.assert_close(value, truth, rtol=1e-9, atol=1e-12)


@every_kind
@every_batch
def test_fill_is_the_dense_formula(batch, kind):
    case = random_case(batch)
    prior = prior_of(case, kind)
    post = condition(prior, *case.episode, noise_var=0.7)
    share = fill(post, prior)
    assert share.shape == batch
    covs, prior_covs = flatten(post.cov, 2), flatten(prior.cov, 2)
    for i, value in enumerate(share.reshape(-1)):
        close(value, dense_fill(covs[i], prior_covs[i]))


@every_kind
@every_batch
def test_columns_with_covariances_of_their_own_are_averaged(batch, kind):
    case = random_case(batch)
    prior = prior_of(case, kind)
    post = condition(prior, *case.episode, code_var=random_var(*batch, 4, C), per_column=True)
    share = fill(post, prior)
    assert share.shape == batch
    covs, prior_covs = flatten(post.cov, 3), flatten(prior.cov, 2)
    for i, value in enumerate(share.reshape(-1)):
        columns = torch.stack([dense_fill(covs[i][c], prior_covs[i]) for c in range(C)])
        close(value, columns.mean())
    again = condition(post, *case.episode)
    assert (fill(again, post) > 0).all()


@every_kind
@given(
    st.sampled_from(BATCHES),
    st.integers(1, 7),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.sampled_from([0.1, 1.0, 30.0]),
)
def test_fill_starts_at_zero_rises_with_every_write_and_stays_below_one(
    kind, batch, num_rows, num_items, seed, scale
):
    case = random_case(batch, num_rows=num_rows, num_items=5 * num_items, seed=seed, scale=scale)
    memory = prior = prior_of(case, kind)
    before = fill(prior, prior)
    close(before, torch.zeros(batch, dtype=F64))
    for W, Z in zip(
        case.weights.split(num_items, -2), case.codes.split(num_items, -2), strict=True
    ):
        memory = condition(memory, W, Z)
        now = fill(memory, prior)
        assert (now > before).all()
        assert (now < 1).all()
        before = now


def test_one_row_of_n_that_is_half_known():
    prior = MemoryState(torch.zeros(4, 2), torch.eye(4))
    post = condition(prior, torch.eye(4)[:1], torch.ones(1, 2), noise_var=1.0)
    assert fill(post, prior).item() == 0.5 / 4
    assert fill(post, prior).dtype == torch.float32


def test_the_codes_do_not_matter():
    case = random_case()
    posts = [condition(case.prior, case.weights, factor * case.codes) for factor in (0, 1000)]
    assert torch.equal(*(fill(post, case.prior) for post in posts))


def test_episodes_that_share_weights_have_a_fill_each():
    case = random_case((3, 2))
    prior = random_case().prior
    post = condition(prior, case.weights[0, 0], case.codes)
    assert fill(post, prior).shape == (3, 2)


def test_a_gradient_reaches_the_weights():
    case = random_case()
    W = case.weights.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda W: fill(condition(case.prior, W, case.codes), case.prior), (W,)
    )


def test_mistakes():
    case = random_case()
    post = condition(case.prior, *case.episode)
    with pytest.raises(KanervaError, match="rows K"):
        fill(post, random_case(num_rows=K + 1).prior)
    with pytest.raises(KanervaError, match="float64"):
        fill(post, case.prior.to(torch.float32))
    with pytest.raises(KanervaError, match="MemoryState"):
        fill(post, case.cov)  # pyright: ignore[reportArgumentType]
    with pytest.raises(KanervaError, match="broadcast"):
        fill(random_case((3,)).prior, random_case((2,)).prior)
    with pytest.raises(KanervaError, match=r"fill\(posterior, prior\)") as caught:
        fill(case.prior, post)
    assert caught.value.argument == "posterior"


def test_a_low_rank_covariance_may_forget_what_it_knew():
    """It drops directions to keep its rank, so it may be less certain than before the write."""
    for seed in range(200):
        case = random_case(num_rows=4, num_items=6, seed=seed, scale=10.0)
        memory = prior_of(case, "low rank", rank=1)
        for W, Z in zip(case.weights.split(1), case.codes.split(1), strict=True):
            before, memory = memory, condition(memory, W, Z)
            close(fill(memory, before), dense_fill(memory.cov, before.cov))
