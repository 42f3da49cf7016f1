"""The models: their bound against a slow transcription of the paper, options, honesty rules."""

import builtins
import json
import math
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch.distributions import Normal, kl_divergence

import kanerva
from kanerva import VAE, KanervaError, condition, memory_kl, recall
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.build import build_model
from kanerva.models.checkpoint import OLD_NAMES, SHIPPED, SHIPPED_FOLDER, load_with_card, save_model
from kanerva.models.config import (
    CONFIGS,
    ModelConfig,
    VAEConfig,
    config_from_dict,
    config_to_dict,
)
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.model import Model
from kanerva.models.nets import FromPixels, ToPixels

CODER: dict[str, Any] = {"num_filters": 4, "code_size": 6}
SMALL: dict[str, Any] = {
    **CODER,
    "num_rows": 7,
    "key_size": 5,
    "address_code_size": 4,
    "hidden_size": 10,
}


def small(seed: int = 0, **options) -> KanervaMachine:
    torch.manual_seed(seed)
    return KanervaMachine(ModelConfig(**{**SMALL, **options}))


def small_vae(**options) -> VAE:
    torch.manual_seed(0)
    return VAE(VAEConfig(**{**CODER, **options}))


MAKE = {"kanerva": small, "vae": small_vae}


def episodes(batch=3, items=5, shape=(1, 28, 28), seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(batch, items, *shape, generator=generator) < 0.2).float()


def bounded(parameters):
    """Mean and log-variance, the latter kept below 4 by a smooth bound."""
    mean, log_var = parameters.chunk(2, dim=-1)
    return mean, 4 - torch.log1p((4 - log_var).exp())


def test_the_bound_is_the_papers():
    """eq:vlb transcribed item by item, with torch.distributions."""
    model = small().eval()
    for parameter in model.parameters():  # away from the special start
        torch.nn.init.normal_(parameter, std=0.1)
    images = episodes()
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    bound = model(images, noise)
    assert noise.address is not None
    assert noise.written_code is not None
    addressing, code_net = model.addressing, model.access.code_net
    assert isinstance(addressing, LearnedAddressing)
    assert isinstance(addressing.table, AddressTable)
    assert code_net is not None
    assert bound.memory_kl_per_item is not None
    address_net, key_net = addressing.address_net, addressing.table.key_net
    addresses = addressing.table.addresses
    table = addresses / addresses.norm(dim=1, keepdim=True)
    for b in range(3):
        write_weights, write_codes = [], []
        for t in range(5):
            e = model.coder.encoder(images[b, t][None])[0]
            mean, log_var = bounded(address_net(e))
            y = mean + (log_var / 2).exp() * noise.address[0, b, t]
            write_weights.append(table @ key_net(y))
            code, spread = bounded(e)
            write_codes.append(code + (spread / 2).exp() * noise.written_code[b, t])
        prior = model.prior_memory()
        memory = condition(prior, torch.stack(write_weights), torch.stack(write_codes))
        reconstruction = kl_address = kl_code = 0.0
        for t in range(5):
            e = model.coder.encoder(images[b, t][None])[0]
            mean, log_var = bounded(address_net(e))
            q_y = Normal(mean, (log_var / 2).exp())
            y = mean + q_y.stddev * noise.address[1, b, t]
            weights = table @ key_net(y)
            prior_mean = recall(memory, weights[None])[0]
            shift, log_var = bounded(code_net(torch.cat([e, prior_mean])))
            q_z = Normal(prior_mean + shift, (log_var / 2).exp())
            z = q_z.mean + q_z.stddev * noise.code[b, t]
            pixels = torch.distributions.Bernoulli(logits=model.coder.decoder(z[None])[0])
            reconstruction -= pixels.log_prob(images[b, t]).sum() / 5
            kl_address += kl_divergence(q_y, Normal(0.0, 1.0)).sum() / 5
            kl_code += kl_divergence(q_z, Normal(prior_mean, 1.0)).sum() / 5
        torch.testing.assert_close(bound.reconstruction[b], reconstruction, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(bound.kl_address[b], kl_address, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(bound.kl_code[b], kl_code, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(bound.memory_kl_per_item[b], memory_kl(memory, prior) / 5)


def test_a_vae_is_a_vae():
    model = small_vae().eval()
    images = episodes()
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    bound = model(images, noise)
    mean, log_var = bounded(model.coder.encode(images))
    q = Normal(mean, (log_var / 2).exp())
    pixels = torch.distributions.Bernoulli(logits=model.coder.decode(mean + q.stddev * noise.code))
    truth = -pixels.log_prob(images).sum((-3, -2, -1)).mean(-1)
    torch.testing.assert_close(bound.reconstruction, truth)
    torch.testing.assert_close(bound.kl_code, kl_divergence(q, Normal(0.0, 1.0)).sum(-1).mean(-1))
    assert bound.kl_address.abs().max() == 0
    assert torch.equal(bound.total, bound.reconstruction + bound.kl_code)


def test_order_does_not_matter():
    """The whole model, with the samples fixed: shuffling an episode shuffles nothing else."""
    model = small().eval()
    images = episodes(items=6)
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    assert noise.address is not None
    assert noise.written_code is not None
    shuffled = noise._replace(
        code=noise.code[:, order],
        written_code=noise.written_code[:, order],
        address=noise.address[:, :, order],
    )
    one, other = model(images, noise), model(images[:, order], shuffled)
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_items_mix_in_the_memory_alone():
    """Without a memory, an item's terms do not depend on its neighbours."""
    model = small_vae().eval()
    images = episodes(batch=1, items=4)
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    together = model(images, noise).total[0] * 4
    alone = sum(
        model(images[:, t : t + 1], noise._replace(code=noise.code[:, t : t + 1])).total[0]
        for t in range(4)
    )
    torch.testing.assert_close(together, alone)


def test_writing_and_reading_draw_independent_addresses():
    model = small()
    noise = model.draw_noise(episodes(), generator=torch.Generator().manual_seed(0))
    assert noise.address is not None
    assert not torch.equal(noise.address[0], noise.address[1])
    assert noise.embedding is not None
    assert not torch.equal(noise.embedding[0], noise.embedding[1])
    assert model.eval().draw_noise(episodes()).embedding is None


def test_a_direct_network_gives_the_mean_itself():
    """And a correction what is added to the mean of p(z|y, M): the same network, another mean."""
    direct, correction = (small(code_posterior=form).eval() for form in ("direct", "correction"))
    network = direct.access.code_net
    assert network is not None
    with torch.no_grad():
        for parameter in network[-1].parameters():
            parameter.normal_()
    correction.load_state_dict(direct.state_dict())
    images = episodes()
    embeddings = direct.coder.encode(images)
    state = direct.prior_memory()
    address = torch.randn(*images.shape[:2], direct.config.num_rows)
    one, other = (
        model.access.read(embeddings, address, state, None) for model in (direct, correction)
    )
    given = network(torch.cat([embeddings, one.prior.mean], dim=-1))
    torch.testing.assert_close(one.distribution.mean, given.chunk(2, dim=-1)[0])
    torch.testing.assert_close(other.distribution.mean - other.prior.mean, one.distribution.mean)
    expected = kl_divergence(
        Normal(one.distribution.mean, (one.log_var / 2).exp()), Normal(one.prior.mean, 1.0)
    ).sum(-1)
    torch.testing.assert_close(one.kl, expected, rtol=1e-4, atol=1e-3)


def test_a_direct_network_needs_the_bottom_up_stream():
    with pytest.raises(KanervaError, match="code_posterior"):
        small(code_posterior="direct", bottom_up=False)


def test_noise_on_images_reaches_the_addresses_alone():
    """Codes are written and corrected from clean images; with no noise nothing changes."""
    model = small(noisy_input="image").train()
    images = episodes()
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    assert noise.embedding is not None
    assert noise.embedding.shape == (2, *images.shape)
    asked_by: list[torch.Tensor] = []
    write = model.access.write_then_address

    def spy(embeddings, addressed_by, prior, noise):
        torch.testing.assert_close(embeddings, model.coder.encode(images))
        asked_by.append(addressed_by)
        return write(embeddings, addressed_by, prior, noise)

    model.access.write_then_address = spy
    cues = 1 - images[:1]
    model(images, noise, cues)
    noisy = images + 0.2 * noise.embedding
    noisy[1, :1] += cues - images[:1]
    torch.testing.assert_close(asked_by[0], model.coder.encode(noisy), rtol=1e-4, atol=1e-5)
    still = model(images, noise._replace(embedding=torch.zeros_like(noise.embedding)))
    torch.testing.assert_close(still.total, model(images, noise._replace(embedding=None)).total)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("reading", ["mean", "sample", "distribution"])
@pytest.mark.parametrize("writing", ["sample", "distribution"])
def test_options_learn(covariance, reading, writing):
    """Each combination has a finite bound, gradients for every parameter, and learns."""
    model = small(covariance=covariance, reading=reading, writing=writing)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    images = episodes(batch=4)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(30):
        bound = model.elbo(images, generator=generator)
        optimizer.zero_grad()
        bound.total.mean().backward()
        optimizer.step()
        losses.append(bound.total.mean().item())
    unused = {"access.memory.prior_mixing"} if covariance == "diagonal" else set()
    for name, parameter in model.named_parameters():
        if name not in unused:
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0] - 20


@pytest.mark.parametrize("kind", ["kanerva", "vae"])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (2, 17, 30)])
def test_shapes(kind, shape):
    model: Model = MAKE[kind](image_shape=shape, likelihood="gaussian").eval()
    bound = model.elbo(torch.rand(2, 3, *shape))
    assert bound.total.shape == (2,)
    assert model.coder.decode(torch.zeros(2, 3, 6)).shape == (2, 3, *shape)


def test_colour_gets_noise_while_training_only():
    model = small(likelihood="gaussian")
    images = torch.zeros(1, 2, 1, 28, 28)
    noisy = model.coder.prepare(images, torch.Generator().manual_seed(0))
    assert 0 < noisy.max() <= 1 / 256
    assert noisy.min() >= 0
    assert torch.equal(model.eval().coder.prepare(images, None), images)


def test_importance_samples_tighten_the_bound():
    for kind in ("kanerva", "vae"):
        model: Model = MAKE[kind]().eval()
        images = episodes(batch=8)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            weights = model.log_importance_weights(images, num_samples=200, generator=generator)
            bound = torch.stack(
                [model.elbo(images, generator=generator).total.mean() for _ in range(40)]
            )
        assert weights.shape == (200, 8, 5)
        # one weight has the bound as its mean; many lie below it
        torch.testing.assert_close(-weights.mean(), bound.mean(), rtol=0.02, atol=1.0)
        assert -(weights.logsumexp(0) - math.log(200)).mean() < bound.mean()


def test_wrong_images_are_refused():
    model = small()
    for images in (torch.zeros(2, 1, 28, 28), torch.zeros(1, 2, 1, 32, 32), torch.zeros(28, 28)):
        if images.dim() == 4:
            model.elbo(images)  # one episode: leading dimensions are free
            continue
        with pytest.raises(KanervaError, match="images"):
            model.elbo(images)


def test_public_names():
    assert kanerva.KanervaMachine is KanervaMachine
    for name in (*kanerva.__all__, "open"):
        assert getattr(kanerva, name) is not None
        assert name in dir(kanerva)


def test_importing_everything_hides_no_builtin():
    names: dict[str, object] = {}
    exec("from kanerva import *", names)
    assert names["load"] is kanerva.load
    assert not set(names) & (set(dir(builtins)) - {"__builtins__", *dir(object())})


def test_a_vae_generates_and_feeds_back():
    model = small_vae().eval()
    seen = {}
    images = model.generate(
        5,
        num_readings=2,
        generator=torch.Generator().manual_seed(0),
        on_reading=seen.__setitem__,
    )
    assert list(seen) == [0, 1, 2]
    assert torch.equal(images, seen[2])
    with torch.no_grad():
        again = model.coder.decode(model.coder.encode(seen[0])[:, :6]).sigmoid()
    torch.testing.assert_close(again, seen[1])
    z = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(seen[0], model.coder.decode(z).sigmoid().detach())


def test_damaged_cues_read_what_whole_images_wrote():
    """The first n episodes are addressed and corrected by their cues, the rest by themselves."""
    model = small().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    images, cues = episodes(), episodes(batch=1, seed=9)
    noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
    plain, damaged = model(images, noise), model(images, noise, cues)
    assert plain.memory_kl_per_item is not None
    assert damaged.memory_kl_per_item is not None
    for one, other in zip(plain[:3], damaged[:3], strict=True):
        assert torch.allclose(one[1:], other[1:], atol=1e-5)
    assert torch.equal(plain.memory_kl_per_item, damaged.memory_kl_per_item)  # written whole
    assert not torch.allclose(plain.kl_address[0], damaged.kl_address[0])
    with torch.no_grad():
        embeddings, e = model.coder.encode(images[:1]), model.coder.encode(cues)
        assert noise.address is not None
        assert noise.written_code is not None
        prior = model.prior_memory()
        write, read = (
            model.addressing.address_for(
                model.addressing.posterior(x, prior).sample(noise.address[k, :1])
            )
            for k, x in enumerate((embeddings, e))
        )
        written = noise.written_code[:1]
        codes = Gaussian(*bounded(embeddings)).sample(written)
        memory = condition(prior, write, codes)
        reading = model.access.read(e, read, memory, None)
        kl = kl_divergence(
            Normal(reading.shift, (reading.log_var / 2).exp()), Normal(0.0, 1.0)
        ).sum(-1)
    torch.testing.assert_close(damaged.kl_code[0], kl.mean(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_layers_at_the_pixels_are_convolutions(channels):
    """The products a GPU computes are the convolutions, and so are their gradients."""
    torch.manual_seed(0)
    first, last = FromPixels(channels, 5).double(), ToPixels(5, channels, (0, 0)).double()
    images = torch.randn(2, channels, 10, 14, dtype=torch.float64)
    features = torch.randn(2, 5, 5, 7, dtype=torch.float64, requires_grad=True)
    for layer, value in ((first, images), (last, features)):
        one, other = layer.as_product(value), layer(value)
        torch.testing.assert_close(one, other)
        toward = torch.randn_like(other)
        wanted = [*layer.parameters(), *([value] if value.requires_grad else [])]
        for a, b in zip(
            torch.autograd.grad(one, wanted, toward),
            torch.autograd.grad(other, wanted, toward),
            strict=True,
        ):
            torch.testing.assert_close(a, b)


def test_writing_in_chunks_is_the_same_where_the_covariance_is_full():
    images = episodes()
    bounds = {}
    for covariance in ("full", "diagonal"):
        for chunk in (None, 1, 2):
            model = small(covariance=covariance, chunk=chunk).eval()
            noise = model.draw_noise(images, generator=torch.Generator().manual_seed(1))
            bounds[covariance, chunk] = model(images, noise).total
    for chunk in (1, 2):
        torch.testing.assert_close(bounds["full", None], bounds["full", chunk])
        assert not torch.allclose(bounds["diagonal", None], bounds["diagonal", chunk], rtol=1e-4)


def test_a_vae_refuses_cues():
    model = small_vae()
    images = episodes()
    with pytest.raises(KanervaError, match="cues"):
        model(images, model.draw_noise(images, generator=None), images[:1])


def test_each_config_builds_its_own_model():
    kinds = {kind: type(build_model(config())).__name__ for kind, config in CONFIGS.items()}
    assert kinds == {
        "kanerva": "KanervaMachine",
        "vae": "VAE",
        "dnc": "MemoryModel",
        "lrua": "MemoryModel",
        "dynamic": "DynamicKanervaMachine",
        "fewshot": "FewShotMachine",
        "ladder-vae": "LadderVAE",
    }


def test_configs_survive_json():
    for config in CONFIGS.values():
        fields = json.loads(json.dumps(config_to_dict(config())))
        assert config_from_dict(fields) == config()


@pytest.mark.parametrize(
    ("kind", "option"),
    [("vae", "num_rows"), ("dnc", "covariance"), ("lrua", "key_size"), ("dynamic", "hidden_size")],
)
def test_configs_have_only_the_options_that_their_model_uses(kind, option):
    with pytest.raises(TypeError, match=option):
        CONFIGS[kind](**{option: 3})  # pyright: ignore
    with pytest.raises(KanervaError, match=option):
        config_from_dict({"kind": kind, option: 3})


@pytest.mark.parametrize(
    ("option", "value", "near"),
    [
        ("covariance", "diag", "diagonal"),
        ("likelihood", "Bernoulli", "bernoulli"),
        ("reading", "samples", "sample"),
        ("writing", "distributions", "distribution"),
    ],
)
def test_misspelled_options_are_refused(option, value, near):
    with pytest.raises(KanervaError, match=f"Did you mean '{near}'"):
        ModelConfig(**{option: value})  # pyright: ignore


@pytest.mark.parametrize("shape", [(1, 28), (1, 28, 28, 1), [1, 28, 28], (1, 7, 28), (0, 28, 28)])
def test_image_shapes_have_three_sizes(shape):
    with pytest.raises(KanervaError, match="image_shape"):
        ModelConfig(image_shape=shape)


@pytest.mark.parametrize("option", ["num_rows", "code_size", "num_filters", "chunk"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3"])
def test_counts_are_whole_numbers(option, value):
    with pytest.raises(KanervaError, match=option):
        ModelConfig(**{option: value})  # pyright: ignore


class TestFiles:
    """Checkpoints: today's schema, yesterday's, and files that are not whole."""

    def saved(self, folder) -> Path:
        path = folder / "model.safetensors"
        save_model(path, small(), {"made": "here"})
        return path

    def test_a_model_comes_back(self, tmp_path):
        model, card = load_with_card(self.saved(tmp_path))
        assert card == {"made": "here"}
        for one, other in zip(model.parameters(), small().parameters(), strict=True):
            assert torch.equal(one, other)

    def test_a_flipped_byte_is_noticed(self, tmp_path):
        path = self.saved(tmp_path)
        data = bytearray(path.read_bytes())
        data[-10] ^= 1
        path.write_bytes(data)
        with pytest.raises(KanervaError, match="checksum"):
            kanerva.load(path)

    def test_changed_metadata_is_noticed(self, tmp_path):
        path = self.saved(tmp_path)
        path.write_bytes(path.read_bytes().replace(b"here", b"HERE"))
        with pytest.raises(KanervaError, match="checksum"):
            kanerva.load(path)

    @pytest.mark.parametrize("name", SHIPPED)
    def test_a_flipped_byte_of_a_shipped_model_is_noticed(self, name, tmp_path):
        """Near the end are weights; `recipe` and `schema` are words of the metadata."""
        whole = (SHIPPED_FOLDER / f"{name}.safetensors").read_bytes()
        at_schema = whole.index(b'"schema":"') + len(b'"schema":"')
        path = tmp_path / "copy.safetensors"
        for position in (len(whole) - 10, len(whole) // 2, whole.index(b"recipe"), at_schema):
            data = bytearray(whole)
            data[position] ^= 3  # the schema "2" becomes "1", which has no checksum
            path.write_bytes(data)
            with pytest.raises(KanervaError, match="checksum"):
                load_with_card(path)

    def test_the_kind_of_model_is_checked(self, tmp_path):
        path = tmp_path / "vae.safetensors"
        save_model(path, small_vae(), {})
        with pytest.raises(KanervaError, match=r"kind=VAE"):
            kanerva.load(path)
        assert isinstance(kanerva.load(path, kind=VAE), VAE)

    def test_a_memory_is_not_a_model(self, tmp_path):
        small().prior_memory().save(tmp_path / "memory.safetensors")
        with pytest.raises(KanervaError, match="load_memory"):
            kanerva.load(tmp_path / "memory.safetensors")

    def test_schema_1_is_read(self, tmp_path):
        """A file as version 0.1 wrote it: one config for all kinds, other names, no checksum."""
        model = small()
        old_names = {new: old for old, new in OLD_NAMES.items()}
        tensors = {}
        for name, tensor in model.state_dict().items():
            new = max((new for new in old_names if name.startswith(new)), key=len)
            tensors[old_names[new] + name.removeprefix(new)] = tensor.clone()
        assert "memory.addresses" in tensors
        assert "address_net.0.weight" in tensors
        fields = config_to_dict(model.config)
        fields["address_size"] = fields.pop("address_code_size")
        path = tmp_path / "old.safetensors"
        path.write_bytes(
            safetensors.torch.save(tensors, {"schema": "1", "model": json.dumps(fields)})
        )
        again = kanerva.load(path)
        for one, other in zip(again.parameters(), model.parameters(), strict=True):
            assert torch.equal(one, other)

    def test_schema_1_configs_drop_what_their_model_never_used(self):
        fields = {"kind": "vae", "address_size": 6, "num_rows": 64, "code_size": 9}
        assert config_from_dict(fields) == VAEConfig(code_size=9)


class TestMistakes:
    """Mistakes in Python are one KanervaError each, with a fix that fits."""

    @pytest.mark.parametrize(
        ("make", "fix"),
        [
            (lambda images: images.bool(), "torch.float32"),
            (lambda images: images.double(), "torch.float32"),
            (lambda images: images.byte(), "/ 255"),
            (lambda images: 3 * images + 1, "clamp"),
            (lambda images: images + math.nan, "NaN"),
            (lambda images: images[:, :0], "at least 1"),
            (lambda images: images.numpy(), "from_numpy"),
            (lambda images: images[0, 0], "images[None]"),
        ],
    )
    def test_images(self, make, fix):
        for model in (small(), small_vae()):
            with pytest.raises(KanervaError, match="episodes") as caught:
                model.elbo(make(episodes()))
            assert fix in caught.value.fix

    def test_memories_of_another_size(self):
        images = episodes()
        memory = small(code_size=7).write(images)
        for call in (small().read, small().write):
            with pytest.raises(KanervaError, match="code_size=7"):
                call(images, memory)

    @pytest.mark.parametrize("generator", [3, "cpu", torch.default_generator.get_state()])
    def test_generators(self, generator):
        model, images = small(), episodes()
        memory = model.write(images)
        for call in (
            lambda: model.write(images, generator=generator),
            lambda: model.read(images, memory, generator=generator),
            lambda: model.generate(memory, 2, generator=generator),
            lambda: model.elbo(images, generator=generator),
            lambda: small_vae().generate(2, generator=generator),
        ):
            with pytest.raises(KanervaError, match="generator"):
                call()

    @pytest.mark.parametrize("name", [None, 3, "", b"omniglot", ["omniglot"]])
    def test_names(self, name):
        with pytest.raises(KanervaError, match="checkpoint"):
            kanerva.load(name)

    @pytest.mark.parametrize("device", ["nodevice", "cuda:99", None, 3.5, "meta"])
    def test_devices(self, device):
        with pytest.raises(KanervaError, match="device"):
            kanerva.load("omniglot", device=device)

    @pytest.mark.parametrize("config", [None, VAEConfig(), {}, "omniglot"])
    def test_configs(self, config):
        with pytest.raises(KanervaError, match="config"):
            KanervaMachine(config)

    def test_numbers_of_samples(self):
        for model in (small(), small_vae()):
            for num_samples in (0, -1):
                with pytest.raises(KanervaError, match="num_samples"):
                    model.log_importance_weights(episodes(), num_samples=num_samples)
