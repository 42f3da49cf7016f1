"""Trains one run, or several side by side on one device, and keeps their work at a signal."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence

from kanerva.training.diverged import DivergedError
from kanerva.training.interrupt import Interrupt, Stopped
from kanerva.training.records import MetricsRow
from kanerva.training.run import REPORT_EVERY, Run

Report = Callable[[Run, MetricsRow], None]


def train_side_by_side(
    runs: Sequence[Run],
    report: Report,
    *,
    limit_s: float = math.inf,
    on_diverged: Callable[[Run, DivergedError], None] | None = None,
) -> bool:
    """Train all runs to their ends on one device, so that all end together.

    Each gets slices of its steps in turn. On CUDA the steps of a slice run at the same time, each
    run on its own stream. The time of evaluations is not counted as training time.

    Reports come at fixed steps, wherever a run was stopped and resumed.

    Args:
        runs: the runs, on one device.
        report: called with a run and its row at every milestone.
        limit_s: seconds after which all stop, with a checkpoint each.
        on_diverged: called with a run that diverged, whose `diverged` is set; the others go on. By
            default the error is raised.

    Returns:
        Whether all that did not diverge are finished; if not, the time was up.

    Raises:
        DivergedError: a run diverged, and there is no `on_diverged`.
        Stopped: a signal came; every run was saved after a whole step.

    """
    begin, good = time.perf_counter(), list(runs)
    longest = max(run.config.training.steps for run in runs)
    with Interrupt() as interrupt:
        for reached in range(REPORT_EVERY, longest + REPORT_EVERY, REPORT_EVERY):
            share = min(reached / longest, 1.0)
            goals = {run: round(share * run.config.training.steps) for run in runs}
            while behind := [run for run in good if run.num_steps_done < goals[run]]:
                diverged = _get_ready(behind, good, interrupt)
                diverged += _advance_all(behind, goals, report, interrupt)
                for run, error in diverged:
                    if on_diverged is None:
                        raise error
                    run.diverged = error
                    good.remove(run)
                    on_diverged(run, error)
                number = runs[0].parallel.agree_on(interrupt.number)
                out_of_time = time.perf_counter() - begin > limit_s
                if number or out_of_time:
                    for run in good:
                        run.save()
                if number:
                    raise Stopped(number, saved=True)
                if out_of_time:
                    return all(run.is_finished for run in good)
    return True


def _get_ready(
    runs: list[Run], good: Sequence[Run], interrupt: Interrupt
) -> list[tuple[Run, DivergedError]]:
    """Compile and capture the steps of the runs that need it; the clock stands still meanwhile.

    Everything is saved before compiling, so that a signal does not have to wait.
    """
    diverged: list[tuple[Run, DivergedError]] = []
    waiting = [run for run in runs if not run.step.is_ready]
    if any(run.step.is_about_to_compile for run in waiting):
        for run in good:
            if not run.is_saved:
                run.save()
    if not waiting or interrupt.pressed:
        return []
    nothing_to_lose = all(run.is_saved for run in good)
    with interrupt.at_once() if nothing_to_lose else contextlib.nullcontext():
        for run in waiting:
            try:
                run.warm_up()
            except DivergedError as error:
                diverged.append((run, error))
                runs.remove(run)
    return diverged


def _advance_all(
    runs: Sequence[Run], goals: dict[Run, int], report: Report, interrupt: Interrupt
) -> list[tuple[Run, DivergedError]]:
    """One slice of each run, and what its milestone asks for; returns those that diverged."""
    if not runs:
        return []
    start = time.perf_counter()
    before = {run: run.num_steps_done for run in runs}
    diverged: list[tuple[Run, DivergedError]] = []
    for run in runs:
        try:
            run.advance(goals[run], stop=lambda: interrupt.pressed)
        except DivergedError as error:
            diverged.append((run, error))
    runs[0].step.synchronise()
    seconds = time.perf_counter() - start
    for run in runs:
        run.seconds += seconds
    for run in runs:
        if run.num_steps_done > before[run]:
            try:
                run.at_milestone(report)
            except DivergedError as error:
                diverged.append((run, error))
    return diverged
