"""Every closed form against its dense float64 oracle, over batch shapes."""

import pytest
import torch
from torch import Tensor

import oracle
from cases import BATCHES, DEVICES, C, Case, K, T, flatten, random_case, random_var
from kanerva import (
    Evidence,
    MemoryState,
    condition,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
    sample_memory,
)

NOISE = 0.7
every_batch = pytest.mark.parametrize("batch", BATCHES)
every_device = pytest.mark.parametrize("device", DEVICES)


def each(case: Case) -> list[tuple[Tensor, ...]]:
    """The memories of a batch one by one, on the CPU."""
    return list(zip(*(flatten(tensor.cpu(), 2) for tensor in case), strict=True))


def close(value: Tensor, truth: Tensor) -> None:
    torch.testing.assert_close(value.cpu(), truth, rtol=1e-9, atol=1e-9)


def kron_cov(cov: Tensor) -> Tensor:
    return torch.kron(torch.eye(C, dtype=torch.float64), cov)


@every_device
@every_batch
@pytest.mark.parametrize("num_items", [1, T, 3 * K])
@pytest.mark.parametrize("chunk", [None, 1, 2])
def test_condition(batch, device, num_items, chunk):
    case = random_case(batch, num_items=num_items, device=device)
    post = condition(case.prior, *case.episode, noise_var=NOISE, chunk=chunk)
    assert post.mean.shape == (*batch, K, C)
    assert post.cov.shape == (*batch, K, K)
    noise = torch.full((num_items, C), NOISE, dtype=torch.float64)
    means, covs = flatten(post.mean, 2), flatten(post.cov, 2)
    for i, (R, U, W, Z) in enumerate(each(case)):
        mean, cov = oracle.condition(R, U, W, Z, noise)
        close(means[i], mean)
        close(kron_cov(covs[i].cpu()), cov)


@every_batch
@pytest.mark.parametrize("num_items", [T, 3 * K])
def test_evidence_posterior(batch, num_items):
    case = random_case(batch, num_items=num_items)
    post = Evidence.of(*case.episode, noise_var=NOISE).posterior(case.prior)
    noise = torch.full((num_items, C), NOISE, dtype=torch.float64)
    means, covs = flatten(post.mean, 2), flatten(post.cov, 2)
    for i, (R, U, W, Z) in enumerate(each(case)):
        mean, cov = oracle.condition(R, U, W, Z, noise)
        close(means[i], mean)
        close(kron_cov(covs[i]), cov)


@every_batch
@pytest.mark.parametrize("num_items", [T, 3 * K])
def test_condition_with_a_variance_per_item(batch, num_items):
    case = random_case(batch, num_items=num_items)
    code_var = random_var(*batch, num_items)
    post = condition(case.prior, *case.episode, noise_var=NOISE, code_var=code_var)
    by_evidence = Evidence.of(*case.episode, noise_var=NOISE, code_var=code_var)
    means, covs = flatten(post.mean, 2), flatten(post.cov, 2)
    close(by_evidence.posterior(case.prior).mean, post.mean)
    for i, (R, U, W, Z) in enumerate(each(case)):
        noise = (NOISE + flatten(code_var, 1)[i])[:, None].expand(-1, C)
        mean, cov = oracle.condition(R, U, W, Z, noise)
        close(means[i], mean)
        close(kron_cov(covs[i]), cov)


@every_batch
@pytest.mark.parametrize("num_items", [T, 3 * K])
@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_condition_with_a_variance_per_item_and_dimension(batch, num_items, chunk):
    """Exact with `per_column`, and every function of the memory works on the result."""
    case = random_case(batch, num_items=num_items)
    code_var = random_var(*batch, num_items, C)
    options = {"noise_var": NOISE, "code_var": code_var, "per_column": True}
    post = condition(case.prior, *case.episode, chunk=chunk, **options)
    assert post.mean.shape == (*batch, K, C)
    assert post.cov.shape == (*batch, C, K, K)
    cues = random_case(batch, seed=3).weights
    prediction = predict(post, cues, noise_var=NOISE)
    assert prediction.var.shape == (*batch, T, C)
    nats = memory_kl(post, case.prior).reshape(-1)
    evidence = log_evidence(case.prior, *case.episode, **options).reshape(-1)
    samples = sample_memory(post, generator=torch.Generator().manual_seed(0))
    densities = log_prob(post, samples).reshape(-1)
    for i, (R, U, W, Z) in enumerate(each(case)):
        noise = NOISE + flatten(code_var, 2)[i]
        mean, cov = oracle.condition(R, U, W, Z, noise)
        close(flatten(post.mean, 2)[i], mean)
        close(torch.block_diag(*flatten(post.cov, 3)[i]), cov)
        close(nats[i], oracle.kl(mean, cov, R, kron_cov(U)))
        close(evidence[i], oracle.log_evidence(R, U, W, Z, noise))
        means, variances = oracle.predict(mean, cov, flatten(cues, 2)[i], NOISE)
        close(flatten(prediction.mean, 2)[i], means)
        close(flatten(prediction.var, 2)[i], variances)
        M = flatten(samples, 2)[i]
        close(densities[i], oracle.gaussian_log_prob(oracle.vec(M), oracle.vec(mean), cov))


def test_per_column_memories_can_be_written_again():
    """A memory whose columns differ takes more items, and evidence, like every other memory."""
    case = random_case(num_items=6)
    code_var = random_var(6, C)
    first, second = slice(0, 4), slice(4, 6)
    W, Z = case.episode
    half = condition(case.prior, W[first], Z[first], code_var=code_var[first], per_column=True)
    both = condition(half, W[second], Z[second], code_var=code_var[second])
    once = condition(case.prior, W, Z, code_var=code_var, per_column=True)
    close(both.mean, once.mean)
    close(both.cov, once.cov)
    certain = condition(half, W[second], Z[second])
    merged = Evidence.of(W[second], Z[second]).posterior(half)
    close(merged.mean, certain.mean)
    close(merged.cov, certain.cov)


@every_batch
def test_shared_covariance_is_the_nearest_to_the_exact_posterior(batch):
    """The default for (..., T, C) averages precisions, which is best in KL(shared || exact)."""
    case = random_case(batch, num_items=6)
    code_var = random_var(*batch, 6, C)
    exact = condition(case.prior, *case.episode, code_var=code_var, per_column=True)
    shared = condition(case.prior, *case.episode, code_var=code_var)

    def distance(cov: Tensor) -> Tensor:
        return memory_kl(MemoryState(exact.mean, cov), exact)

    best = distance(shared.cov)
    for factor in (0.9, 1.1):
        assert (distance(shared.cov * factor) > best).all()
    arithmetic = condition(case.prior, *case.episode, code_var=code_var.mean(-1))
    assert (distance(arithmetic.cov) > best).all()


@every_device
@every_batch
def test_predict_and_recall(batch, device):
    case = random_case(batch, device=device)
    prediction = predict(case.prior, case.weights, noise_var=NOISE)
    assert prediction.mean.shape == (*batch, T, C)
    assert prediction.var.shape == (*batch, T)
    close(recall(case.prior, case.weights), prediction.mean.cpu())
    for i, (R, U, W, _) in enumerate(each(case)):
        mean, var = oracle.predict(R, kron_cov(U), W, NOISE)
        close(flatten(prediction.mean, 2)[i], mean)
        close(flatten(prediction.var, 1)[i][:, None].expand(-1, C), var)


@every_device
@every_batch
def test_log_prob_and_kl(batch, device):
    case = random_case(batch, device=device)
    other = random_case(batch, seed=9, device=device)
    density = log_prob(case.prior, other.mean).reshape(-1)
    nats = memory_kl(case.prior, other.prior).reshape(-1)
    for i, ((R, U, *_), (R0, U0, *_)) in enumerate(zip(each(case), each(other), strict=True)):
        close(density[i], oracle.log_prob(R, U, R0))
        close(nats[i], oracle.kl(R, kron_cov(U), R0, kron_cov(U0)))


@every_device
@every_batch
@pytest.mark.parametrize("num_items", [1, T, 3 * K + 1])
@pytest.mark.parametrize("uncertain", [False, True])
def test_log_evidence(batch, device, num_items, uncertain):
    case = random_case(batch, num_items=num_items, device=device)
    code_var = random_var(*batch, num_items).to(device) if uncertain else None
    value = log_evidence(case.prior, *case.episode, noise_var=NOISE, code_var=code_var)
    assert value.shape == batch
    for i, (R, U, W, Z) in enumerate(each(case)):
        noise = torch.full((num_items, C), NOISE, dtype=torch.float64)
        if code_var is not None:
            noise = noise + flatten(code_var.cpu(), 1)[i][:, None]
        close(value.reshape(-1)[i], oracle.log_evidence(R, U, W, Z, noise))


@every_device
@every_batch
def test_samples_have_the_right_moments(batch, device):
    num_samples = 40_000
    case = random_case(batch, device=device)
    many = MemoryState(
        case.mean.expand(num_samples, *batch, K, C), case.cov.expand(num_samples, *batch, K, K)
    )
    generator = torch.Generator(device=device).manual_seed(0)
    samples = sample_memory(many, generator=generator)
    assert samples.shape == (num_samples, *batch, K, C)
    mean = samples.mean(0)
    error = samples - mean
    cov = torch.einsum("n...kc,n...lc->...kl", error, error) / (num_samples * C)
    # tolerances: five standard errors of a mean and of a second moment
    largest = case.cov.abs().max().item()
    torch.testing.assert_close(mean, case.mean, rtol=0, atol=5 * (largest / num_samples) ** 0.5)
    tolerance = 5 * (2 / (num_samples * C)) ** 0.5 * largest
    torch.testing.assert_close(cov, case.cov, rtol=0, atol=tolerance)


def test_samples_repeat_with_their_seed():
    case = random_case((4,))
    draws = [
        sample_memory(case.prior, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    ]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_one_prior_serves_a_batch_of_episodes():
    prior = random_case().prior
    case = random_case((3, 2))
    post = condition(prior, *case.episode)
    alone = condition(prior, case.weights[1, 0], case.codes[1, 0])
    close(post.mean[1, 0], alone.mean)
    close(post.cov[1, 0], alone.cov)
    shared_weights = condition(prior, case.weights[0, 0], case.codes)
    close(shared_weights.mean[2, 1], condition(prior, case.weights[0, 0], case.codes[2, 1]).mean)
    assert shared_weights.cov.shape == (3, 2, K, K)
    for num_items in (T, 3 * K):
        many = random_case((3, 2), num_items=num_items)
        shared = condition(prior, many.weights[0, 0], many.codes)
        assert predict(shared, case.weights[0, 0]).var.shape == (3, 2, T)
        assert predict(shared, case.weights).var.shape == (3, 2, T)
    again = condition(shared_weights, *case.episode)
    close(again.mean[1, 0], condition(shared_weights, *case.episode, chunk=1).mean[1, 0])


def test_reading_in_blocks_changes_nothing():
    """More rows of weights than one block, against the plain product."""
    case = random_case((2,), num_items=10_000, dtype=torch.float32)
    prediction = predict(case.prior, case.weights)
    W, U = case.weights.double(), case.cov.double()
    close(prediction.mean, (W @ case.mean.double()).float())
    truth = torch.einsum("btk,bkl,btl->bt", W, U, W) + 1
    torch.testing.assert_close(prediction.var, truth.float())
