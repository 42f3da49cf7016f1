"""The model that predicts the next image: what its bound may see, and what it makes."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from kanerva import KanervaError, KanervaMachine, ModelConfig, predict
from kanerva.distributions import gaussian
from kanerva.models.build import build_model
from kanerva.models.checkpoint import load_with_card, save_model
from kanerva.models.config import FewShotConfig, LadderVAEConfig
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.few_shot_parts import log_row_var
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.prequential import item_bounds

CONFIG = FewShotConfig(
    num_filters=4, num_wide=6, group_codes=2, code_size=98, num_rows=8, key_size=8, hidden_size=16
)
VAE_CONFIG = LadderVAEConfig(num_filters=4, num_wide=6, group_codes=2, code_size=49)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def episodes(num: int = 2, length: int = 5) -> torch.Tensor:
    return (torch.rand(num, length, 1, 28, 28, generator=seeded()) < 0.2).float()


@pytest.fixture
def model() -> FewShotMachine:
    torch.manual_seed(0)
    model = FewShotMachine(CONFIG)
    for parameter in model.parameters():  # nothing may depend on a layer that starts at zero
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=seeded())
    return model.eval()


def test_an_item_sees_only_the_items_before_it(model):
    images = episodes()
    noise = model.draw_noise(images, generator=seeded())
    before = model.item_bounds(images, noise).total
    for number in range(5):
        changed = images.clone()
        changed[:, number] = 1 - changed[:, number]
        after = model.item_bounds(changed, noise).total
        torch.testing.assert_close(after[:, :number], before[:, :number])
        assert (after[:, number:] != before[:, number:]).all(), "all later items see the change"


def test_the_order_of_what_was_written_does_not_matter(model):
    images = episodes(1)
    noise = model.draw_noise(images, generator=seeded())
    order = torch.tensor([2, 0, 3, 1, 4])
    shuffled = noise._replace(code=noise.code[:, order], address=noise.address[:, :, order])
    left = model.item_bounds(images, noise).total[:, -1]
    right = model.item_bounds(images[:, order], shuffled).total[:, -1]
    torch.testing.assert_close(left, right)


def test_reading_is_that_of_memories_written_one_by_one(model):
    """The fast way of training is the memory that `write` returns, read by `predict`."""
    images = episodes(1)
    noise = model.draw_noise(images, generator=seeded())
    noise = noise._replace(address=torch.zeros_like(noise.address))  # `write` takes means
    embeddings = model.coder.encode(images)
    _, writing, reading = model.addresses(embeddings, noise)
    known, _ = model.read_next(embeddings, writing, reading)
    memory = model.prior_memory()
    for number in range(5):
        mean, var = predict(memory, reading[0, number : number + 1], noise_var=1.0)
        torch.testing.assert_close(known.maps[0][number], mean[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            known.numbers[number, 0],
            log_row_var(var, noise_var=model.config.noise_var)[0],
            rtol=1e-3,
            atol=1e-3,
        )
        memory = model.write(images[0, number : number + 1], memory)


def test_writing_and_reading_draw_independent_addresses(model):
    images = episodes(1)
    noise = model.draw_noise(images, generator=seeded())
    assert not torch.equal(noise.address[0], noise.address[1])
    other = noise._replace(address=torch.stack([noise.address[0], -noise.address[1]]))
    _, writing, reading = model.addresses(model.coder.encode(images), noise)
    _, same, different = model.addresses(model.coder.encode(images), other)
    assert torch.equal(writing, same)
    assert not torch.equal(reading, different)


def test_bound_is_the_mean_over_items_and_costs_no_extra_memory(model):
    images = episodes()
    noise = model.draw_noise(images, generator=seeded())
    items, bound = model.item_bounds(images, noise), model(images, noise)
    torch.testing.assert_close(bound.total, items.total.mean(-1))
    assert torch.equal(bound.memory_kl_per_item, torch.zeros(2)), "paid item by item"
    assert (items.kl_address >= 0).all()
    assert (items.kl_code >= 0).all()


def test_importance_weights_have_the_bound_as_their_mean(model):
    images = episodes(1, 3)
    weights = model.log_importance_weights(images, num_samples=400, generator=seeded())
    assert weights.shape == (400, 1, 3)
    total = torch.stack(
        [
            model.item_bounds(images, model.draw_noise(images, generator=seeded(n))).total
            for n in range(400)
        ]
    )
    error = (weights.var(0) / 400 + total.var(0) / 400).sqrt()
    # Weights share one sample of writing, which moves their mean a little.
    assert ((weights.mean(0) + total.mean(0)).abs() < 5 * error + 1).all()
    some = model.log_importance_weights(images, num_samples=2, generator=seeded(), items=[2])
    assert some.shape == (2, 1, 1)


def test_some_items_forget_while_training(model):
    images = episodes(8, 10)
    model.train()
    noise = model.draw_noise(images, generator=seeded())
    assert noise.forget is not None
    all_empty = replace(CONFIG, empty_share=1.0)
    forgetful = FewShotMachine(all_empty).train()
    forgetful.load_state_dict(model.state_dict())
    alone = images.flatten(0, 1)[:, None]
    split = noise._replace(
        code=noise.code.flatten(0, 1)[:, None],
        address=noise.address.flatten(1, 2)[:, :, None],
        forget=None,
    )
    torch.testing.assert_close(
        forgetful.item_bounds(images, noise).total.flatten(),
        model.item_bounds(alone, split).total.flatten(),
    )
    model.eval()
    assert model.draw_noise(images).forget is None


def test_gradients_reach_every_parameter(model):
    images = episodes()
    model.train()
    model(images, model.draw_noise(images, generator=seeded())).total.mean().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_new_images_depend_on_what_was_written(model):
    images = episodes()
    memory = model.write(images)
    new = model.generate(memory, 3, generator=seeded())
    assert new.shape == (2, 3, 1, 28, 28)
    assert new.min() >= 0
    assert new.max() <= 1
    assert torch.equal(new, model.generate(memory, 3, generator=seeded()))
    assert not torch.equal(new[:, 0], new[:, 1])
    empty = model.generate(model.prior_memory(), 3, generator=seeded())
    assert empty.shape == (3, 1, 28, 28)
    assert not torch.allclose(new[0], empty)
    same = model.generate(memory, 2, sample=False)
    torch.testing.assert_close(same[:, 0], same[:, 1])
    torch.testing.assert_close(model.generate(memory, 2, temperature=0.0), same)


def test_reading_and_interpolating_work_as_for_other_memories(model):
    images = episodes(1)[0]
    memory = model.write(images)
    assert model.read(images, memory, num_readings=2).images.shape == images.shape
    assert model.interpolate(images[0], images[1], memory, steps=3).shape == (3, 1, 28, 28)


def test_a_vae_sees_one_image_at_a_time():
    vae = LadderVAE(VAE_CONFIG).eval()
    images = episodes()
    noise = vae.draw_noise(images, generator=seeded())
    before = vae.item_bounds(images, noise).total
    changed = images.clone()
    changed[:, 0] = 0
    after = vae.item_bounds(changed, noise).total
    assert torch.equal(after[:, 1:], before[:, 1:])
    assert vae.generate(3, generator=seeded()).shape == (3, 1, 28, 28)
    assert vae.reconstruct(images, noise).shape == images.shape
    weights = vae.log_importance_weights(images, num_samples=2, items=[0, 4])
    assert weights.shape == (2, 2, 2)


@pytest.mark.parametrize("config", [CONFIG, VAE_CONFIG])
def test_saved_and_loaded(config, tmp_path):
    model = build_model(config).eval()
    save_model(tmp_path / "model.safetensors", model, {"steps": 1})
    again, card = load_with_card(tmp_path / "model.safetensors")
    assert again.config == config
    assert card == {"steps": 1}
    images = episodes()
    noise = model.draw_noise(images, generator=seeded())
    assert torch.equal(model(images, noise).total, again(images, noise).total)


@pytest.mark.parametrize("config", [CONFIG, VAE_CONFIG])
def test_half_precision_is_near(config):
    model = build_model(config).eval()
    images = episodes()
    noise = model.draw_noise(images, generator=seeded())
    full = model(images, noise).total
    model.coder.use_half(True)
    torch.testing.assert_close(model(images, noise).total, full, rtol=0.05, atol=1.0)


def test_the_papers_model_item_by_item():
    """Its last item is the bound of a reader that never saw itself written."""
    torch.manual_seed(0)
    km = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
    images = episodes()
    noise = km.draw_noise(images, generator=seeded())
    items = item_bounds(km, images, noise)
    assert items.total.shape == (2, 5)
    assert noise.address is not None
    assert noise.written_code is not None
    embeddings = km.coder.encode(images)
    posterior = km.addressing.posterior(embeddings, km.prior_memory())
    writing, reading = km.addressing.address_for(posterior.sample(noise.address)).unbind(0)
    codes = gaussian.from_parameters(embeddings).sample(noise.written_code)
    memory = km.memory_module.write(km.prior_memory(), writing[:, :4], codes[:, :4])
    read = km.access.read(embeddings[:, 4:], reading[:, 4:], memory, None)
    torch.testing.assert_close(items.kl_code[:, 4:], read.kl, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"code_size": 50}, "a multiple of 49"),
        ({"reading": "mean"}, "distribution"),
        ({"writing": "sample"}, "distribution"),
        ({"empty_share": 2.0}, "empty_share"),
        ({"noisy_input": "image"}, "embedding"),
    ],
)
def test_mistakes_in_the_config(options, words):
    with pytest.raises(KanervaError, match=words):
        FewShotConfig(**options)


@pytest.mark.parametrize("kind", ["memory", "vae"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda images: images.numpy(), "a tensor"),
        (lambda images: images[0], r"images\[None\]"),
        (lambda images: images[..., :20], "shape"),
        (lambda images: images[:, :0], "at least one image"),
        (lambda images: images.double(), "float32"),
        (lambda images: 255 * images, "between 0"),
        (lambda images: images - 1, "between 0"),
        (lambda images: images + math.nan, "NaN"),
    ],
)
def test_wrong_images(model, kind, make, words):
    model = model if kind == "memory" else LadderVAE(VAE_CONFIG)
    images = episodes()
    noise = model.draw_noise(images)
    for call in (model.item_bounds, model.reconstruct):
        with pytest.raises(KanervaError, match=words) as caught:
            call(make(images), noise)
        assert caught.value.argument == "images"


@pytest.mark.parametrize("kind", ["memory", "vae"])
def test_wrong_noise(model, kind):
    model = model if kind == "memory" else LadderVAE(VAE_CONFIG)
    images = episodes()
    noise = model.draw_noise(images)
    wrong = [None, noise.code, model.draw_noise(images[:, :3]), noise._replace(code=None)]
    if kind == "memory":
        wrong += [
            noise._replace(address=None),
            noise._replace(address=noise.code),
            noise._replace(embedding=noise.code),
            noise._replace(forget=noise.code),
        ]
    for one in wrong:
        for call in (model.item_bounds, model.reconstruct, model):
            with pytest.raises(KanervaError, match=r"noise.*draw_noise\(images\)"):
                call(images, one)
    wrong_draws: list[dict[str, Any]] = [
        {"images": images.numpy()},
        {"images": images[0, 0]},
        {"images": images[..., :20]},
        {"images": images, "generator": 3},
    ]
    for arguments in wrong_draws:
        with pytest.raises(KanervaError, match=next(reversed(arguments))):
            model.draw_noise(**arguments)


def test_mistakes(model):
    images = episodes()
    noise = model.draw_noise(images)
    for wrong in (model, LadderVAE(VAE_CONFIG)):
        with pytest.raises(KanervaError, match="cues"):
            wrong(images, noise, images[:1])
    memory = model.write(images)
    for options in (
        {"num_readings": 3},
        {"temperature": -1.0},
        {"sample": "yes"},
        {"sample": False, "temperature": 0.5},
    ):
        with pytest.raises(KanervaError):
            model.generate(memory, 2, **options)
    with pytest.raises(KanervaError, match="num_samples"):
        model.log_importance_weights(images, num_samples=0)
