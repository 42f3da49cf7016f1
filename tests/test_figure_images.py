"""The experiments behind the figures of images, on glyphs and in seconds."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

import kanerva
from kanerva import VAE
from kanerva.data import load_dataset
from kanerva.figures.recall_drawings import recall_images
from kanerva.figures.results import Results

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


def experiment(name: str) -> ModuleType:
    """A script of experiments/ as a module."""
    spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def models():
    return kanerva.load("omniglot"), kanerva.load("omniglot-vae", kind=VAE)


@pytest.fixture(scope="module")
def glyphs():
    return load_dataset("glyphs", "test", show_progress=False)


def test_figures_can_read_the_images(models, glyphs, tmp_path):
    images = experiment("figure_images").figure_images(*models, glyphs)
    (tmp_path / "figure_images.json").write_text(json.dumps({"glyphs": images}))
    results = Results.load(tmp_path)
    found = results.reconstruction("glyphs")
    assert found.written.shape == found.read.shape == (8, 1, 28, 28)
    assert 1 < found.rows_used < 64
    assert list(results.image_rows("glyphs", "repair")) == [
        "written",
        "damaged",
        "reading 1",
        "reading 2",
        "reading 3",
    ]
    for key, count in (("2", 12), ("4", 12), ("12", 12), ("24", 24)):
        rows = results.image_rows("glyphs", "samples", key)
        assert len(rows) == 6
        assert len(rows["written"]) == count
    assert len(results.image_rows("glyphs", "line")) == 4
    assert len(results.image_rows("glyphs", "vae")) == 6


def test_recall_and_its_failures(glyphs, tmp_path):
    """Two cues of each kind, and of most kinds a failure of a model that is bad at it."""
    images = experiment("figure_images").recall_images(kanerva.load("omniglot"), glyphs, 2)
    (tmp_path / "figure_images.json").write_text(json.dumps({"handwriting": images}))
    results = Results.load(tmp_path)
    examples = results.image_rows("handwriting", "recall")
    failures = results.image_rows("handwriting", "failures")
    assert len(examples) == 15
    assert "none" not in failures
    assert {"block12", "half", "shift3"} < set(failures) < set(examples)
    assert all(row.shape == (8, 1, 28, 28) for row in examples.values())
    assert all(row.shape == (4, 1, 28, 28) for row in failures.values())
    written, cue, _, nearest = examples["none"][:4]
    assert (written == cue).all()
    assert (written == nearest).all()
    without = ", ".join(kind for kind in examples if kind not in failures)
    assert recall_images(results).verdict.endswith(f"No such cue was found with: {without}.")


def test_samples_are_counted(models, glyphs):
    samples = experiment("samples")
    torch.manual_seed(0)
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, len(glyphs.class_names)))
    shares = samples.count(*models, classifier, glyphs, 2, num_episodes=2, num_samples=3)
    assert set(shares) == {"kanerva", "vae", "real"}
    assert len(shares["kanerva"]["mean"]) == len(shares["vae"]["stderr"]) == 5
    assert all(0 <= share <= 1 for part in shares.values() for share in part["mean"])
