"""Runs in their folders: resumed to the same numbers, killed, interrupted, in two processes."""

import os

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
    MODEL,
    SMALL,
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
