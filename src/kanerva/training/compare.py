"""The built-in plan of `kanerva compare`: one model around each memory, at K x C numbers."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from kanerva.training.plan import Plan, PlannedRun, RunId
from kanerva.training.recipes import RECIPES, with_memory
from kanerva.training.records import RunRecord, SweepRecord

MEMORIES = {
    "Kanerva Machine": "kanerva",
    "DNC": "dnc",
    "LRUA": "lrua",
    "Dynamic Kanerva Machine": "dynamic",
}
"""Labels of the runs, and the kind of model of each."""
FAILED = 1.25
"""A seed that ends this many times above the best seed of its memory counts as failed. So does one
that ends above the bound of a model that knows only how often each pixel is ink."""
NUM_EVALUATIONS = 12


class SummaryRow(TypedDict):
    """All seeds of one memory."""

    memory: str
    best: float
    bounds: list[float]
    failed: int
    memory_kl_per_item: float | None
    ms_per_step: float | None
    num_parameters: int


class CompareRecord(SweepRecord):
    """The results file of `kanerva compare`."""

    summary: list[SummaryRow]
    pixel_entropy: float


def compare_plan(recipe: str, *, seeds: int, steps: int | None, episodes: int) -> Plan:
    """Every memory from every seed, in the experiment of a recipe, z from the memory alone.

    Args:
        recipe: name of an experiment of the Kanerva Machine.
        seeds: runs of each memory.
        steps: of each run; by default the recipe's.
        episodes: of each final number.

    """
    base = RECIPES[recipe]
    num_steps = steps or base.training.steps
    training = replace(
        base.training, steps=num_steps, eval_every=max(num_steps // NUM_EVALUATIONS, 1)
    )
    runs = []
    for label, kind in MEMORIES.items():
        config = with_memory(replace(base, training=training), kind)
        for seed in range(seeds):
            seeded = replace(config, training=replace(config.training, seed=seed))
            runs.append(PlannedRun(id=RunId(label, seed), recipe=recipe, config=seeded))
    first_seeds = tuple(RunId(label, 0) for label in MEMORIES)
    return Plan(
        what="Memories of the same size in the same model, z from the memory alone",
        split=base.data.split,
        monitor=base.data.monitor,
        report=base.data.monitor,
        runs=tuple(runs),
        episodes=episodes,
        alone=first_seeds,
        capacity=first_seeds,
    )


def summary(records: Sequence[RunRecord], *, pixel_entropy: float) -> list[SummaryRow]:
    """One row for each memory: its best seed, all of them, and how many failed.

    Args:
        records: the runs of a sweep.
        pixel_entropy: nats of a model that knows only how often each pixel is ink; infinite where
            pixels are not ink.

    """
    rows = []
    for label in dict.fromkeys(record["label"] for record in records):
        own = [record for record in records if record["label"] == label]
        bounds = [record["final"]["bound"] for record in own]
        best = min((bound for bound in bounds if math.isfinite(bound)), default=math.nan)
        highest = min(FAILED * best, pixel_entropy)
        rows.append(
            SummaryRow(
                memory=label,
                best=best,
                bounds=bounds,
                failed=sum(not bound < highest for bound in bounds),
                memory_kl_per_item=own[0]["final"]["memory_kl_per_item"],
                ms_per_step=own[0]["ms_per_step"],
                num_parameters=own[0]["num_parameters"],
            )
        )
    return rows
