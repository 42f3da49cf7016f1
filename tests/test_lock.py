"""A run folder has one writer: real processes that want the same folder."""

import fcntl
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kanerva.errors import KanervaError
from kanerva.training.lock import LOCK, locked
from processes import Process, Start, starting, wait_for, wait_for_progress, wait_until
from small_runs import SMALL_CHANGES, SMALL_FLAGS

LONG = ("--training.steps", "1000000", "--training.checkpoint-every", "50", "--device", "cpu")
Train = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    yield from starting()


@pytest.fixture
def train(start) -> Train:
    def train(folder: Path, *flags: str) -> Process:
        return start("train", "glyphs", "--out", str(folder), *SMALL_FLAGS, *LONG, *flags)

    return train


@pytest.fixture
def running(train, tmp_path) -> Process:
    """A training in `tmp_path/run` that has saved a checkpoint."""
    process = train(tmp_path / "run")
    wait_for(tmp_path / "run", "checkpoint-*.safetensors")
    return process


def assert_refused(process: Process, holder: Process) -> None:
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 2, stderr
    assert stdout == ""
    assert len(stderr.splitlines()) == 1, stderr
    assert f"process {holder.pid}" in stderr


def test_a_second_training_is_refused_and_the_first_goes_on(running, train, tmp_path):
    assert_refused(train(tmp_path / "run", "--resume"), running)
    wait_for_progress(tmp_path / "run", running)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert not (tmp_path / "run" / "lock").exists()


def test_the_system_releases_the_lock_of_a_killed_process(running, train, tmp_path):
    running.kill()
    running.communicate()
    assert (tmp_path / "run" / "lock").exists()  # and nobody holds it
    wait_for_progress(tmp_path / "run", train(tmp_path / "run", "--resume"))


def test_of_two_that_start_together_one_trains(train, tmp_path):
    both = [train(tmp_path / "run") for _ in range(2)]
    wait_until(lambda: any(process.poll() is not None for process in both))
    both.sort(key=lambda process: process.poll() is None)
    assert_refused(both[0], both[1])
    wait_for(tmp_path / "run", "checkpoint-*.safetensors")
    assert both[1].poll() is None


def test_sweeps_lock_their_runs(start, tmp_path):
    plan = tmp_path / "plan.json"
    runs = [{"label": "a", "recipe": "tiny", "seeds": [0, 1], "changes": SMALL_CHANGES}]
    plan.write_text(json.dumps({"what": "A test", "runs": runs}))
    out = tmp_path / "out"
    words = ("sweep", str(plan), "--out", str(out), "--steps", "1000000", "--device", "cpu")
    sweep = start(*words)
    wait_for(out, "a-seed-1/checkpoint-*.safetensors")
    assert_refused(start(*words), sweep)
    run = str(out / "a-seed-1")
    changes = {**SMALL_CHANGES, "training.steps": 1_000_000, "training.seed": 1}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in changes.items()]
    assert_refused(start("train", "tiny", "--out", run, "--resume", *flags), sweep)


def test_what_failed_leaves_no_folder(start, tmp_path):
    folder = tmp_path / "new" / "run"
    process = start("train", "omniglot", "--out", str(folder), "--data-folder", str(tmp_path))
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2, stderr
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_held_once_in_a_process_too(tmp_path):
    with locked(tmp_path):
        with pytest.raises(KanervaError, match=f"process {os.getpid()}"), locked(tmp_path):
            pass
        assert (tmp_path / "lock").exists()
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_a_folder_in_the_place_of_the_lock_is_named(tmp_path):
    (tmp_path / "lock").mkdir()
    with pytest.raises(KanervaError, match=f"'{tmp_path}/lock', a folder"), locked(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["file", "below a file", "loop"])
def test_a_place_that_cannot_be_a_folder(train, tmp_path, kind):
    path = tmp_path / "place"
    if kind == "loop":
        path.symlink_to(path)
    else:
        path.write_text("something else")
    process = train(path / "run" if kind == "below a file" else path)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert len(stderr.splitlines()) == 1, stderr
    assert "--out" in stderr
    assert "Errno" not in stderr
    if kind != "loop":
        assert path.read_text() == "something else"


def test_a_holder_that_has_not_written_its_number_yet_is_waited_for(tmp_path):
    descriptor = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    owner = json.dumps({"process": 1234, "host": socket.gethostname()}).encode()
    threading.Timer(0.2, lambda: os.write(descriptor, owner)).start()
    with pytest.raises(KanervaError, match="process 1234"), locked(tmp_path):
        pass
    os.close(descriptor)
