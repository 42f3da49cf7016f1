"""Writing, repeated reading, generating and interpolating with the shipped model."""

import warnings

import pytest
import torch

import kanerva
from kanerva import KanervaError, MemoryState
from kanerva.cli.demo import draw_episodes
from kanerva.data import load_dataset
from kanerva.data.damage import damage
from kanerva.evaluation.denoise import measure_denoising


@pytest.fixture(scope="module")
def machine():
    return kanerva.load("omniglot")


@pytest.fixture(scope="module")
def images():
    return draw_episodes(2, torch.Generator().manual_seed(3))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_reading_repairs(machine, images):
    memory = machine.write(images)
    cues = damage(images, "block12", generator=seeded())
    result = machine.read(cues, memory, num_readings=2)
    before, *after = [(x - images).abs().mean().item() for x in (cues, *result.steps)]
    assert after[1] < 0.7 * before
    assert torch.equal(result.images, result.steps[-1])
    assert result.weights.shape == (2, 32, 64)
    assert result.codes.shape == (2, 32, 100)


def test_reading_is_algorithm_1(machine, images):
    """Transcribed, with the same draws."""
    memory = machine.write(images)
    generator, x = seeded(5), images
    p = images
    result = machine.read(images, memory, num_readings=3, sample=True, generator=seeded(5))
    with torch.no_grad():
        for _ in range(3):
            e = machine.coder.encode(x)
            q_y = machine.addressing.posterior(e, memory)
            y = q_y.sample(torch.randn(q_y.mean.shape, generator=generator))
            w = machine.addressing.address_for(y)
            mu = w @ memory.mean
            correction = machine.access.code_net(torch.cat([e, mu], dim=-1))
            shift, log_var = correction.chunk(2, dim=-1)
            log_var = 4 - torch.log1p((4 - log_var).exp())
            z = mu + shift + (log_var / 2).exp() * torch.randn(mu.shape, generator=generator)
            p = torch.sigmoid(machine.coder.decode(z))
            x = (torch.rand(p.shape, generator=generator) < p).float()
    torch.testing.assert_close(result.images, p, atol=1e-3, rtol=1e-3)


def test_order_and_portions_do_not_matter(machine, images):
    whole = machine.write(images)
    order = torch.randperm(32, generator=seeded())
    parts = machine.write(images[:, order[20:]], machine.write(images[:, order[:20]]))
    scale = whole.mean.abs().max()
    assert (whole.mean - parts.mean).abs().max() < 1e-4 * scale
    torch.testing.assert_close(whole.cov, parts.cov, atol=1e-4, rtol=1e-3)


def test_a_machine_knows_what_it_has_written(machine, images):
    memory = machine.write(images[0])
    known, unknown = (machine.read(x, memory, num_readings=1).confidence for x in images)
    assert known.shape == (32,)
    assert known.mean() > 0.5
    assert unknown.mean() < 0.05
    assert (known[:, None] > unknown).float().mean() > 0.97
    assert unknown.min() >= 0
    assert known.max() <= 1


def test_confidence_falls_when_recall_fails(machine):
    """In an overfull memory, and for a cue that was never written into a memory of one item."""
    generator = seeded()
    items = draw_episodes(28, generator).flatten(0, 1)
    for num_written in (32, 128, 512, 800):
        written = items[:num_written]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kanerva.FullMemoryWarning)
            memory = machine.write(written)
        cues = damage(written[:64], "block12", generator=generator)
        result = machine.read(cues, memory)
        distances = torch.cdist(result.images.flatten(1), written.flatten(1), p=1)
        recalled = (distances.argmin(-1) == torch.arange(len(cues))).float().mean()
        assert result.confidence.mean() <= recalled + 0.1, num_written
    memories = [machine.write(item[None]) for item in items[:20]]
    known, unknown = (
        torch.cat([machine.read(cue[None], memory).confidence for cue, memory in pairs])
        for pairs in (
            zip(items[:20], memories, strict=True),
            zip(items[30:50], memories, strict=True),
        )
    )
    assert known.mean() > 3 * unknown.mean()


def test_an_empty_memory_reads_the_prior(machine, images):
    result = machine.read(images[0], machine.prior_memory(), num_readings=1)
    assert torch.isfinite(result.images).all()
    assert result.confidence.mean() < 0.1


def test_each_reading_is_reported(machine, images):
    seen = []
    memory = machine.write(images[0])
    machine.read(images[0], memory, num_readings=3, on_reading=lambda n, x: seen.append((n, x)))
    assert [n for n, _ in seen] == [1, 2, 3]
    seen.clear()
    new = machine.generate(memory, 4, num_readings=2, on_reading=lambda n, x: seen.append((n, x)))
    assert [n for n, _ in seen] == [0, 1, 2]
    assert torch.equal(seen[-1][1], new)


@pytest.mark.parametrize("sample", [False, True])
def test_generating_is_seeded(machine, images, sample):
    memory = machine.write(images)
    one, same, other = (
        machine.generate(memory, 5, sample=sample, generator=seeded(n)) for n in (1, 1, 2)
    )
    assert one.shape == (2, 5, 1, 28, 28)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_new_images_look_like_what_was_written(machine, images):
    """Closer to this episode than to another."""
    new = machine.generate(machine.write(images[0]), 64, generator=seeded())
    own, other = ((new[:, None] - x).abs().flatten(2).mean(-1).amin(-1) for x in images)
    assert (own < other).float().mean() > 0.8


def test_interpolation_leads_from_one_to_the_other(machine, images):
    memory = machine.write(images[0])
    frames = machine.interpolate(images[0, 0], images[0, 1], memory, steps=5)
    assert frames.shape == (5, 1, 28, 28)
    for frame, end in ((frames[0], images[0, 0]), (frames[-1], images[0, 1])):
        read = machine.read(end[None], memory, num_readings=1)
        assert (frame - read.images[0]).abs().mean() < 0.05
        assert (frame - end).abs().mean() < 0.06


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda m, x, s: m.read(x, s, num_readings=0), "num_readings"),
        (lambda m, x, s: m.generate(s, 1, num_readings=-1), "num_readings"),
        (lambda m, x, s: m.write(x[..., :20]), "Resize"),
        (lambda m, x, s: m.read(x.expand(-1, -1, 3, -1, -1), s), "cues"),
        (lambda m, x, s: m.write(x * 255), "255"),
        (lambda m, x, s: m.write((x * 255).byte()), "255"),
        (lambda m, x, s: m.write(x * float("nan")), "nan"),
        (lambda m, x, s: m.interpolate(x[0, 0], x[0, 1], s, steps=1), "steps"),
    ],
)
def test_mistakes(machine, images, call, word):
    state: MemoryState = machine.prior_memory()
    with pytest.raises(KanervaError, match=word):
        call(machine, images, state)


def test_denoising_is_measured_against_the_clean_image(machine):
    data = load_dataset("glyphs", "test", show_progress=False)
    result = measure_denoising(
        machine, data, kind="block12", num_episodes=4, num_readings=2, batch_size=3
    )
    assert 0.1 < result.cue_error < 0.16
    assert result.errors[1] < 0.8 * result.cue_error
    assert len(result.errors) == len(result.stderrs) == 2
    assert result.image_bytes == 32 * 98  # 28 x 28 bits are 98 bytes
    whole = measure_denoising(
        machine, data, kind="none", num_episodes=4, num_readings=2, batch_size=3
    )
    assert whole.cue_error == 0
    assert whole.recognised > 0.95 > result.recognised > 0.3


def test_what_is_not_an_image_or_a_memory_is_refused(machine, images):
    memory = machine.write(images[0])
    batch = machine.write(images)
    for call in (
        lambda: machine.write(images[0, :0]),
        lambda: machine.write(images[0].numpy()),
        lambda: machine.write(images[0].double()),
        lambda: machine.read(images[0, :0], memory),
        lambda: machine.read(images[0], batch),
        lambda: machine.read(images[0], None),
        lambda: machine.read(images[0], memory, num_readings=1.5),
        lambda: machine.generate(memory, 0),
        lambda: machine.generate(memory, 2.5),
        lambda: machine.generate(None, 3),
        lambda: machine.interpolate(images[0, 0], images[:, 0], memory),
        lambda: machine.interpolate(images[0, 0], images[0, 1], memory, steps=2.5),
        lambda: machine.elbo(images * 255),
    ):
        with pytest.raises(KanervaError):
            call()


@pytest.mark.parametrize("name", ["handwriting", "omniglot"])
@pytest.mark.parametrize("keep_cue", [True, False])
def test_a_cue_without_ink_has_no_confidence(name, keep_cue):
    km, images = kanerva.load(name), draw_episodes(1, seeded())[0]
    cues = torch.cat([torch.zeros(1, 1, 28, 28), images[:1]])
    confidence = km.read(cues, km.write(images), keep_cue=keep_cue).confidence
    assert confidence[0] == 0
    assert confidence[1] > 0


def test_a_memory_with_fourier_keys_warns_when_recall_fails():
    """As many items as rows: 86 % of the drawings under a block are found, of 400 only 38 %."""
    km, items = kanerva.load("handwriting"), draw_episodes(10, seeded()).flatten(0, 1)
    memory = km.write(items[:100])  # what confidence was calibrated with: no warning
    with pytest.warns(kanerva.FullMemoryWarning, match=r"\d+% full"):
        km.write(items[100:320], memory)


def test_an_overfull_memory_warns(machine):
    items = draw_episodes(4, seeded()).flatten(0, 1)
    machine.write(items[:32])  # what it was trained with: no warning
    with pytest.warns(kanerva.FullMemoryWarning, match="full"):
        machine.write(items)


@pytest.mark.parametrize("name", ["omniglot", "omniglot-vae"])
def test_a_bound_keeps_all_leading_dimensions(name, images):
    model = kanerva.load(name)
    for episodes, shape in ((images[0], ()), (images[None], (1, len(images)))):
        assert model.elbo(episodes, generator=seeded()).total.shape == shape
