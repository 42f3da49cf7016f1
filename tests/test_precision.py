"""The precision of the memory: float32 in and out, float64 inside, also in autocast and TF32."""

import mpmath
import pytest
import torch

import kanerva
from cases import DEVICES, random_case, relative_error
from kanerva import (
    Evidence,
    MemoryState,
    condition,
    log_evidence,
    memory_kl,
    predict,
    recall,
    sample_memory,
)
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Model

F64 = torch.float64
every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(params=DEVICES)
def tf32(request):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield request.param
    torch.set_float32_matmul_precision(before)


def results(case, dtype):
    """The results of all functions of the memory on one episode."""
    prior = MemoryState(case.mean.to(dtype), case.cov.to(dtype))
    W, Z = case.weights.to(dtype), case.codes.to(dtype)
    post = condition(prior, W, Z)
    online = condition(prior, W, Z, chunk=1)
    evidence = Evidence.of(W, Z).posterior(prior)
    chain = prior
    for w, z in zip(W.split(1, -2), Z.split(1, -2), strict=True):
        chain = condition(chain, w, z)
    prediction = predict(post, W)
    return {
        "mean": post.mean,
        "cov": post.cov,
        "online mean": online.mean,
        "online cov": online.cov,
        "evidence mean": evidence.mean,
        "evidence cov": evidence.cov,
        "chain mean": chain.mean,
        "chain cov": chain.cov,
        "predicted mean": prediction.mean,
        "predicted var": prediction.var,
        "recalled": recall(chain, W),
        "kl": memory_kl(post, prior),
        "log_evidence": log_evidence(prior, W, Z),
        "sample": sample_memory(post, generator=torch.Generator(device=W.device).manual_seed(0)),
    }


def assert_agree(case):
    narrow, wide = results(case, torch.float32), results(case, torch.float64)
    for name, value in narrow.items():
        assert value.dtype == torch.float32, name
        assert value.isfinite().all(), name
        assert relative_error(value, wide[name]) < 1e-4, name


def hard_case(device, num_items=32, seed=0):
    """Weights up to 1e3, nearly parallel: W U W' is too badly conditioned for float32."""
    case = random_case(
        (2,), num_items=num_items, num_rows=48, code_size=10, dtype=torch.float32, seed=seed
    )
    weights = case.weights[..., :1, :] + 1e-2 * case.weights
    weights = 1e3 * weights / weights.abs().max()
    case = case._replace(weights=weights)
    return type(case)(*(tensor.to(device) for tensor in case))


@every_device
@pytest.mark.parametrize("num_items", [32, 100])
def test_float32_with_badly_conditioned_weights(device, num_items):
    case = hard_case(device, num_items)
    system = case.weights[0] @ case.cov[0] @ case.weights[0].mT
    system = system + torch.eye(num_items, device=device)
    smallest = torch.linalg.eigvalsh(system).min()
    largest = torch.linalg.eigvalsh(system).max()
    assert largest / smallest.abs() > 1e6  # too much for float32
    assert_agree(case)


@every_device
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_inside_autocast(device, dtype):
    case = hard_case(device)
    with torch.autocast(device, dtype=dtype):
        assert (case.weights @ case.mean).dtype == dtype  # autocast is on
        assert_agree(case)


@every_device
def test_autocast_may_mix_dtypes(device):
    """A float32 memory accepts bfloat16 weights from a layer, and results are float32."""
    case = random_case(dtype=torch.float32, device=device)
    half = case.weights.bfloat16()
    with torch.autocast(device, dtype=torch.bfloat16):
        post = condition(case.prior, half, case.codes)
        prediction = predict(post, half)
    exact = condition(case.prior, half.float(), case.codes)
    torch.testing.assert_close(post.mean, exact.mean)
    assert prediction.mean.dtype == torch.float32


def test_with_tf32_allowed(tf32):
    assert_agree(hard_case(tf32))


def test_a_narrow_covariance_is_still_one():
    """`cov` in float32 can be used again; plain rounding would make eigenvalues negative."""
    rejected = 0
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        weights = 1e3 * torch.randn(32, 64, generator=generator)
        post = condition(
            MemoryState(torch.zeros(64, 10), torch.eye(64)), weights, torch.zeros(32, 10)
        )
        plain = post.to(torch.float64).cov.float().double()
        rejected += int(torch.linalg.cholesky_ex(plain).info) > 0
        again = MemoryState(post.mean, post.cov)
        assert relative_error(again.cov, post.to(torch.float64).cov) < 1e-5
    assert rejected > 0  # plain rounding would have failed


def test_online_writes_stay_exact():
    """100,000 float32 writes agree with one float64 write (`kanerva bench` does a million)."""
    num_items = 100_000
    case = random_case(num_items=num_items, num_rows=64, code_size=100, dtype=torch.float32)
    online = condition(case.prior, *case.episode, chunk=1)
    exact = condition(case.prior.to(torch.float64), case.weights.double(), case.codes.double())
    assert relative_error(online.mean, exact.mean) < 1e-6
    assert relative_error(online.cov, exact.cov) < 1e-6
    assert torch.equal(online.cov, online.cov.mT)
    assert torch.linalg.cholesky_ex(online.cov).info == 0


def test_separate_float32_writes_stay_exact():
    """The state is not rounded to float32 between calls."""
    case = random_case(num_items=3000, num_rows=64, code_size=100, dtype=torch.float32)
    memory = case.prior
    for w, z in zip(case.weights.split(1), case.codes.split(1), strict=True):
        memory = condition(memory, w, z)
    exact = condition(case.prior.to(torch.float64), case.weights.double(), case.codes.double())
    assert relative_error(memory.mean, exact.mean) < 1e-6
    assert relative_error(memory.cov, exact.cov) < 1e-6


@pytest.mark.parametrize("device", [d for d in DEVICES if d == "cuda"])
def test_in_a_cuda_graph(device):
    """A write, its KL and its gradients are captured once and replayed on new numbers."""
    case = random_case((4,), dtype=torch.float32, device=device)
    numbers = case.weights.clone()

    def step():
        weights = numbers.detach().requires_grad_()
        post = condition(case.prior, weights, case.codes)
        nats = memory_kl(post, case.prior).sum() + predict(post, weights).mean.sum()
        (gradient,) = torch.autograd.grad(nats, weights)
        return nats, gradient

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        nats, gradient = step()
    numbers.copy_(2 * numbers)
    graph.replay()
    fresh, fresh_gradient = step()
    torch.testing.assert_close(nats, fresh)
    torch.testing.assert_close(gradient, fresh_gradient)


@pytest.mark.parametrize("noise_var", [1.0, 1e-8, 1e-14, 1e-20])
@pytest.mark.parametrize("num_items", [3, 4, 5, 11])
def test_log_evidence_with_little_noise(num_items, noise_var):
    """Against 60 digits: more items than rows must not cost any of ours."""
    torch.manual_seed(0)
    K, C = 4, 2
    R, A = torch.randn(K, C, dtype=F64), torch.randn(K, K, dtype=F64)
    prior = MemoryState(R, A @ A.mT + torch.eye(K, dtype=F64))
    W, Z = torch.randn(num_items, K, dtype=F64), torch.randn(num_items, C, dtype=F64)
    with mpmath.workdps(60):
        U, w, r, z = (mpmath.matrix(part.tolist()) for part in (prior.cov, W, R, Z))
        cov = w * U * w.T + noise_var * mpmath.eye(num_items)
        delta = z - w * r
        misfit = sum((delta.T * mpmath.lu_solve(cov, delta[:, c]))[c] for c in range(C))
        log_det = C * mpmath.log(mpmath.det(cov)) + num_items * C * mpmath.log(2 * mpmath.pi)
        truth = float(-(misfit + log_det) / 2)
    assert log_evidence(prior, W, Z, noise_var=noise_var).item() == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("name", ["omniglot", "handwriting", "fewshot", "omniglot-vae"])
def test_models_keep_their_precision_inside_autocast(name):
    """Addresses need more than the three digits of bfloat16."""
    model = kanerva.load(name, kind=Model)
    images = (torch.rand(5, 1, 28, 28, generator=torch.Generator().manual_seed(0)) < 0.15).float()

    def use() -> list[torch.Tensor]:
        seeded = torch.Generator().manual_seed(0)
        found = [model.elbo(images[None], generator=seeded).total]
        found.append(model.log_importance_weights(images[None], num_samples=2, generator=seeded))
        if isinstance(model, MemoryModel):
            memory = model.write(images)
            found += [memory.mean, model.read(images, memory).images]
            found += [model.generate(memory, 2, generator=seeded)]
            found += [model.interpolate(images[0], images[1], memory)]
        return found

    outside = use()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = use()
    for one, other in zip(outside, inside, strict=True):
        assert torch.equal(one, other)
