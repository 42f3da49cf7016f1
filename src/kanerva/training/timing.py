"""Times of a training that has the device to itself: of one step, and until a bound is reached."""

import json
import statistics
import time
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from kanerva.atomic import write_atomically
from kanerva.evaluation.evaluate import evaluate
from kanerva.json_values import in_json
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.plan import Plan, Race, RunId
from kanerva.training.prepare import Images, new_training
from kanerva.training.records import RaceRecord

STEPS_ON_GPU, STEPS_ON_CPU = 300, 2
"""Steps in each of three measurements."""
RACE_SLICE = 100
"""Steps between two evaluations of a race."""


class StepTime(TypedDict):
    """The time for a training step of one run."""

    label: str
    seed: int
    ms_per_step: float


class Timings(TypedDict):
    """What is measured before the runs of a plan start."""

    alone: list[StepTime]
    race: NotRequired[RaceRecord]


def measure_timings(plan: Plan, images: Images, *, parallel: Parallel, path: Path) -> Timings:
    """Measure what the plan asks for, or read it from the file of an earlier call."""
    timings = Timings(alone=[])
    if path.exists():
        timings = cast(Timings, json.loads(path.read_text()))
    configs = {run.id: run.config for run in plan.runs}
    for run in plan.alone:
        if step_time(timings, run) is None:
            time_ms = ms_per_step(configs[run], images, parallel=parallel)
            timings["alone"].append(StepTime(label=run.label, seed=run.seed, ms_per_step=time_ms))
    if plan.race is not None and not _is_of(timings.get("race"), plan.race):
        timings["race"] = run_race(plan.race, configs[plan.race.run], images, parallel=parallel)
    if plan.alone or plan.race is not None:
        write_atomically(path, json.dumps(in_json(timings)).encode())
    return timings


def step_time(timings: Timings, run: RunId) -> float | None:
    """Milliseconds for a step of a run, where they were measured."""
    times = {(row["label"], row["seed"]): row["ms_per_step"] for row in timings["alone"]}
    return times.get(run)


def _is_of(record: RaceRecord | None, race: Race) -> bool:
    if record is None:
        return False
    return (record["label"], record["seed"], record["below"]) == (*race.run, race.below)


def ms_per_step(config: Config, images: Images, *, parallel: Parallel) -> float:
    """Milliseconds for a training step: the median of three measurements, after a warm-up."""
    training = new_training(config, images.train, parallel=parallel)
    num_steps = STEPS_ON_GPU if parallel.device.type == "cuda" else STEPS_ON_CPU
    training.run(num_steps)
    times = []
    for _ in range(3):
        training.synchronise()
        start = time.perf_counter()
        training.run(num_steps)
        training.synchronise()
        times.append((time.perf_counter() - start) / num_steps * 1e3)
    return statistics.median(times)


def run_race(race: Race, config: Config, images: Images, *, parallel: Parallel) -> RaceRecord:
    """Seconds of training until the monitored bound is below a number.

    The clock starts after building and compiling, and stops during evaluations.
    """
    training = new_training(config, images.train, parallel=parallel)
    num_steps = training.run(min(4, config.training.steps))
    seconds, bound = 0.0, float("inf")
    while num_steps < config.training.steps and not bound < race.below:
        training.synchronise()
        start = time.perf_counter()
        num_steps += training.run(min(RACE_SLICE, config.training.steps - num_steps))
        training.synchronise()
        seconds += time.perf_counter() - start
        bound = evaluate(
            training.model,
            images.monitor,
            num_episodes=config.training.eval_episodes,
            episode_length=config.data.episode_length,
        ).bound
    return RaceRecord(
        label=race.run.label,
        seed=race.run.seed,
        below=race.below,
        bound=bound,
        steps=num_steps,
        seconds=seconds,
    )
