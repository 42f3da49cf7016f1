"""Runs as real processes: killed, interrupted, two of them for one model."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from kanerva.models.checkpoint import find_checkpoint
from kanerva.tensor_file import read_tensor_file
from small_runs import KANERVA, SMALL_FLAGS, without_time


def start(folder: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*KANERVA, "train", "glyphs", "--out", str(folder), *SMALL_FLAGS, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_what_another_run_left_is_not_overwritten(tmp_path, name):
    (tmp_path / name).write_text("of another run")
    process = start(tmp_path)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert name in stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["of another run"]


def wait_for(folder: Path, pattern: str, seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not list(folder.glob(pattern)):
        assert time.monotonic() < limit, f"no {pattern} in {folder}"
        time.sleep(0.05)


def newest_step(folder: Path) -> int:
    step = read_tensor_file(find_checkpoint(folder))[1]["step"]
    assert isinstance(step, int)
    return step


def test_kill_at_any_moment_leaves_a_good_checkpoint(tmp_path):
    flags = ("--training.checkpoint-every", "2", "--training.steps", "100000")
    process = start(tmp_path, *flags)
    wait_for(tmp_path, "checkpoint-*.safetensors")
    for _ in range(3):
        time.sleep(0.4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        tensors, _, _ = read_tensor_file(find_checkpoint(tmp_path))
        assert all(
            value.isfinite().all() for value in tensors.values() if value.is_floating_point()
        )
        before = newest_step(tmp_path)
        assert before >= 2
        process = start(tmp_path, *flags, "--resume")
        limit = time.monotonic() + 60
        while newest_step(tmp_path) <= before:
            assert time.monotonic() < limit
            time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr


def test_two_processes_train_one_model(tmp_path):
    """torchrun with two gloo processes: one run folder, the same parameters in both."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "kanerva.cli.main", "train", "glyphs"),
            *("--out", str(tmp_path), "--device", "cpu", *SMALL_FLAGS),
            *("--training.steps", "6", "--training.eval-every", "3", "--json"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    assert report["step"] == 6
    assert report["parameters_agree"]
    rows = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [3, 6]


def finish(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def test_signals_again_and_again_change_no_number(tmp_path):
    """Interrupted at random moments and resumed, a run ends as one that was left alone."""
    signals = itertools.cycle((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    flags = ("--training.steps", "400", "--training.eval-every", "80", "--device", "cpu")
    whole = start(tmp_path / "whole", *flags)
    assert finish(whole) == 0
    moments, interrupted, resume = iter((0.3, 0.05, 0.6, 0.2, 0.4)), 0, ()
    while True:
        process = start(tmp_path / "parts", *flags, *resume)
        moment = next(moments, None)
        if moment is None:
            assert finish(process) == 0
            break
        wait_for(tmp_path / "parts", "config.json")
        before = len(list((tmp_path / "parts").glob("checkpoint-*")))
        time.sleep(2.5 + moment if resume else moment)
        number = next(signals)
        process.send_signal(number)
        interrupted += finish(process) == 128 + number
        if before or list((tmp_path / "parts").glob("checkpoint-*")):
            resume = ("--resume",)
    assert interrupted >= 2
    tensors = [read_tensor_file(find_checkpoint(tmp_path / name))[0] for name in ("whole", "parts")]
    assert [newest_step(tmp_path / name) for name in ("whole", "parts")] == [400, 400]
    for name, value in tensors[0].items():
        assert torch.equal(value, tensors[1][name]), name
    rows = [
        [without_time(json.loads(line)) for line in path.read_text().splitlines()]
        for path in (tmp_path / "whole" / "metrics.jsonl", tmp_path / "parts" / "metrics.jsonl")
    ]
    assert rows[0] == rows[1]
