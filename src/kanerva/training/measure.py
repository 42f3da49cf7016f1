"""What is measured when the runs of a sweep end: final numbers, the best settings, capacity."""

import math
import statistics
from collections.abc import Mapping
from pathlib import Path

import torch

from kanerva.data import Dataset
from kanerva.evaluation.capacity import measure_capacity
from kanerva.evaluation.evaluate import Evaluation, evaluate
from kanerva.models.checkpoint import save_model
from kanerva.training.changes import train_command
from kanerva.training.config import config_to_json
from kanerva.training.plan import Plan, PlannedRun, RunId
from kanerva.training.records import (
    SCHEMA,
    Capacity,
    RunRecord,
    SweepRecord,
    device_name,
    evaluation_row,
    last_bound,
)
from kanerva.training.run import Run
from kanerva.training.timing import Timings, step_time


def measure_sweep(
    plan: Plan,
    runs: Mapping[RunId, Run],
    *,
    out: Path,
    command: str,
    report_set: Dataset,
    timings: Timings,
) -> SweepRecord:
    """The record of a sweep; models that the plan keeps are saved to `out`."""
    records = {
        planned.id: _measure_run(plan, planned, runs[planned.id], report_set, timings)
        for planned in plan.runs
    }
    best = best_runs(plan, records) if plan.chooses else {}
    keep = {kept.name: kept.run for kept in plan.keep} | best
    for name, id in keep.items():
        if runs[id].diverged is not None:
            continue
        _save(out / f"{name}.safetensors", plan, runs[id], records[id], command)
    return SweepRecord(
        schema=SCHEMA,
        what=plan.what,
        command=command,
        device=device_name(report_set.device),
        torch=torch.__version__,
        split=plan.split,
        monitor=plan.monitor,
        report=plan.report,
        binarisation=report_set.binarisation,
        encoding=report_set.encoding,
        runs=list(records.values()),
        best={recipe: id.label for recipe, id in best.items()},
        capacity={
            id.label: _capacity(runs[id], report_set, max(plan.episodes // 10, 4))
            for id in plan.capacity
            if runs[id].diverged is None
        },
        race=timings.get("race"),
    )


def _measure_run(
    plan: Plan, planned: PlannedRun, run: Run, report_set: Dataset, timings: Timings
) -> RunRecord:
    run.step.use_precision()
    data = run.config.data
    length = data.episode_length
    if run.diverged is None:
        final = evaluate(
            run.model,
            report_set,
            num_episodes=plan.episodes,
            episode_length=length,
            num_classes=data.episode_classes,
            distinct=data.distinct,
        )
    else:
        final = Evaluation(*[math.nan] * 6, episodes=plan.episodes, episode_length=length)
    return RunRecord(
        label=planned.id.label,
        seed=planned.id.seed,
        recipe=planned.recipe,
        config=config_to_json(run.config),
        final=evaluation_row(final),
        curve=run.folder.rows(),
        num_steps=run.num_steps_done,
        seconds=round(run.seconds, 3),
        device=device_name(run.device),
        num_parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        ms_per_step=step_time(timings, planned.id),
    )


def best_runs(plan: Plan, records: Mapping[RunId, RunRecord]) -> dict[str, RunId]:
    """For each recipe, the best seed of the settings with the best monitored bound.

    Settings with several seeds are compared by the mean of their last monitored bounds.
    """
    bounds = {
        id: last_bound(record["curve"]) if record["final"]["bound"] < math.inf else math.inf
        for id, record in records.items()
    }
    best = {}
    for recipe in dict.fromkeys(run.recipe for run in plan.runs):
        ids = [run.id for run in plan.runs if run.recipe == recipe]
        means = {
            label: statistics.mean(bounds[id] for id in ids if id.label == label)
            for label in dict.fromkeys(id.label for id in ids)
        }
        label = min(means, key=lambda label: means[label])
        best[recipe] = min((id for id in ids if id.label == label), key=lambda id: bounds[id])
    return best


def _save(path: Path, plan: Plan, run: Run, record: RunRecord, command: str) -> None:
    """Save a model with its card."""
    card = run.card()
    card["recipe"] = record["recipe"]
    card["command"] = train_command(record["recipe"], run.config)
    card["trained_by"] = command
    card["runs_together"] = len(plan.runs)
    final = record["final"]
    if plan.report == "test":
        card["test_bound"], card["test_stderr"] = final["bound"], final["stderr"]
    else:
        card["valid_bound"], card["valid_stderr"] = final["bound"], final["stderr"]
    card["memory_kl_per_item"] = final["memory_kl_per_item"]
    save_model(path, run.model, card)


def _capacity(run: Run, dataset: Dataset, num_episodes: int) -> Capacity:
    run.step.use_precision()
    return measure_capacity(run.model, dataset, num_episodes=num_episodes)
