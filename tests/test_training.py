"""Training: it learns, its optimiser is Adam, its configs and recipes are what they say."""

import dataclasses
import json

import pytest
import torch

from kanerva.data import EpisodeSampler, load_dataset
from kanerva.errors import KanervaError
from kanerva.models.build import build_model
from kanerva.models.checkpoint import load, save_model
from kanerva.models.config import CONFIGS, DNCConfig, VAEConfig
from kanerva.tensor_file import read_tensor_file, write_tensor_file
from kanerva.training.adam import Adam, clipped, update
from kanerva.training.changes import train_command, with_changes
from kanerva.training.config import Config, TrainingConfig, config_from_json, config_to_json
from kanerva.training.recipes import RECIPES
from kanerva.training.schedule import Schedule
from kanerva.training.step import TrainingStep
from small_runs import CPU, MODEL, SMALL, with_training


def test_training_learns():
    """A few dozen steps of the smallest model on real letterforms."""
    data = load_dataset("glyphs", "fit", show_progress=False)
    torch.manual_seed(0)
    step = TrainingStep(
        build_model(MODEL),
        EpisodeSampler(data, num_items=8),
        TrainingConfig(steps=120, batch=8, warmup=10, kl_warmup=20, precision="float32"),
        device=CPU,
    )
    step.run(10)
    before = step.progress().bound
    step.run(100)
    step.progress()
    step.run(10)
    after = step.progress()
    assert after.bound < before - 100
    assert after.skipped == 0


def test_bad_gradients_are_left_out():
    """They move nothing that was still, and Adam forgets a little."""
    for bad in (float("nan"), float("inf")):
        adam = Adam.of(torch.arange(4.0))
        update(adam, torch.tensor([bad, 1, 2, 3]), torch.tensor(0.1), torch.tensor(0.0), 4.0)
        assert torch.equal(adam.vector, torch.arange(4.0))
        assert adam.mean.abs().max() == adam.square.abs().max() == 0


def test_entries_of_a_gradient_are_clipped_by_their_usual_size():
    sizes = torch.linspace(0, 1, 100)
    square = sizes.square() * (1 - 0.999**1000)
    gradient = torch.where(sizes > 0.5, 1e6, -2.0 * sizes)
    early, late = torch.tensor(50.0), torch.tensor(1000.0)
    assert torch.equal(clipped(gradient, square, early, 4.0), gradient)  # not known yet
    expected = torch.where(sizes > 0.5, 4.0 * sizes, -2.0 * sizes)
    torch.testing.assert_close(clipped(gradient, square, late, 4.0), expected)


def test_our_adam_is_torchs():
    """Without clipping, over steps of very different sizes."""
    torch.manual_seed(0)
    ours = Adam.of(torch.randn(50, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.vector.clone())
    optimizer = torch.optim.Adam([theirs], lr=0.1)
    for count in range(200):
        gradient = torch.randn(50, dtype=torch.float64) * 10 ** (3 * torch.rand(50) - 2)
        update(ours, gradient, torch.tensor(0.1), torch.tensor(float(count)), 1e9)
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours.vector, theirs.detach(), rtol=1e-5, atol=1e-5)


def test_flat_parameters_are_adam_on_the_parameters():
    """The vector's Adam makes the same steps as Adam on each tensor."""
    data = load_dataset("glyphs", "fit", show_progress=False)
    config = dataclasses.replace(SMALL.training, steps=1000, warmup=1, kl_warmup=1, clip=1e9)
    torch.manual_seed(0)
    flat = TrainingStep(build_model(MODEL), EpisodeSampler(data, num_items=4), config, device=CPU)
    torch.manual_seed(0)
    plain = build_model(MODEL).train()
    optimizer = torch.optim.Adam(plain.parameters(), lr=config.lr)
    generator = torch.Generator().manual_seed(config.seed * 1009)
    sampler = EpisodeSampler(data, num_items=4)
    flat.run(3)
    for count in range(3):
        bound = plain.elbo(sampler.sample(config.batch, generator=generator), generator=generator)
        optimizer.param_groups[0]["lr"] = config.lr * min(1, count + 1) * (1000 - count) / 999
        if count == 0:
            optimizer.param_groups[0]["lr"] = config.lr
        optimizer.zero_grad()
        bound.weighted(0.1 if count == 0 else 1.0).mean().backward()
        optimizer.step()
    for one, other in zip(flat.model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_schedule_rises_holds_and_falls():
    config = TrainingConfig(steps=1000, warmup=100, decay=0.5, lr=2.0, kl_warmup=50)
    schedule = Schedule.of(config, CPU)
    rates = [schedule.learning_rate(torch.tensor(float(count))).item() for count in range(1001)]
    assert rates[0] == pytest.approx(0.02)
    assert rates[49] == pytest.approx(1.0)
    assert rates[99:551] == [2.0] * 452  # 450 of the 900 other steps
    assert rates[775] == pytest.approx(1.0)
    assert rates[1000] == 0
    weights = [schedule.kl_weight(torch.tensor(float(count))).item() for count in (0, 25, 50, 999)]
    assert weights == pytest.approx([0.1, 0.55, 1.0, 1.0])


def test_damaged_cues_are_an_argument_of_the_forward_pass():
    """The first episodes of a batch are read with damaged images."""
    data = load_dataset("glyphs", "fit", show_progress=False)
    torch.manual_seed(0)
    step = TrainingStep(
        build_model(MODEL),
        EpisodeSampler(data, num_items=3),
        dataclasses.replace(SMALL.training, batch=8, damaged=0.25),
        device=CPU,
    )
    seen = []
    step.model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    step.run(1)
    (images, noise, cues) = seen[0]
    assert cues.shape == (2, *images.shape[1:])
    assert not torch.equal(cues, images[:2])
    bound = step.model.eval()(images, noise._replace(embedding=None), cues)
    assert bound.total.shape == (8,)


# -- configs and recipes -------------------------------------------------------------------------


def test_recipes_have_the_papers_sizes():
    sizes = ("num_filters", "code_size", "num_rows", "key_size")
    for recipe, expected in (("omniglot", [16, 100, 64, 50]), ("cifar10", [32, 200, 128, 50])):
        assert [getattr(RECIPES[recipe].model, name) for name in sizes] == expected
    assert RECIPES["omniglot"].data.episode_length == 32
    assert RECIPES["omniglot"].training.batch == 16


def test_paper_recipes_are_what_the_text_says():
    """Section 4 and appendix C: sizes, and Adam at 1e-4 with nothing around it."""
    for name in ("omniglot-paper", "omniglot-paper-vae", "cifar10-paper", "cifar10-paper-vae"):
        training = RECIPES[name].training
        assert (training.lr, training.batch, training.start) == (1e-4, 16, "truncated")
        assert (training.warmup, training.kl_warmup, training.decay) == (0, 0, 0)
        assert training.damaged == 0
        assert RECIPES[name].data.episode_length == 32
        rates = Schedule.of(training, torch.device("cpu"))
        counts = torch.tensor([0.0, 1.0, 1000.0, training.steps - 1.0])
        torch.testing.assert_close(rates.learning_rate(counts), torch.full((4,), 1e-4))
        assert (rates.kl_weight(counts[1:]) == 1).all()
    for ours, paper in (("omniglot", "omniglot-paper"), ("cifar10", "cifar10-paper")):
        for size in ("num_filters", "code_size", "num_rows", "key_size", "noise_var", "likelihood"):
            assert getattr(RECIPES[ours].model, size) == getattr(RECIPES[paper].model, size)
        assert vars(RECIPES[paper].model)["input_noise"] == 0.2


def test_the_matched_vae_has_as_many_parameters_as_the_machine():
    counts = [
        sum(parameter.numel() for parameter in build_model(RECIPES[name].model).parameters())
        for name in ("omniglot", "omniglot-vae-matched")
    ]
    assert abs(counts[1] / counts[0] - 1) < 0.02


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_uses_the_config_of_its_kind(name):
    kinds = {"vae": VAEConfig, "dnc": DNCConfig}
    config = RECIPES[name]
    kind = next((word for word in name.split("-") if word in CONFIGS), "kanerva")
    if "fewshot" in name:
        kind = "ladder-vae" if name.endswith("-vae") else "fewshot"
    assert config.model.kind == kind
    assert isinstance(config.model, kinds.get(kind, type(config.model)))
    alone = kind in ("dnc", "lrua") or name.endswith("memory-only")
    assert getattr(config.model, "bottom_up", None) in (not alone, None)
    assert config_from_json(json.loads(json.dumps(config_to_json(config)))) == config


def test_a_config_of_version_0_1_is_read():
    """One set of model fields for all kinds, some unused; younger fields of a training missing."""
    old = {
        "model": {
            **{"kind": "vae", "image_shape": [1, 28, 28], "likelihood": "bernoulli"},
            **{"num_filters": 16, "code_size": 100, "num_rows": 64, "key_size": 50},
            **{"address_size": 6, "hidden_size": 400, "bottom_up": True, "input_noise": 0.2},
            **{"noise_var": 1.0, "covariance": "full", "chunk": None, "reading": "mean"},
            "writing": "sample",
        },
        "data": dataclasses.asdict(RECIPES["omniglot-vae"].data),
        "training": {"lr": 2e-3, "damaged": 0.0, "steps": 40_000},
    }
    assert config_from_json(old) == RECIPES["omniglot-vae"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"training.lrr": 1}, ["training.lrr", "Did you mean 'training.lr'"]),
        ({"lr": 1}, ["lr", "such as training.lr"]),
        ({"training.lr": "fast"}, ["training.lr", "a number", "'fast'"]),
        ({"training.steps": 1.5}, ["training.steps", "a whole number", "1.5"]),
        ({"training.compile": "yes"}, ["training.compile", "true or false"]),
        ({"training.lr": -1.0}, ["--training.lr", "above 0"]),
        ({"data.binarisation": "half"}, ["data.binarisation", "threshold20", "null"]),
        ({"model.image_shape": [28, 28]}, ["model.image_shape", "a list of 3 whole numbers"]),
        ({"model.covariance": "ful"}, ["model.covariance", "diagonal"]),
    ],
)
def test_wrong_changes_are_refused(change, words):
    with pytest.raises(KanervaError) as caught:
        with_changes(RECIPES["omniglot"], change)
    for word in words:
        assert word in str(caught.value)


def test_settings_of_other_models_are_refused():
    for recipe, setting in (
        ("omniglot-vae", "model.num_rows"),
        ("omniglot-dnc", "model.covariance"),
        ("omniglot-dynamic", "model.bottom_up"),
    ):
        with pytest.raises(KanervaError, match="applies only to other kinds of models"):
            with_changes(RECIPES[recipe], {setting: 8})


def test_a_vae_has_no_damaged_cues():
    with pytest.raises(KanervaError, match="no memory to read with a damaged image"):
        with_training(RECIPES["omniglot-vae"], damaged=0.25)


def test_the_command_of_a_config_leads_back_to_it():
    changes = {"model.covariance": "diagonal", "model.bottom_up": False, "training.seed": 3}
    config = with_changes(RECIPES["omniglot"], {**changes, "training.compile": True})
    assert train_command("omniglot", config) == (
        "kanerva train omniglot --model.covariance diagonal --model.no-bottom-up "
        "--training.seed 3 --training.compile"
    )
    from kanerva.cli.commands import parse

    call = parse(train_command("omniglot", config).split()[1:])
    assert call.args[0] == config  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(TrainingConfig)])
def test_every_number_of_a_training_is_checked(field):
    if field in ("compile", "search_convolutions"):
        return  # any value of a flag is a training; JSON and the command line check its type
    for bad in (-1, "" if field == "start_from" else "many"):
        with pytest.raises(KanervaError, match=field.replace("_", "-")):
            TrainingConfig(**{field: bad})  # pyright: ignore[reportArgumentType]
    with pytest.raises(KanervaError, match="data"):
        config_from_json({**config_to_json(Config()), "data": None})


def test_broken_checkpoints_are_refused(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "model.safetensors"
    save_model(path, build_model(MODEL), {})
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], b"", b"not a checkpoint at all", good[:9]):
        path.write_bytes(bad)
        with pytest.raises(KanervaError, match="checkpoint"):
            load(path)
    path.write_bytes(good.replace(b'"schema":"2"', b'"schema":"9"'))
    with pytest.raises(KanervaError, match="schema 1 or 2, got '9'"):
        load(path)
    path.write_bytes(good)
    tensors, metadata, _ = read_tensor_file(path)
    renamed = {name.replace("address_net", "address_nut"): value for name, value in tensors.items()}
    write_tensor_file(path, renamed, metadata)
    with pytest.raises(KanervaError, match="parameters of the model"):
        load(path)
    for change in ({"model": {"kind": "kanervo"}}, {"card": []}):
        write_tensor_file(path, tensors, {**metadata, **change})
        with pytest.raises(KanervaError):
            load(path)
    with pytest.raises(KanervaError, match="nowhere"):
        load("nowhere")
    with pytest.raises(KanervaError, match="has none"):
        load(tmp_path.parent)
