"""Sweeps: side by side equals alone, stopped and continued sweeps end with the same record."""

import copy
import json
from pathlib import Path

import pytest
import torch

from kanerva.errors import KanervaError
from kanerva.models.checkpoint import find_checkpoint, load, load_with_card
from kanerva.tensor_file import read_tensor_file
from kanerva.training.parallel import Parallel
from kanerva.training.plan import RunId
from kanerva.training.plan_file import parse_plan
from kanerva.training.prepare import load_images
from kanerva.training.records import MetricsRow, RunRecord, SweepRecord
from kanerva.training.run import Run
from kanerva.training.run_folder import RunFolder
from kanerva.training.sweep import SweepResult, run_sweep
from small_runs import CPU, SMALL_CHANGES, train, without_time

SHORT = {**SMALL_CHANGES, "training.steps": 10}
CONTENTS: dict[str, object] = {
    "what": "A test",
    "num_evaluations": 3,
    "episodes": 4,
    "runs": [
        {"label": "Kanerva", "recipe": "tiny", "seeds": [0, 1], "changes": SMALL_CHANGES},
        {"label": "DNC", "recipe": "omniglot-dnc", "changes": SHORT},
    ],
}


class Quiet:
    """Shows nothing, and can stop a sweep."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at

    def say(self, text: str) -> None:
        pass

    def row(self, run: RunId, row: MetricsRow) -> None:
        if self.stop_at is not None and row["step"] >= self.stop_at:
            raise KeyboardInterrupt


def sweep(out: Path, display: Quiet | None = None, limit_s: float = 1e9, **keys) -> SweepResult:
    return run_sweep(
        parse_plan({**CONTENTS, **keys}),
        out,
        name="plan",
        command="kanerva sweep plan.json --out OUT",
        display=display or Quiet(),
        device=CPU,
        limit_s=limit_s,
    )


def without_times(record: SweepRecord) -> dict:
    """A record without what differs from one call to the next."""
    rest = copy.deepcopy(dict(record))
    for run in rest["runs"]:  # pyright: ignore[reportGeneralTypeIssues]
        run["seconds"] = run["ms_per_step"] = None
        run["curve"] = [without_time(row) for row in run["curve"]]
    return rest


def by_id(record: SweepRecord) -> dict[tuple[str, int], RunRecord]:
    return {(run["label"], run["seed"]): run for run in record["runs"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, SweepResult]:
    """A sweep that was left alone."""
    out = tmp_path_factory.mktemp("whole")
    return out, sweep(out)


def test_the_record(whole):
    out, result = whole
    assert result.is_finished
    assert result.path == out / "plan.json"
    assert json.loads(result.path.read_text()) == json.loads(json.dumps(result.record))
    assert set(result.record) == set(SweepRecord.__annotations__)
    assert result.record["schema"] == 2
    runs = by_id(result.record)
    assert list(runs) == [("Kanerva", 0), ("Kanerva", 1), ("DNC", 0)]
    for run in runs.values():
        assert set(run) == set(RunRecord.__annotations__)
        assert run["device"] == "cpu"
        assert run["num_parameters"] > 1000
        assert run["seconds"] > 0
        assert run["final"]["episodes"] == 4
    assert [row["step"] for row in runs["Kanerva", 0]["curve"]] == [3, 11, 24]
    assert [row["step"] for row in runs["DNC", 0]["curve"]] == [1, 4, 10]
    assert runs["DNC", 0]["num_steps"] == 10
    assert runs["DNC", 0]["final"]["memory_kl_per_item"] is None
    assert runs["Kanerva", 0]["final"] != runs["Kanerva", 1]["final"]


def test_side_by_side_equals_alone(whole, tmp_path):
    out, _ = whole
    plan = parse_plan(CONTENTS)
    for planned in plan.runs:
        alone = Run(
            planned.config,
            tmp_path / planned.id.folder,
            images=load_images(planned.config, device=CPU),
            parallel=Parallel(CPU),
            evaluate_at=plan.evaluation_steps(planned.config),
        )
        alone.start(planned.recipe)
        train(alone)
        together = find_checkpoint(out / planned.id.folder)
        tensors, _, _ = read_tensor_file(together)
        own, _, _ = read_tensor_file(find_checkpoint(tmp_path / planned.id.folder))
        assert tensors.keys() == own.keys()
        for name, value in own.items():
            assert torch.equal(tensors[name], value), name
        rows = RunFolder(together.parent).rows()
        assert list(map(without_time, rows)) == list(map(without_time, alone.folder.rows()))


@pytest.mark.parametrize("step", [1, 11, 24])
def test_a_sweep_that_broke_off_continues_to_the_same_record(whole, tmp_path, step):
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, Quiet(stop_at=step))
    assert without_times(sweep(tmp_path).record) == without_times(whole[1].record)


def test_a_limit_stops_and_a_second_call_continues(whole, tmp_path):
    first = sweep(tmp_path, limit_s=1e-9)
    assert not first.is_finished
    assert all(0 < run["num_steps"] < 24 for run in first.record["runs"])
    second = sweep(tmp_path)
    assert second.is_finished
    assert without_times(second.record) == without_times(whole[1].record)


def test_finished_runs_are_not_trained_again(whole):
    out, result = whole
    checkpoints = sorted(out.glob("*/checkpoint-*"))
    times = [path.stat().st_mtime_ns for path in checkpoints]
    assert sweep(out).record == result.record
    assert times == [path.stat().st_mtime_ns for path in checkpoints]


def test_other_settings_in_the_same_folder_are_refused(whole, tmp_path):
    runs = [{"label": "Kanerva", "recipe": "tiny", "changes": {**SMALL_CHANGES, "training.lr": 1}}]
    with pytest.raises(KanervaError, match=r"training\.lr 0\.003 there, 1 here"):
        sweep(whole[0], runs=runs)
    (tmp_path / "kanerva-seed-0").mkdir()
    (tmp_path / "kanerva-seed-0" / "metrics.jsonl").write_text("of something else")
    with pytest.raises(KanervaError, match="of something else"):
        sweep(tmp_path, runs=runs)
    assert (tmp_path / "kanerva-seed-0" / "metrics.jsonl").read_text() == "of something else"


def test_times_alone_a_race_and_capacity(tmp_path):
    runs = [{"label": "Kanerva", "recipe": "tiny", "changes": SHORT}]
    name = {"label": "Kanerva"}
    keys = {"alone": [name], "race": {**name, "below": 1e6}, "capacity": [name]}
    record = sweep(tmp_path, runs=runs, **keys).record
    time_alone = record["runs"][0]["ms_per_step"]
    assert time_alone is not None
    assert time_alone > 0
    race = record["race"]
    assert race is not None
    assert (race["label"], race["seed"], race["steps"]) == ("Kanerva", 0, 10)
    assert race["bound"] < race["below"] == 1e6
    assert set(record["capacity"]) == {"Kanerva"}
    assert set(record["capacity"]["Kanerva"]) == {"2", "12", "all"}
    again = sweep(tmp_path, runs=runs, **keys).record  # nothing is measured twice
    assert again["race"] == race
    assert again["runs"][0]["ms_per_step"] == time_alone


def test_kept_models_and_the_best_by_the_monitored_split(tmp_path):
    runs = [
        {"label": label, "recipe": "tiny", "changes": {**SHORT, "training.lr": lr}}
        for label, lr in (("slow", 1e-7), ("fast", 3e-3))
    ]
    keep = [{"label": "slow", "name": "kept"}]
    record = sweep(
        tmp_path, runs=runs, split="fit", monitor="valid", report="test", keep=keep
    ).record
    last = {run["label"]: run["curve"][-1].get("held_out") for run in record["runs"]}
    bounds = {label: held["bound"] for label, held in last.items() if held is not None}
    assert record["best"] == {"tiny": min(bounds, key=lambda label: bounds[label])}
    assert {held["split"] for held in last.values() if held is not None} == {"valid"}
    _, card = load_with_card(tmp_path / "kept.safetensors")
    slow = by_id(record)["slow", 0]
    assert card["test_bound"] == slow["final"]["bound"]
    assert card["recipe"] == "tiny"
    assert str(card["command"]).startswith("kanerva train tiny --model.num-filters 4")
    assert card["trained_by"] == "kanerva sweep plan.json --out OUT"
    assert card["runs_together"] == 2
    assert str(card["trained_on"]).startswith("fit (")
    assert load(tmp_path / "tiny.safetensors").config.num_rows == 8  # the best


def test_a_sweep_is_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(KanervaError, match="without torchrun"):
        sweep(tmp_path)
