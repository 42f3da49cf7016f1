"""What must hold for any memory and any episode (hypothesis), in float64 to 1e-9."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from cases import BATCHES, Case, assert_same_memory, random_case
from kanerva import Evidence, condition, log_evidence, memory_kl, predict

NOISE = 0.5


@st.composite
def any_case(draw: st.DrawFn, min_items: int = 1) -> Case:
    return random_case(
        draw(st.sampled_from(BATCHES)),
        num_items=draw(st.integers(min_items, 12)),
        num_rows=draw(st.integers(1, 7)),
        code_size=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 10**6)),
        scale=draw(st.sampled_from([1e-3, 1.0, 10.0])),
    )


seeds = st.integers(0, 10**6)


@given(any_case(), seeds)
def test_order_does_not_matter(case, seed):
    order = torch.randperm(case.weights.shape[-2], generator=torch.Generator().manual_seed(seed))
    shuffled = case.weights[..., order, :], case.codes[..., order, :]
    for chunk in (None, 1):
        post = condition(case.prior, *case.episode, noise_var=NOISE, chunk=chunk)
        assert_same_memory(post, condition(case.prior, *shuffled, noise_var=NOISE, chunk=chunk))


@given(any_case(), st.integers(1, 12))
def test_batch_is_online_is_chunks_is_merged_evidence(case, chunk):
    batch = condition(case.prior, *case.episode, noise_var=NOISE)
    assert_same_memory(batch, condition(case.prior, *case.episode, noise_var=NOISE, chunk=1))
    assert_same_memory(batch, condition(case.prior, *case.episode, noise_var=NOISE, chunk=chunk))
    shards = zip(case.weights.split(chunk, -2), case.codes.split(chunk, -2), strict=True)
    merged = sum(Evidence.of(w, z, noise_var=NOISE) for w, z in shards)
    assert isinstance(merged, Evidence)
    assert merged.count == case.weights.shape[-2]
    assert_same_memory(batch, merged.posterior(case.prior))


@given(any_case())
def test_covariance_is_symmetric_positive_definite_and_shrinks(case):
    post = condition(case.prior, *case.episode, noise_var=NOISE)
    assert torch.equal(post.cov, post.cov.mT)
    assert torch.linalg.eigvalsh(post.cov).min() > 0
    shrunk = torch.linalg.eigvalsh(case.cov - post.cov)
    assert shrunk.min() > -1e-9 * case.cov.abs().max()
    # It shrinks where it was written: the memory is more certain about its own items.
    before = predict(case.prior, case.weights, noise_var=NOISE).var
    after = predict(post, case.weights, noise_var=NOISE).var
    drop = before - after
    assert (drop > -1e-12 * before).all()
    assert (drop[case.weights.norm(dim=-1) > 0.1] > 0).all()
    assert (after >= NOISE).all()


@given(any_case())
def test_kl_is_not_negative_and_grows_from_zero(case):
    post = condition(case.prior, *case.episode, noise_var=NOISE)
    assert (memory_kl(post, case.prior) > 0).all()
    assert (memory_kl(case.prior, post) > 0).all()
    unwritten = condition(case.prior, case.weights[..., :0, :], case.codes[..., :0, :])
    torch.testing.assert_close(
        memory_kl(unwritten, case.prior),
        torch.zeros(case.mean.shape[:-2], dtype=torch.float64),
        rtol=0,
        atol=1e-12,
    )


@given(any_case(min_items=2), st.data())
def test_forgetting_is_never_having_written(case, data):
    kept = data.draw(st.integers(0, case.weights.shape[-2] - 1))
    W, Z = case.episode
    everything = Evidence.of(W, Z, noise_var=NOISE)
    regretted = Evidence.of(W[..., kept:, :], Z[..., kept:, :], noise_var=NOISE)
    never = condition(case.prior, W[..., :kept, :], Z[..., :kept, :], noise_var=NOISE)
    left = everything - regretted
    assert left.count == kept
    # The rounding error of a subtraction is relative to what was subtracted.
    tolerance = 1e-9 * max(1.0, everything.gram.abs().max().item())
    assert_same_memory(left.posterior(case.prior), never, tolerance)


@given(any_case(min_items=2), st.data())
def test_evidence_obeys_the_chain_rule(case, data):
    """log p(Z1, Z2) = log p(Z1) + log p(Z2 | Z1)."""
    cut = data.draw(st.integers(1, case.weights.shape[-2] - 1))
    W, Z = case.episode
    whole = log_evidence(case.prior, W, Z, noise_var=NOISE)
    first = log_evidence(case.prior, W[..., :cut, :], Z[..., :cut, :], noise_var=NOISE)
    then = condition(case.prior, W[..., :cut, :], Z[..., :cut, :], noise_var=NOISE)
    second = log_evidence(then, W[..., cut:, :], Z[..., cut:, :], noise_var=NOISE)
    torch.testing.assert_close(whole, first + second, rtol=1e-9, atol=1e-9)


@given(any_case())
def test_evidence_is_what_bayes_rule_says(case):
    """log p(Z) = E_q[log p(Z | M)] - KL(q || p) for the exact posterior q: the bound is tight."""
    post = condition(case.prior, *case.episode, noise_var=NOISE)
    prediction = predict(post, case.weights, noise_var=NOISE)
    spread = (prediction.var - NOISE)[..., None]
    expected = -0.5 * (
        ((case.codes - prediction.mean).square() + spread) / NOISE
        + torch.tensor(2 * torch.pi * NOISE, dtype=torch.float64).log()
    ).sum((-2, -1))
    bound = expected - memory_kl(post, case.prior)
    truth = log_evidence(case.prior, *case.episode, noise_var=NOISE)
    torch.testing.assert_close(bound, truth, rtol=1e-7, atol=1e-7)
