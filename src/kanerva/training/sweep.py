"""Sweeps: the runs of a plan trained side by side on one device, measured and recorded.

Small models leave a GPU idle between kernels. Eight trainings together cost about as much time as
four alone. Each is the same `Run` that `kanerva train` makes, with the same numbers.
"""

import contextlib
import json
import math
import os
import time
from pathlib import Path
from typing import NamedTuple, Protocol

import torch

from kanerva.data.paths import FILE, NOTHING, what_is_at
from kanerva.errors import KanervaError
from kanerva.training.interrupt import Stopped
from kanerva.training.lock import locked
from kanerva.training.measure import measure_sweep
from kanerva.training.parallel import Parallel
from kanerva.training.plan import Plan, RunId
from kanerva.training.prepare import Images, check_fits, load_images, load_split
from kanerva.training.records import MetricsRow, SweepRecord, write_record
from kanerva.training.run import Run
from kanerva.training.same_settings import check_same_settings
from kanerva.training.side_by_side import train_side_by_side
from kanerva.training.timing import measure_timings


class Display(Protocol):
    """Shows a sweep while it runs."""

    def say(self, text: str) -> None:
        """Show one line."""
        ...

    def row(self, run: RunId, row: MetricsRow) -> None:
        """Show a report of a run."""
        ...


class SweepResult(NamedTuple):
    """What a sweep measured, and where it is written."""

    record: SweepRecord
    path: Path
    is_finished: bool
    """Whether all runs made all their steps. If not, a second call continues them."""


def run_sweep(
    plan: Plan,
    out: Path,
    *,
    name: str,
    command: str,
    display: Display,
    device: torch.device,
    data_folder: Path | None = None,
    limit_s: float = math.inf,
) -> SweepResult:
    """Train the runs of a plan side by side in one process; write one record of all of them.

    Each run has a folder under `out`. A second call continues the runs that were stopped, to the
    same numbers, and does not train finished runs again.

    Args:
        plan: the runs, and what to measure.
        out: folder for the runs, the results and the models that are kept.
        name: name of the results file, without its ending.
        command: how a reader can repeat the sweep; part of the record.
        display: shows what happens.
        device: where all runs compute.
        data_folder: folder with the archives; by default KANERVA_DATA, else ./data.
        limit_s: seconds of training after which all runs stop and are measured as they are.

    """
    _check_one_process()
    path, timings_file = out / f"{name}.json", out / f"{name}.timings.json"
    _check_results_file(path, key="schema")
    _check_results_file(timings_file, key="alone")
    with contextlib.ExitStack() as stack:
        for planned in plan.runs:
            stack.enter_context(locked(out / planned.id.folder))
        first = plan.runs[0].config
        images = load_images(first, device=device, data_folder=data_folder, show_progress=True)
        report_set = load_split(first, plan.report, device=device, data_folder=data_folder)
        parallel = Parallel(device)
        runs = _open_runs(plan, out, images, parallel)
        display.say(f"{len(runs)} runs on {device}")
        timings = measure_timings(plan, images, parallel=parallel, path=timings_file)
        _warm_up(runs, display)
        names = {run: id for id, run in runs.items()}
        try:
            is_finished = train_side_by_side(
                list(runs.values()),
                lambda run, row: display.row(names[run], row),
                limit_s=limit_s,
                on_diverged=lambda run, error: display.say(f"{names[run]}: {error}"),
            )
        except Stopped as stop:
            kept = "all runs are saved" if stop.saved else "checkpoints from before the signal are"
            text = f"stopped; {kept} in '{out}', and the same command continues"
            raise Stopped(stop.number, text) from None
        display.say("measuring")
        record = measure_sweep(
            plan, runs, out=out, command=command, report_set=report_set, timings=timings
        )
        write_record(path, record)
    return SweepResult(record, path, is_finished)


def _open_runs(plan: Plan, out: Path, images: Images, parallel: Parallel) -> dict[RunId, Run]:
    """Every run, fresh or as its newest checkpoint has it."""
    runs = {}
    for planned in plan.runs:
        check_fits(planned.config, images.train)
        run = Run(
            planned.config,
            out / planned.id.folder,
            images=images,
            parallel=parallel,
            evaluate_at=plan.evaluation_steps(planned.config),
            own_stream=True,
        )
        if run.folder.checkpoints():
            run.resume(planned.recipe)
        else:
            _check_unfinished(run)
            run.start(planned.recipe)
        runs[planned.id] = run
    return runs


def _check_unfinished(run: Run) -> None:
    """Refuse a folder with files of something else than this run before its first checkpoint."""
    left, settings = run.folder.leftovers(), run.folder.settings()
    if settings is not None:
        check_same_settings(settings.config, run.config)
    elif left:
        raise KanervaError(
            "--out",
            expected="a folder for this sweep",
            got=f"'{run.folder.path}', which has {' and '.join(left)} of something else",
            fix="Remove it, or name another folder with --out.",
        )


def _warm_up(runs: dict[RunId, Run], display: Display) -> None:
    """Compile and capture the runs that need it before the clock starts."""
    start = time.perf_counter()
    for id, run in runs.items():
        if not run.step.is_ready:
            run.warm_up()
            display.say(f"{id}: ready after {time.perf_counter() - start:.0f} s")


def _check_results_file(path: Path, *, key: str) -> None:
    """Refuse to replace something else than an earlier file of the same kind."""
    found = what_is_at(path)
    if found == NOTHING:
        return
    if found == FILE:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            contents = json.loads(path.read_text())
            if isinstance(contents, dict) and key in contents:
                return
    raise KanervaError(
        "--out",
        expected=f"a folder in which {path.name} is missing or an earlier result",
        got=f"'{path}', {'something else' if found == FILE else found}",
        fix="Move it away, or name another folder.",
    )


def _check_one_process() -> None:
    world = os.environ.get("WORLD_SIZE", "1")
    if world != "1":
        raise KanervaError(
            "WORLD_SIZE",
            expected="one process: a sweep trains its runs side by side in it",
            got=world,
            fix="Start it without torchrun.",
        )
