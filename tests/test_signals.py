"""Signals: a training keeps its work, says so, and ends with the code of the signal."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kanerva.tensor_file import read_tensor_file
from processes import (
    Process,
    Start,
    last_of_each_flag,
    newest,
    starting,
    wait_for,
    wait_for_progress,
    wait_until,
)
from small_runs import SMALL_FLAGS
from test_sweep_cli import command

RARE = ("--training.steps", "1000000", "--training.checkpoint-every", "500000", "--device", "cpu")
"""A run that saves nothing by itself."""
EVALUATED = ("--training.eval-every", "20")
Train = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    yield from starting()


@pytest.fixture
def train(start) -> Train:
    def train(folder: Path, *flags: str, **options) -> Process:
        words = ("train", "glyphs", "--out", str(folder), *SMALL_FLAGS, *RARE, *flags)
        return start(*words, **options)

    return train


def saved_step(folder: Path) -> int:
    step = read_tensor_file(newest(folder))[1]["step"]
    assert isinstance(step, int)
    return step


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_keeps_the_work(train, tmp_path, number, code):
    process = train(tmp_path, *EVALUATED)
    wait_for(tmp_path, "metrics.jsonl")
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert saved_step(tmp_path) >= 20
    assert "Traceback" not in stderr
    assert newest(tmp_path).name in stderr.splitlines()[-1]
    assert f"kanerva train --resume {tmp_path}" in stderr.splitlines()[-1]


def test_a_second_signal_does_not_wait(train, tmp_path):
    """The first one waits for an evaluation that takes minutes."""
    process = train(tmp_path, "--training.eval-every", "1", "--training.eval-episodes", "1000000")
    wait_for(tmp_path, "config.json")
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 143
    assert "Traceback" not in stderr


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_the_caller_ignores_stays_ignored(train, tmp_path, number):
    """`nohup kanerva train` goes on when the terminal is closed; so do jobs of a script."""
    flags = ("--training.checkpoint-every", "20")
    process = train(tmp_path, *flags, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    wait_for(tmp_path, "checkpoint-*.safetensors")
    process.send_signal(number)
    for _ in range(3):
        wait_for_progress(tmp_path, process)


def test_a_terminal_that_is_closed(train, tmp_path):
    """The system sends SIGHUP, and printing fails from then on."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}

    def own_terminal() -> None:
        import fcntl
        import termios

        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = train(
        *(tmp_path, *EVALUATED),
        **{"stdin": theirs, "stdout": theirs, "stderr": theirs, "preexec_fn": own_terminal},
        env=environment,
    )
    os.close(theirs)
    seen = b""
    while b"nats" not in seen:
        seen += os.read(ours, 1000)
    os.close(ours)
    process.wait(timeout=60)
    assert process.returncode == 129
    assert saved_step(tmp_path) >= 20


def test_nobody_reads_what_it_shows(train, tmp_path):
    """`kanerva train ... 2>&1 | head -1` trains to its end."""
    process = train(tmp_path, *EVALUATED, "--training.steps", "60")
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.close()
    process.stderr = None
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert saved_step(tmp_path) == 60


def test_sweeps_keep_their_work_too(tmp_path):
    process = subprocess.Popen(
        command(tmp_path, "--steps", "1000000"), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(list((tmp_path / "out").glob("*/checkpoint-*"))) >= 3)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "Traceback" not in stderr
    assert "the same command continues" in stderr.splitlines()[-1]


def torchrun(folder: Path, *flags: str) -> Process:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "kanerva.cli.main", "train", "glyphs"),
            *last_of_each_flag(
                ("--out", str(folder), *SMALL_FLAGS, *RARE, "--training.steps", "300", *flags)
            ),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_two_processes_stop_together_and_continue_to_the_same_numbers(tmp_path):
    """Each of them has random numbers of its own, also after resuming."""
    whole = torchrun(tmp_path / "whole", *EVALUATED)
    part = torchrun(tmp_path / "part", *EVALUATED)
    wait_for(tmp_path / "part", "metrics.jsonl")
    part.send_signal(signal.SIGTERM)
    part.communicate(timeout=60)
    assert 20 <= saved_step(tmp_path / "part") < 300
    resumed = torchrun(tmp_path / "part", *EVALUATED, "--resume")
    for process in (whole, resumed):
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr[-2000:]
    tensors = [read_tensor_file(newest(tmp_path / name))[0] for name in ("whole", "part")]
    assert saved_step(tmp_path / "part") == 300
    for name, value in tensors[0].items():
        assert value.equal(tensors[1][name]), name
