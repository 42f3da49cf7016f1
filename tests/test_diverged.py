"""A training that diverges says what to do about it; in a sweep the other runs go on."""

import json
import math
import subprocess
from pathlib import Path

import pytest

from small_runs import KANERVA, SMALL_CHANGES, SMALL_FLAGS


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KANERVA, *words], capture_output=True, text=True, timeout=120)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The line about the mistake, after what was shown and warned about before."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("recipe", ["glyphs", "glyphs-vae"])
def test_a_diverged_training_says_what_to_do(tmp_path, recipe):
    """The algebra of a memory refuses numbers that are not finite. A VAE skips all steps."""
    flags = SMALL_FLAGS if recipe == "glyphs" else [*SMALL_FLAGS[:4], *SMALL_FLAGS[6:]]
    steps = ("--training.steps", "2000", "--training.lr", "1e20", "--training.warmup", "3")
    out = str(tmp_path / "run")
    done = run("train", recipe, "--out", out, *flags, *steps, "--device", "cpu")
    line = complaint(done)
    assert "diverged" in line
    assert "--training.lr (1e+20 here; try 1e+19)" in line
    assert "--training.warmup (3 here; try 30)" in line
    assert "items" not in line
    assert "another folder" in line


def test_the_first_step_cannot_diverge(tmp_path):
    """A mistake in the settings is not blamed on the learning rate."""
    flags = ("--model.noise-var", "1e-300", "--training.steps", "20", "--device", "cpu")
    line = complaint(run("train", "tiny", "--out", str(tmp_path / "run"), *SMALL_FLAGS, *flags))
    assert "--training.lr" not in line


def test_the_other_runs_of_a_sweep_go_on(tmp_path: Path):
    diverging = {**SMALL_CHANGES, "training.lr": 1e20, "training.warmup": 3}
    runs = [
        {"label": "good", "recipe": "tiny", "changes": SMALL_CHANGES},
        {"label": "bad", "recipe": "tiny", "changes": diverging},
    ]
    plan = tmp_path / "plan.json"
    contents = {
        **{"what": "One run diverges", "split": "fit", "monitor": "valid", "report": "test"},
        **{"episodes": 4, "runs": runs, "capacity": [{"label": "bad"}]},
        "keep": [{"label": "bad", "name": "bad"}],
    }
    plan.write_text(json.dumps(contents))
    out = tmp_path / "out"
    done = run("sweep", str(plan), "--out", str(out), "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "bad, seed 0: the training diverged" in done.stderr
    record = json.loads((out / "plan.json").read_text())
    good, bad = record["runs"]
    assert math.isfinite(good["final"]["bound"])
    assert good["num_steps"] == 24
    assert bad["final"]["bound"] is None
    assert bad["num_steps"] < 24
    assert record["best"] == {"tiny": "good"}
    assert record["capacity"] == {}
    assert not (out / "bad.safetensors").exists()
    assert (out / "tiny.safetensors").exists()
