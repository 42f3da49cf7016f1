"""`kanerva compare` as a real process, and the counting of seeds."""

import json
import math
import subprocess
import sys

import pytest

from kanerva.training.compare import MEMORIES, compare_plan, summary
from kanerva.training.recipes import RECIPES
from kanerva.training.records import EvaluationRow, RunRecord


def compare(folder, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kanerva.cli.main", "compare", "--out", str(folder / "runs")]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)


def test_all_memories_are_trained_and_measured(tmp_path):
    options = ("--steps", "6", "--episodes", "4", "--device", "cpu")
    first = compare(tmp_path, *options, "--json")
    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    assert [row["memory"] for row in report["summary"]] == list(MEMORIES)
    for row in report["summary"]:
        assert math.isfinite(row["best"])
        assert row["failed"] == 1  # six steps teach less than how often each pixel is ink
        assert row["num_parameters"] > 1000
        assert row["ms_per_step"] > 0
        assert (row["memory_kl_per_item"] is None) == (row["memory"] in ("DNC", "LRUA"))
    for curves in report["capacity"].values():
        assert set(curves) == {"2", "12", "all"}
        assert [row["episode_length"] for row in curves["all"]][-2:] == [200, 300]
    saved = json.loads((tmp_path / "runs" / "compare.json").read_text())
    assert saved["schema"] == 2
    assert saved["summary"] == report["summary"]
    assert saved["pixel_entropy"] > 100
    (dnc,) = (run for run in saved["runs"] if run["label"] == "DNC")
    assert dnc["seed"] == 0
    assert len(dnc["curve"]) == 6
    checkpoints = sorted((tmp_path / "runs").glob("*/checkpoint-*"))
    times = [path.stat().st_mtime_ns for path in checkpoints]
    again = compare(tmp_path, *options)  # nothing is trained twice
    assert again.returncode == 0, again.stderr
    assert "Dynamic" in again.stdout
    assert times == [path.stat().st_mtime_ns for path in checkpoints]
    saved_again = json.loads((tmp_path / "runs" / "compare.json").read_text())
    assert saved_again == saved


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--recipe", "omniglot-vae"), "--recipe"),
        (("--recipe", "nothing"), "--recipe"),
        (("--seeds", "0"), "--seeds"),
        (("--episodes", "-3"), "--episodes"),
    ],
)
def test_mistakes_are_one_line(tmp_path, options, word):
    done = compare(tmp_path, *options)
    assert done.returncode == 2
    assert word in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_plan_changes_only_the_memory():
    plan = compare_plan("omniglot", seeds=2, steps=None, episodes=10)
    assert [run.id.label for run in plan.runs] == [label for label in MEMORIES for _ in range(2)]
    recipes = ("memory-only", "dnc", "lrua", "dynamic")
    for run, recipe in zip(plan.runs[::2], recipes, strict=True):
        assert run.config.model == RECIPES[f"omniglot-{recipe}"].model
        assert run.config.training.lr == RECIPES[f"omniglot-{recipe}"].training.lr
    short = compare_plan("omniglot", seeds=1, steps=100, episodes=10)
    assert {run.config.training.lr for run in short.runs} == {3e-3}  # too short for a low rate


def record(label: str, seed: int, bound: float, cost: float | None) -> RunRecord:
    return RunRecord(
        label=label,
        seed=seed,
        recipe="tiny",
        config={},
        final=EvaluationRow(
            bound=bound,
            stderr=1.0,
            reconstruction=bound,
            kl_address=0.0,
            kl_code=0.0,
            memory_kl_per_item=cost,
            episodes=4,
            episode_length=16,
        ),
        curve=[],
        num_steps=6,
        seconds=1.0,
        device="cpu",
        num_parameters=1000,
        ms_per_step=None,
    )


def test_seeds_that_fail_are_counted():
    rows = summary(
        [
            record("DNC", 0, 100.0, None),
            record("DNC", 1, 124.0, None),
            record("DNC", 2, 126.0, None),
            record("DNC", 3, math.nan, None),
            record("Kanerva Machine", 0, math.nan, 3.0),
            record("LRUA", 0, 211.0, None),
            record("LRUA", 1, 212.0, None),
        ],
        pixel_entropy=210.0,
    )
    failed = {row["memory"]: row["failed"] for row in rows}
    assert failed == {"DNC": 2, "Kanerva Machine": 1, "LRUA": 2}
    assert rows[0]["best"] == 100.0
    assert rows[0]["memory_kl_per_item"] is None
    assert rows[1]["memory_kl_per_item"] == 3.0
