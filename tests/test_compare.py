"""`kanerva compare` as a real process, and the counting of seeds."""

import json
import math
import subprocess
import sys

import pytest

from kanerva.training.compare import CONTENDERS, summary


def compare(folder, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kanerva.cli.main", "compare", "--out", str(folder / "runs")]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)


def test_all_memories_are_trained_and_measured(tmp_path):
    options = ("--steps", "6", "--episodes", "4", "--device", "cpu")
    first = compare(tmp_path, *options, "--json")
    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    assert [row["memory"] for row in report["summary"]] == list(CONTENDERS)
    for row in report["summary"]:
        assert math.isfinite(row["best"])
        assert row["failed"] == 1  # six steps teach less than how often each pixel is ink
        assert row["parameters"] > 1000
        assert (row["memory_kl_per_item"] is None) == (row["memory"] in ("DNC", "LRUA"))
    for curves in report["capacity"].values():
        assert set(curves) == {"2", "12", "all"}
        assert [row["episode_length"] for row in curves["all"]][-2:] == [200, 300]
    saved = json.loads((tmp_path / "runs" / "compare.json").read_text())
    assert len(saved["runs"]["DNC seed 0"]["curve"]) == 6
    checkpoints = sorted((tmp_path / "runs").glob("*/checkpoint-*"))
    times = [path.stat().st_mtime_ns for path in checkpoints]
    again = compare(tmp_path, *options)  # nothing is trained twice
    assert again.returncode == 0, again.stderr
    assert "Dynamic" in again.stdout
    assert times == [path.stat().st_mtime_ns for path in checkpoints]
    saved_again = json.loads((tmp_path / "runs" / "compare.json").read_text())
    assert [run["final"] for run in saved_again["runs"].values()] == [
        run["final"] for run in saved["runs"].values()
    ]


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


def test_seeds_that_fail_are_counted():
    def run(bound: float, kind: str) -> dict:
        final = {"bound": bound, "memory_kl_per_item": None if kind == "dnc" else 3.0}
        return {"config": {"model": {"kind": kind}}, "final": final}

    rows = summary(
        {
            "DNC seed 0": run(100.0, "dnc"),
            "DNC seed 1": run(124.0, "dnc"),
            "DNC seed 2": run(126.0, "dnc"),
            "DNC seed 3": run(math.nan, "dnc"),
            "Kanerva Machine seed 0": run(math.nan, "kanerva"),
            "LRUA seed 0": run(211.0, "lrua"),
            "LRUA seed 1": run(212.0, "lrua"),
        },
        knows_nothing=177.0,
    )
    failed = {row["memory"]: row["failed"] for row in rows}
    assert failed == {"DNC": 2, "Kanerva Machine": 1, "LRUA": 2}
    assert rows[0]["best"] == 100.0
    assert rows[0]["memory_kl_per_item"] is None
    assert rows[1]["memory_kl_per_item"] == 3.0
