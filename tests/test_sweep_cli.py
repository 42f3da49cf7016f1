"""`kanerva sweep` as a real process: killed and continued, interrupted, mistaken."""

import json
import runpy
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kanerva.training.plan_file import parse_plan
from kanerva.training.sweep import SweepResult
from small_runs import CPU, KANERVA
from test_sweep import CONTENTS, sweep, without_times


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, SweepResult]:
    """A sweep that was left alone."""
    out = tmp_path_factory.mktemp("whole")
    return out, sweep(out)


def command(folder: Path, *options: str) -> list[str]:
    plan = folder / "plan.json"
    plan.write_text(json.dumps(CONTENTS))
    return [*KANERVA, "sweep", str(plan), "--out", str(folder / "out"), "--device", "cpu", *options]


def test_kill_and_continue_gives_the_same_record(whole, tmp_path):
    process = subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE)
    limit = time.monotonic() + 60
    while not list((tmp_path / "out").glob("*/checkpoint-*")):
        assert time.monotonic() < limit
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "out" / "plan.json").exists()
    done = subprocess.run(command(tmp_path, "--json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["finished"]
    assert report["results"] == str(tmp_path / "out" / "plan.json")
    saved = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert saved["command"] == f"kanerva sweep {tmp_path}/plan.json --out OUT"
    expected = {**without_times(whole[1].record), "command": saved["command"]}
    assert without_times(saved) == json.loads(json.dumps(expected))
    assert [run["final"] for run in report["runs"]] == [run["final"] for run in saved["runs"]]


def test_the_table_and_ctrl_c(tmp_path):
    options = ("--steps", "6", "--episodes", "2")
    done = subprocess.run(command(tmp_path, *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Kanerva" in done.stdout
    assert "out/plan.json" in done.stdout
    assert "seed 1" in done.stderr
    (tmp_path / "long").mkdir()
    process = subprocess.Popen(
        command(tmp_path / "long", "--steps", "100000"), stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while not list((tmp_path / "long" / "out").glob("*/checkpoint-*")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--limit", "-1"), ("--limit", "seconds")),
        (("--steps", "0"), ("--steps", "at least 1")),
        (("--episodes", "0"), ("--episodes", "at least 1")),
        (("--precompile",), ("--precompile", "compiled runs")),
        (("--devise", "cpu"), ("--device",)),
    ],
)
def test_mistakes_are_one_line(tmp_path, options, words):
    done = subprocess.run(command(tmp_path, *options), capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_step_ratio_runs():
    """The experiment that compares the times of steps, at small sizes."""
    path = Path(__file__).parent.parent / "experiments" / "step_ratio.py"
    config = parse_plan(CONTENTS).runs[0].config
    times = runpy.run_path(str(path))["measure"]({"a": config, "b": config}, device=CPU, rounds=2)
    assert [len(each) for each in times.values()] == [2, 2]


def test_step_time_runs():
    """The experiment that measures one step, at a small size."""
    path = Path(__file__).parent.parent / "experiments" / "step_time.py"
    config = parse_plan(CONTENTS).runs[0].config
    times = runpy.run_path(str(path))["measure"](config, device=CPU, steps=2, rounds=3)
    assert len(times) == 3
    assert min(times) > 0


@pytest.mark.parametrize("kind", ["the plan itself", "a folder", "something else"])
def test_results_do_not_replace_other_files(tmp_path, kind):
    """And this is noticed before anything is trained."""
    words = command(tmp_path, "--steps", "2")
    place = tmp_path / "out" / "plan.json"
    if kind == "the plan itself":
        words[words.index("--out") + 1] = str(tmp_path)
        place = tmp_path / "plan.json"
    elif kind == "a folder":
        place.mkdir(parents=True)
    else:
        place.parent.mkdir()
        place.write_text("[1, 2]")
    before = place.read_text() if place.is_file() else None
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "--out" in done.stderr
    assert str(place) in done.stderr
    assert before is None or place.read_text() == before
    assert not list(tmp_path.glob("**/config.json"))
