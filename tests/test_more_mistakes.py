"""Mistakes that were once answered by a raw error, or not at all."""

import pytest
import torch

import kanerva
from kanerva import (
    DiagonalCovariance,
    Evidence,
    FullCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    ModelConfig,
    condition,
)

K, C = 4, 2


@pytest.mark.parametrize(
    "row_cov",
    [
        FullCovariance(torch.eye(K)),
        DiagonalCovariance(torch.ones(K)),
        LowRankCovariance(torch.ones(K), rank=1),
    ],
    ids=lambda row_cov: type(row_cov).__name__,
)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(3, K + 1), "rows K"),
        (torch.ones(K), "T, K"),
        (torch.ones(3, K, dtype=torch.float64), "dtype"),
        (None, "weights"),
    ],
    ids=["K", "dimensions", "dtype", "None"],
)
def test_weights_of_a_covariance(row_cov, weights, message):
    with pytest.raises(KanervaError, match=message):
        row_cov.cross_cov(weights)


def test_more_rank_than_items():
    with pytest.raises(KanervaError, match="rank"):
        Evidence(torch.eye(K), torch.zeros(K, C), count=1)
    Evidence(torch.eye(K), torch.zeros(K, C), count=K)


def test_codes_without_weights():
    with pytest.raises(KanervaError, match="no item has a weight"):
        Evidence(torch.zeros(K, K), torch.ones(K, C), count=3)


def test_forgetting_another_item_is_seen_by_the_rank():
    torch.manual_seed(0)
    weights, codes = torch.randn(3, K), torch.zeros(3, C)
    other = Evidence.of(0.1 * torch.randn(1, K), codes[:1])
    with pytest.raises(KanervaError):
        _ = Evidence.of(weights, codes) - other


@pytest.mark.parametrize("kind", ["VAE", 3, int])
def test_kinds_of_models_are_classes(kind):
    with pytest.raises(KanervaError, match="class of a model"):
        kanerva.load("omniglot", kind=kind)


def test_saving_inside_a_transform(tmp_path):
    prior, path = MemoryState(torch.zeros(K, C), torch.eye(K)), tmp_path / "memory.safetensors"

    def save(weights):
        condition(prior, weights, torch.zeros(3, C)).save(path)
        return weights

    with pytest.raises(KanervaError, match="outside of vmap"):
        torch.func.vmap(save)(torch.randn(5, 3, K))
    assert not path.exists()


@pytest.mark.parametrize("value", ["no", 1, None])
def test_bottom_up_is_true_or_false(value):
    with pytest.raises(KanervaError, match="bottom_up"):
        ModelConfig(bottom_up=value)


@pytest.fixture(scope="module")
def km():
    return kanerva.load("omniglot")


@pytest.fixture(scope="module")
def images():
    return (torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0)) < 0.1).float()


@pytest.fixture(scope="module")
def memory(km, images):
    return km.write(images)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_models_in_half_precision(images, dtype):
    for model in (kanerva.load("omniglot").to(dtype), kanerva.load("omniglot-vae").to(dtype)):
        with pytest.raises(KanervaError, match="a model in float32 or float64"):
            model.elbo(images[None].to(dtype))
    km = kanerva.load("omniglot").to(dtype)
    with pytest.raises(KanervaError, match="a model in float32 or float64"):
        km.write(images.to(dtype))
    with pytest.raises(KanervaError, match="a model in float32 or float64"):
        km.generate(km.prior_memory(), 2)


def test_models_in_float64(images):
    km, vae = kanerva.load("omniglot").double(), kanerva.load("omniglot-vae").double()
    memory = km.write(images.double())
    assert km.read(images.double(), memory, num_readings=1).images.dtype == torch.float64
    assert km.generate(memory, 2, num_readings=1).dtype == torch.float64
    assert vae.generate(2).dtype == torch.float64


def test_noise_and_cues_of_a_bound(km, images):
    episodes, vae = images[None], kanerva.load("omniglot-vae")
    noise = km.draw_noise(episodes)
    for wrong in (None, vae.draw_noise(episodes), km.draw_noise(episodes[:, :3])):
        with pytest.raises(KanervaError, match=r"noise.*draw_noise\(images\)"):
            km.forward(episodes, wrong)
    with pytest.raises(KanervaError, match="noise"):
        vae.forward(episodes, vae.draw_noise(episodes[:, :3]))
    for cues in (images, torch.cat([episodes, episodes]), episodes[:, :3], None, "cues"):
        if cues is None:
            km.forward(episodes, noise, cues=episodes)
            continue
        with pytest.raises(KanervaError, match="cues"):
            km.forward(episodes, noise, cues=cues)
    with pytest.raises(KanervaError, match="images"):
        km.forward(images.numpy(), noise)


def test_more_images_than_any_machine_can_hold(km, memory):
    with pytest.raises(KanervaError, match="num_images"):
        km.generate(memory, 10**12)
    with pytest.raises(KanervaError, match="num_images"):
        kanerva.load("omniglot-vae").generate(10**12)


def test_options_of_a_reading(km, memory, images):
    vae = kanerva.load("omniglot-vae")
    calls = {
        "write": lambda **options: km.write(images, **options),
        "read": lambda **options: km.read(images, memory, num_readings=1, **options),
        "generate": lambda **options: km.generate(memory, 2, num_readings=0, **options),
        "vae": lambda **options: vae.generate(2, **options),
    }
    for name, call in calls.items():
        with pytest.raises(KanervaError, match="sample: expected True or False"):
            call(sample="no")
        if name != "write":
            with pytest.raises(KanervaError, match="on_reading"):
                call(on_reading="x")


def test_the_weight_of_a_bound_is_a_number():
    one = torch.ones(2)
    with pytest.raises(KanervaError, match="kl_weight"):
        kanerva.Bound(one, one, one, None).weighted("a")  # type: ignore


def test_a_memory_of_another_dtype(km, memory, images):
    wide = memory.to(torch.float64)
    calls = (
        lambda: km.write(images, wide),
        lambda: km.read(images, wide),
        lambda: km.generate(wide, 2),
    )
    for call in calls:
        with pytest.raises(KanervaError, match=r"memory\.to\(torch\.float32\)"):
            call()


@pytest.mark.parametrize("cov", [torch.eye(64), DiagonalCovariance(torch.full((64,), 9.0))])
def test_a_memory_that_began_with_another_prior_has_no_fill(km, images, cov):
    memory = km.write(images, MemoryState(torch.zeros(64, 100), cov))
    assert km.read(images, memory, num_readings=1).images.shape == images.shape


def test_means_too_large_for_least_squares():
    wide = torch.float64
    memory = MemoryState(torch.full((K, C), 1e200, dtype=wide), torch.eye(K, dtype=wide))
    with pytest.raises(KanervaError, match="memory: expected a mean") as caught:
        kanerva.infer_weights(memory, torch.ones(1, C, dtype=wide))
    assert "weights" not in str(caught.value)


def test_weights_too_large_for_evidence():
    large, one = torch.full((1, K), 1e160, dtype=torch.float64), torch.ones(1, C).double()
    with pytest.raises(KanervaError, match=r"^weights: expected numbers whose sums W' W"):
        Evidence.of(large, one)
    with pytest.raises(KanervaError, match=r"^weights, codes: expected numbers whose sums W' Z"):
        Evidence.of(large / 1e10, 1e160 * one)


def test_a_dtype_that_cannot_hold_the_memory():
    memory = MemoryState(1e6 * torch.ones(K, C), torch.eye(K))
    with pytest.raises(KanervaError, match=r"torch\.float16, which ends at 65504"):
        memory.to(torch.float16)
    with pytest.raises(KanervaError, match="the memory's cov"):
        MemoryState(torch.ones(K, C), 1e6 * torch.eye(K)).to(torch.float16)
    assert memory.to(torch.bfloat16).mean.isfinite().all()
