"""Memories inside torch.func transforms: as arguments and results, with checks, in networks."""

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from cases import C, K, T, random_case
from kanerva import (
    Evidence,
    JitterWarning,
    KanervaError,
    MemoryState,
    NotPositiveDefiniteError,
    condition,
    linalg,
    log_evidence,
    predict,
    recall,
    sample_memory,
)
from transform_cases import COVARIANCES, F64, B, assert_same, memory

every_kind = pytest.mark.parametrize("kind", COVARIANCES)
many = random_case((B,))
one = random_case()


@every_kind
@pytest.mark.parametrize("per_column", [False, True])
def test_memories_go_in_and_out_of_vmap(kind, per_column):
    """A memory is a tree of tensors: the mapped dimension is the first of its batch."""
    prior = memory(one.mean, one.cov, kind)
    posts = vmap(lambda W, Z: condition(prior, W, Z, per_column=per_column))(*many.episode)
    plain = condition(prior, *many.episode, per_column=per_column)
    assert isinstance(posts, MemoryState)
    assert posts.batch_shape == (B,)
    assert posts.per_column == per_column
    assert type(posts.row_cov) is type(prior.row_cov)
    assert_same(posts.mean, plain.mean)
    assert_same(posts.cov, plain.cov)
    recalled = vmap(recall)(posts, many.weights)
    assert_same(recalled, recall(plain, many.weights))
    shared = vmap(recall, in_dims=(0, None))(posts, one.weights)
    assert_same(shared, recall(plain, one.weights))


def test_episodes_that_share_a_covariance_are_mapped_right():
    """The covariance of such memories has fewer leading dimensions than their mean."""
    square = random_case((K,), num_rows=K)  # as many memories as rows: a wrong split would fit
    shared = condition(one.prior, one.weights, square.codes)
    var = vmap(lambda m, W: predict(m, W).var)(shared, square.weights)
    assert_same(var, predict(shared, square.weights).var)


def test_a_shared_covariance_is_refused_where_it_cannot_be_expanded():
    shared = condition(one.prior, one.weights, many.codes)

    def loss(memory: MemoryState) -> Tensor:
        return recall(memory, one.weights).sum()

    with pytest.raises(KanervaError, match="MemoryState") as caught:
        grad(loss)(shared)
    assert caught.value.argument == "memory"
    grad(loss)(MemoryState(shared.mean, shared.cov))


def test_a_gradient_of_a_memory_is_a_memory_of_gradients():
    def loss(prior: MemoryState) -> Tensor:
        return recall(condition(prior, *one.episode), one.weights).square().sum()

    gradient = grad(loss)(one.prior)
    mean = one.mean.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(MemoryState(mean, one.cov)), mean)
    assert_same(gradient._mean, expected)


@pytest.mark.parametrize("transform", [vmap, lambda f: grad(lambda *a: f(*a).sum())])
def test_values_are_still_checked(transform):
    def write(W: Tensor, Z: Tensor) -> Tensor:
        return condition(one.prior, W, Z).mean

    episode = many.episode if transform is vmap else one.episode
    transform(write)(*episode)
    poisoned = episode[0].clone()
    poisoned[..., 1, 2] = torch.nan
    with pytest.raises(KanervaError, match="NaN or Inf") as caught:
        transform(write)(poisoned, episode[1])
    assert caught.value.argument == "weights"
    with pytest.raises(KanervaError, match="code size C"):
        transform(write)(episode[0], episode[1][..., 1:])


def test_values_of_one_memory_of_the_batch_are_checked():
    covs = many.cov.clone()
    covs[1, 0, 0] = -1
    with pytest.raises(KanervaError, match="positive definite"):
        vmap(lambda mean, cov: MemoryState(mean, cov).mean)(many.mean, covs)
    noise = torch.tensor([1.0, 0.0, 1.0], dtype=F64)
    with pytest.raises(KanervaError, match="noise_var"):
        vmap(lambda W, n: predict(one.prior, W, noise_var=n).var)(many.weights, noise)
    with pytest.raises(KanervaError, match="code_var"):
        vmap(lambda W, Z, v: condition(one.prior, W, Z, code_var=v).mean)(
            *many.episode, -torch.ones(B, T, dtype=F64)
        )


def test_forgetting_under_vmap_is_checked():
    def forget(W: Tensor, Z: Tensor, other: Tensor) -> Tensor:
        return (Evidence.of(W, Z) - Evidence.of(other, Z)).posterior(one.prior).mean

    assert_same(vmap(forget)(*many.episode, many.weights), one.mean.expand(B, K, C))
    with pytest.raises(KanervaError, match="forget only"):
        vmap(forget)(*many.episode, 2 * many.weights)


def test_jitter_and_errors_of_cholesky_under_vmap():
    singular = torch.ones(2, 2, dtype=F64)
    batch = torch.stack([torch.eye(2, dtype=F64), singular])
    with pytest.warns(JitterWarning, match="added"):
        factors = vmap(lambda matrix: linalg.cholesky(matrix, name="it"))(batch)
    assert torch.equal(factors[0], torch.eye(2, dtype=F64))
    assert_same(factors[1] @ factors[1].mT, singular)
    with pytest.raises(NotPositiveDefiniteError):
        vmap(lambda matrix: linalg.cholesky(matrix, name="it"))(-batch)


def test_many_rows_of_weights():
    """More than one block, which is read into shared buffers without a transform."""
    W = random_case((2,), num_items=5000, dtype=torch.float32).weights
    prior = one.prior.to(torch.float32)
    assert_same(vmap(lambda W: recall(prior, W))(W), recall(prior, W))


def test_a_network_around_a_memory():
    """Per-sample gradients of a module's parameters, as with any other layer."""

    class Reader(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys = torch.nn.Linear(C, K, dtype=F64)

        def forward(self, Z: Tensor) -> Tensor:
            W = self.keys(Z)
            return log_evidence(one.prior, W, Z)

    reader = Reader()
    parameters: dict[str, Tensor] = dict(reader.named_parameters())

    def loss(parameters: dict[str, Tensor], Z: Tensor) -> Tensor:
        return functional_call(reader, parameters, (Z,))

    per_sample = vmap(grad(loss), in_dims=(None, 0))(parameters, many.codes)
    for b in range(B):
        reader.zero_grad()
        reader(many.codes[b]).backward()
        assert reader.keys.weight.grad is not None
        assert_same(per_sample["keys.weight"][b], reader.keys.weight.grad)


def test_samples_inside_vmap():
    noise = torch.randn(B, K, C, dtype=F64)
    drawn = vmap(lambda mean, noise: sample_memory(MemoryState(mean, one.cov), noise=noise))
    alone = sample_memory(MemoryState(many.mean, one.cov), noise=noise)
    assert_same(drawn(many.mean, noise), alone)
    different = vmap(lambda W: sample_memory(one.prior) + 0 * W.sum(), randomness="different")
    samples = different(many.weights)
    assert not torch.equal(samples[0], samples[1])
    with pytest.raises(KanervaError, match="randomness") as caught:
        vmap(lambda W: sample_memory(one.prior) + 0 * W.sum())(many.weights)
    assert caught.value.argument == "noise"
