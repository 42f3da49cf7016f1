"""Few-shot models on the command line: training, evaluation by prefixes, new drawings."""

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

import kanerva
from kanerva.cli.commands import parse
from kanerva.data import render_glyphs
from kanerva.models.checkpoint import SHIPPED_FOLDER, load_with_card
from kanerva.models.config import FewShotConfig, LadderVAEConfig
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.training.recipes import RECIPES

FEW_SHOT = [name for name in RECIPES if name.startswith("omniglot-fewshot")]
SMALL = [
    *("--data.name", "glyphs", "--training.steps", "2", "--training.batch", "2"),
    *("--training.eval-episodes", "2", "--training.eval-every", "2", "--device", "cpu"),
    *("--model.num-filters", "4", "--model.num-wide", "4", "--model.code-size", "49"),
    *("--data.episode-length", "4", "--data.split", "train", "--data.monitor", "test"),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """The JSON object that a command prints."""
    parse([*words, "--json"])()
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("recipe", FEW_SHOT)
def test_recipes_train_and_are_evaluated(recipe, capsys):
    parse(["train", recipe, *SMALL, "--out", "run"])()
    capsys.readouterr()
    _, card = load_with_card("run")
    assert card["distinct"] is True
    assert card.get("episode_classes") == RECIPES[recipe].data.episode_classes
    report = call(capsys, "eval", "run", "--prequential", "--orders", "1", "--beside", "run")
    curve = report["curves"]["run"]
    assert len(curve["nats"]) == 4
    assert report["num_classes"] == RECIPES[recipe].data.episode_classes
    assert all(value == 0 for value in report["minus_beside"]["nats"])
    plain = call(capsys, "eval", "run", "--episodes", "3")
    assert plain["total_with_memory"] == pytest.approx(plain["bound"]), "nothing is left out"


def test_importance_samples_and_the_table(capsys):
    parse(["train", "omniglot-fewshot", *SMALL, "--out", "run"])()
    words = ["eval", "run", "--prequential", "--orders", "1", "--samples", "3"]
    report = call(capsys, *words, "--sampled-episodes", "2")
    assert report["importance"]["after"] == [0, 1, 2]
    assert report["importance"]["episodes"] == 2
    parse([*words, "--sampled-episodes", "2"])()
    text = capsys.readouterr().out
    assert "nats after" in text
    assert "3 importance samples, 2 episodes" in text
    assert "the memory included" in text


def test_the_total_stands_next_to_the_bound(capsys):
    words = ["eval", "omniglot", "--dataset", "glyphs", "--episodes", "2"]
    report = call(capsys, *words)
    assert report["total_with_memory"] == report["bound"] + report["memory_kl_per_item"]
    parse(words)()
    assert f"{report['total_with_memory']:.1f} nats per image in all" in capsys.readouterr().out


def test_the_papers_model_item_by_item(capsys):
    words = ["eval", "omniglot", "--dataset", "glyphs", "--prequential", "--orders", "1"]
    report = call(capsys, *words, "--episode-length", "3", "--num-classes", "1")
    assert list(report["curves"]) == ["omniglot", "omniglot-vae"]


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["eval", "fewshot", "--samples", "3"], "--samples"),
        (["eval", "fewshot", "--beside", "omniglot-vae"], "--beside"),
        (["eval", "fewshot", "--orders", "3"], "--orders: .*--prequential"),
        (["eval", "fewshot", "--sampled-episodes", "5"], "--sampled-episodes: .*--prequential"),
        (["eval", "fewshot", "--prequential", "--sampled-episodes", "5"], "expected --samples"),
        (["eval", "fewshot", "--prequential", "--importance", "5"], "--importance: .*--samples"),
        (["eval", "fewshot", "--prequential", "--episodes", "7"], "--episodes: .*--orders"),
        (["generate", "fewshot", "--readings", "2"], "--readings"),
        (["generate", "fewshot", "--sample"], "--sample"),
        (["generate", "fewshot-vae"], "checkpoint"),
    ],
)
def test_mistakes(words, flag):
    with pytest.raises(kanerva.KanervaError, match=flag):
        parse(words)()


def test_new_drawings_from_files(capsys):
    Path("drawings").mkdir()
    for number, image in enumerate(255 - render_glyphs([5] * 3, seed=0)[:, 0]):
        Image.fromarray(image.numpy()).save(f"drawings/{number}.png")
    report = call(capsys, "generate", "--memory", "drawings", "--num", "20", "--out", "new.png")
    assert (report["num"], report["written"], report["readings"]) == (20, 3, 0)
    assert Path("new.png").stat().st_size > 500
    call(capsys, "generate", "--memory", "drawings", "--out", "new.gif")
    call(capsys, "generate", "--num", "4", "--out", "prior.png")


def test_shipped_models():
    model, vae = kanerva.load("fewshot"), kanerva.load("fewshot-vae")
    assert isinstance(model, FewShotMachine)
    assert isinstance(vae, LadderVAE)
    sizes = [sum(p.numel() for p in one.parameters()) for one in (model, vae)]
    assert abs(sizes[0] / sizes[1] - 1) < 0.02, "as many parameters within 2 %"
    for name in ("fewshot", "fewshot-vae"):
        assert (SHIPPED_FOLDER / f"{name}.safetensors").stat().st_size <= 4 * 2**20
    drawings = render_glyphs([9] * 4, seed=0).float().div(255).round()
    noise = model.draw_noise(drawings[None], generator=torch.Generator().manual_seed(0))
    assert model.item_bounds(drawings[None], noise).total.isfinite().all()


def test_twins_have_as_many_parameters():
    from kanerva.models.build import build_model

    for name in FEW_SHOT:
        if name.endswith("-vae"):
            twin, model = RECIPES[name].model, RECIPES[name.removesuffix("-vae")].model
            assert isinstance(twin, LadderVAEConfig)
            assert isinstance(model, FewShotConfig)
            counts = [sum(p.numel() for p in build_model(c).parameters()) for c in (twin, model)]
            assert abs(counts[0] / counts[1] - 1) < 0.02


def test_too_few_images_are_refused_before_training():
    with pytest.raises(kanerva.KanervaError, match="different images"):
        parse(["train", "omniglot-fewshot", *[w if w != "4" else "500" for w in SMALL]])()


def test_training_starts_from_a_trained_model(capsys):
    parse(["train", "omniglot-fewshot", *SMALL, "--out", "one"])()
    words = ["--training.start-from", "one", "--training.lr", "1e-12", "--training.warmup", "0"]
    parse(["train", "omniglot-fewshot2", *SMALL, *words, "--out", "two"])()
    one, two = (load_with_card(name)[0].state_dict() for name in ("one", "two"))
    for name, value in one.items():
        torch.testing.assert_close(value, two[name], rtol=0, atol=1e-6)
    with pytest.raises(kanerva.KanervaError, match="start-from"):
        parse(["train", "omniglot-fewshot-vae", *SMALL, *words, "--out", "three"])()


def test_no_confidence_is_claimed(capsys):
    """The memory keeps what drawings have in common; whether one was written it cannot say."""
    drawing = render_glyphs([50], seed=0)[0, 0]
    Image.fromarray(255 - drawing.numpy()).save("drawing.png")
    report = call(capsys, "denoise", "fewshot", "--memory", "drawing.png", "--out", "read.png")
    assert report["read"] == [
        {"cue": "drawing.png", "confidence": None, "known": True, "out": "read.png"}
    ]
    parse(["denoise", "fewshot", "--memory", "drawing.png"])()
    assert capsys.readouterr().out == "drawing.png: read, repaired: runs/denoise/drawing.png\n"
    with pytest.raises(kanerva.KanervaError, match="a model that says how sure it is"):
        parse(["denoise", "fewshot", "--memory", "drawing.png", "--min-confidence", "0.5"])()
