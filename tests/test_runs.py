"""Runs in their folders: resumed to the same numbers, killed, interrupted, in two processes."""

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

from kanerva.atomic import write_atomically
from kanerva.data import load_dataset
from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import Evaluation, evaluate
from kanerva.models.build import build_model
from kanerva.models.checkpoint import find_checkpoint, load, save_model
from kanerva.tensor_file import read_tensor_file, write_tensor_file
from kanerva.training.records import EvaluationRow, MetricsRow
from kanerva.training.run import Run
from small_runs import (
    KANERVA,
    MODEL,
    SMALL,
    SMALL_FLAGS,
    small_run,
    train,
    with_training,
    without_time,
)


def parameters(trained: Run) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trained.model.state_dict().items()}


class _StopError(Exception):
    pass


def _stop_at(step: int):
    def report(row: MetricsRow) -> None:
        if row["step"] == step:
            raise _StopError

    return report


def test_resuming_leads_to_the_same_numbers(tmp_path):
    whole = small_run(tmp_path / "whole")
    train(whole)
    first = small_run(tmp_path / "parts")
    with pytest.raises(_StopError):
        train(first, _stop_at(12))  # after the evaluation at step 12, before its checkpoint
    second = small_run(tmp_path / "parts")
    second.resume()
    assert second.num_steps_done == 8
    train(second)
    for name, value in parameters(whole).items():
        assert torch.equal(value, second.model.state_dict()[name]), name
    rows = [[without_time(row) for row in run.folder.rows()] for run in (whole, second)]
    assert rows[0] == rows[1]
    assert [row["step"] for row in rows[0]] == [4, 8, 12]


def test_rows_have_the_fields_of_an_evaluation(tmp_path):
    run = small_run(tmp_path)
    train(run)
    assert tuple(EvaluationRow.__annotations__) == Evaluation._fields
    for row in run.folder.rows():
        assert set(row) == set(MetricsRow.__annotations__)
        assert set(row.get("held_out", {})) == {"split", *Evaluation._fields}


def test_resuming_with_other_settings_is_refused(tmp_path):
    train(small_run(tmp_path))
    with pytest.raises(KanervaError, match=r"training\.lr 0\.003 there, 1e-05 here"):
        small_run(tmp_path, with_training(SMALL, lr=1e-5)).resume()


def test_a_run_of_version_0_1_is_resumed(tmp_path):
    """Its checkpoint says `address_size`, and has fields that its kind of model never used."""
    whole = small_run(tmp_path / "whole")
    train(whole)
    part = small_run(tmp_path / "part")
    with pytest.raises(_StopError):
        train(part, _stop_at(12))
    path = find_checkpoint(tmp_path / "part")
    tensors, metadata, _ = read_tensor_file(path)
    config = metadata["config"]
    assert isinstance(config, dict)
    config["model"]["address_size"] = config["model"].pop("address_code_size")
    write_tensor_file(path, tensors, metadata)
    resumed = small_run(tmp_path / "part")
    resumed.resume()
    train(resumed)
    for name, value in parameters(whole).items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    config["model"]["kind"] = "dynamic"  # it kept its parameters in another order
    write_tensor_file(find_checkpoint(tmp_path / "part"), tensors, metadata)
    with pytest.raises(KanervaError, match=r"version 0\.1"):
        small_run(tmp_path / "part").resume()


def test_a_model_alone_is_not_resumed(tmp_path):
    torch.manual_seed(0)
    save_model(tmp_path / "checkpoint-00000001.safetensors", build_model(MODEL), {})
    with pytest.raises(KanervaError, match="a checkpoint of a training"):
        small_run(tmp_path).resume()


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_what_another_run_left_is_not_overwritten(tmp_path, name):
    (tmp_path / name).write_text("of another run")
    process = start(tmp_path)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert name in stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["of another run"]


@pytest.mark.parametrize("damage", ["seconds", "step", "training.adam.mean", "training.generator"])
def test_a_checkpoint_that_cannot_be_resumed_says_so(tmp_path, damage):
    first = small_run(tmp_path)
    first.start("small")
    train(first)
    path = find_checkpoint(tmp_path)
    tensors, metadata, _ = read_tensor_file(path)
    if damage in metadata:
        metadata[damage] = ["a list"]
    else:
        tensors[damage] = tensors[damage][:-1]
    write_tensor_file(path, tensors, metadata)
    with pytest.raises(KanervaError, match="metadata as kanerva writes it"):
        small_run(tmp_path).resume()


def test_a_run_of_a_gpu_continues_on_a_cpu(tmp_path):
    """Its generator has another kind of state: 16 bytes for a seed and an offset."""
    part = small_run(tmp_path)
    with pytest.raises(_StopError):
        train(part, _stop_at(12))
    path = find_checkpoint(tmp_path)
    tensors, metadata, _ = read_tensor_file(path)
    tensors["training.generator"] = torch.zeros(16, dtype=torch.uint8)
    write_tensor_file(path, tensors, metadata)
    ends = []
    for _ in range(2):
        resumed = small_run(tmp_path)
        assert any("other random numbers" in note for note in resumed.resume())
        resumed.step.run(2)
        ends.append(parameters(resumed))
    for name, value in ends[0].items():
        assert torch.equal(value, ends[1][name]), name


def test_saving_more_often_changes_no_row(tmp_path):
    reports = []
    for every in (2, 1000):
        rows: list[MetricsRow] = []
        trained = small_run(tmp_path / str(every), with_training(SMALL, checkpoint_every=every))
        trained.start("small")
        train(trained, rows.append)
        reports.append([without_time(row) for row in rows])
    assert reports[0] == reports[1]


def test_checkpoints_load_as_models(tmp_path):
    trained = small_run(tmp_path)
    train(trained)
    model = load(tmp_path)
    data = load_dataset("glyphs", "test", show_progress=False)
    one = evaluate(model, data, num_episodes=5, episode_length=4)
    assert one == evaluate(trained.model, data, num_episodes=5, episode_length=4)
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2  # older ones are removed


def test_no_space_while_saving_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KanervaError, match="no space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# -- processes -----------------------------------------------------------------------------------


def start(folder: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*KANERVA, "train", "glyphs", "--out", str(folder), *SMALL_FLAGS, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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
