"""A training run, alone or side by side with others; it can be stopped and resumed.

A run that was stopped at a checkpoint goes on to the same numbers as one that was not: parameters,
Adam's moments, the step counter and the generator are all in the file.
"""

import bisect
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import foreign_file
from kanerva.models.model import Model
from kanerva.training.config import Config, config_to_json
from kanerva.training.interrupt import Interrupt
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import Images, new_training, with_source
from kanerva.training.records import (
    HeldOutRow,
    MetricsRow,
    ModelCard,
    held_out_row,
    metrics_row,
    model_card,
)
from kanerva.training.run_folder import RunFolder

REPORT_EVERY = 100
"""Steps between two reports."""


class Run:
    """One training in its folder.

    Args:
        config: the experiment.
        folder: where its files are.
        images: its data, from `load_images`.
        parallel: this process and its device.
        evaluate_at: steps at which the monitored split is evaluated; by default every
            `training.eval_every` steps and at the end.
        own_stream: on CUDA, train on a stream of its own, beside other runs.

    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        *,
        images: Images,
        parallel: Parallel,
        evaluate_at: Sequence[int] | None = None,
        own_stream: bool = False,
    ) -> None:
        config = with_source(config, images.train.source)
        self.config, self.images, self.device = config, images, parallel.device
        self.folder = RunFolder(folder, is_writer=parallel.is_first)
        self.step = new_training(config, images.train, parallel=parallel, own_stream=own_stream)
        steps, every = config.training.steps, config.training.eval_every
        if evaluate_at is None:
            evaluate_at = range(every, steps, every)
        self.evaluate_at = sorted({*evaluate_at, steps})
        self.num_steps_done = 0
        self.seconds = 0.0

    @property
    def model(self) -> Model:
        """The model in training."""
        return self.step.model

    @property
    def is_finished(self) -> bool:
        """Whether all steps are made."""
        return self.num_steps_done >= self.config.training.steps

    def start(self, recipe: str) -> None:
        """Begin in a fresh folder, and write the settings there."""
        self.folder.start(recipe, self.config)

    def resume(self) -> None:
        """Continue from the newest checkpoint of the folder."""
        saved = self.folder.load()
        check_same_settings(saved.config, self.config)
        try:
            self.model.load_state_dict(saved.parameters)
            self.step.load_state(saved.state)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise foreign_file(saved.path, " ".join(str(error).split())[:200]) from None
        self.num_steps_done, self.seconds = saved.step, saved.seconds
        self.folder.forget_rows_after(saved.step)

    def train(self, report: Callable[[MetricsRow], None]) -> None:
        """Train to the end. Ctrl-C saves a checkpoint first, after a whole step.

        Reports come at fixed steps, wherever a run was stopped and resumed.
        """
        train_side_by_side([self], lambda _, row: report(row))

    def warm_up(self) -> None:
        """Make a few steps before the clock starts, so that compiling is not counted."""
        if not self.is_finished:
            num_steps = min(4, self._next_milestone() - self.num_steps_done - 1)
            self.num_steps_done += self.step.run(num_steps)
            self.step.synchronise()

    def save(self) -> None:
        """Write a checkpoint."""
        self.folder.save(
            self.config,
            self.card(),
            step=self.num_steps_done,
            seconds=self.seconds,
            parameters=self.model.state_dict(),
            state=self.step.state(),
        )

    def card(self) -> ModelCard:
        """What a reader of this model's numbers must know."""
        return model_card(
            self.config,
            self.images.train,
            steps=self.num_steps_done,
            seconds=self.seconds,
            device=self.device,
        )

    def _next_milestone(self) -> int:
        """The next step at which there is something to report, to evaluate or to save."""
        done, checkpoint_every = self.num_steps_done, self.config.training.checkpoint_every
        evaluation = self.evaluate_at[bisect.bisect_right(self.evaluate_at, done)]
        return min(evaluation, _next(done, REPORT_EVERY), _next(done, checkpoint_every))

    def _advance(self, goal: int, stop: Callable[[], bool]) -> None:
        """Make steps up to a goal or the next milestone; on CUDA this does not wait for them."""
        target = min(goal, self._next_milestone())
        self.num_steps_done += self.step.run(target - self.num_steps_done, stop=stop)

    def _at_milestone(self, report: Callable[["Run", MetricsRow], None]) -> None:
        """Report, evaluate and save, where this step asks for it."""
        done, training = self.num_steps_done, self.config.training
        evaluates = self.evaluate_at[bisect.bisect_left(self.evaluate_at, done)] == done
        if evaluates or done % REPORT_EVERY == 0:
            row = metrics_row(done, self.seconds, self.step.progress())
            if evaluates:
                row["held_out"] = self._evaluate()
                self.folder.append(row)
            report(self, row)
        if self.is_finished or done % training.checkpoint_every == 0:
            self.save()

    def _evaluate(self) -> HeldOutRow:
        """The bound on the monitored split."""
        self.step.use_precision()
        evaluation = evaluate(
            self.model,
            self.images.monitor,
            num_episodes=self.config.training.eval_episodes,
            episode_length=self.config.data.episode_length,
        )
        return held_out_row(self.config.data.monitor, evaluation)


def train_side_by_side(
    runs: Sequence[Run],
    report: Callable[[Run, MetricsRow], None],
    *,
    limit_s: float = math.inf,
) -> bool:
    """Train all runs to their ends on one device, so that all end together.

    Each gets slices of its steps in turn. On CUDA the steps of a slice run at the same time, each
    run on its own stream. The time of evaluations is not counted as training time.

    Args:
        runs: the runs, on one device.
        report: called with a run and its row at every milestone.
        limit_s: seconds after which all stop, with a checkpoint each.

    Returns:
        Whether all are finished; if not, the time was up.

    """
    begin = time.perf_counter()
    longest = max(run.config.training.steps for run in runs)
    with Interrupt() as interrupt:
        for reached in range(REPORT_EVERY, longest + REPORT_EVERY, REPORT_EVERY):
            share = min(reached / longest, 1.0)
            goals = {run: round(share * run.config.training.steps) for run in runs}
            while behind := [run for run in runs if run.num_steps_done < goals[run]]:
                _advance_all(behind, goals, report, interrupt)
                out_of_time = time.perf_counter() - begin > limit_s
                if interrupt.pressed or out_of_time:
                    for run in runs:
                        run.save()
                if interrupt.pressed:
                    raise KeyboardInterrupt
                if out_of_time:
                    return all(run.is_finished for run in runs)
    return True


def _advance_all(
    runs: Sequence[Run],
    goals: dict[Run, int],
    report: Callable[[Run, MetricsRow], None],
    interrupt: Interrupt,
) -> None:
    """One slice of each run, and what its milestone asks for."""
    start = time.perf_counter()
    before = {run: run.num_steps_done for run in runs}
    for run in runs:
        run._advance(goals[run], stop=lambda: interrupt.pressed)
    runs[0].step.synchronise()
    seconds = time.perf_counter() - start
    for run in runs:
        run.seconds += seconds
    for run in runs:
        if run.num_steps_done > before[run]:
            run._at_milestone(report)


def check_same_settings(there: Config, here: Config) -> None:
    """Refuse to continue a run with other settings."""
    there = with_source(there)  # version 0.1 wrote relative paths
    if there != here:
        raise KanervaError(
            "run folder",
            expected="the same settings as the run that began there",
            got=_difference(there, here),
            fix="Leave the settings as they were, or name another folder with --out.",
        )


def _difference(there: Config, here: Config) -> str:
    old, new = config_to_json(there), config_to_json(here)
    return "; ".join(
        f"{part}.{name} {old[part].get(name)} there, {new[part].get(name)} here"
        for part in new
        for name in {**old[part], **new[part]}
        if old[part].get(name) != new[part].get(name)
    )


def _next(step: int, every: int) -> int:
    return (step // every + 1) * every
