"""A training run in its folder; it can be stopped, resumed and extended.

A run that was stopped at a checkpoint goes on to the same numbers as one that was not: parameters,
Adam's moments, the step counter and the generator are all in the file.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import foreign_file
from kanerva.models.model import Model
from kanerva.training.compiling import ABOUT
from kanerva.training.config import Config
from kanerva.training.diverged import DivergedError, SkipCounter
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import (
    Images,
    check_held_out,
    episode_sampler,
    images_checksum,
    new_training,
    with_source,
)
from kanerva.training.records import (
    HeldOutRow,
    MetricsRow,
    ModelCard,
    held_out_row,
    metrics_row,
    model_card,
)
from kanerva.training.run_folder import Checkpoint, RunFolder
from kanerva.training.same_settings import check_same_settings
from kanerva.training.schedule import Schedule
from kanerva.training.settings import Settings

REPORT_EVERY = 100
"""Steps between two reports."""
AGREE_EVERY = 10
"""Steps after which the processes of one training agree whether to stop."""


class Run:
    """The training of one model, whose checkpoints and metrics are kept in a folder.

    Args:
        config: the experiment. Without a decision to compile, it is not compiled.
        folder: where its files are.
        images: its data, from `load_images`.
        parallel: this process and its device.
        evaluate_at: steps at which the monitored split is evaluated; by default every
            `training.eval_every` steps and at the end.
        own_stream: on CUDA, train on a stream of its own, beside other runs.
        may_compile: whether to compile if the config says so.

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
        may_compile: bool = True,
    ) -> None:
        training = replace(config.training, compile=bool(config.training.compile))
        config = replace(with_source(config, images.train.source), training=training)
        self.settings = Settings(config=config)
        self.announce: Callable[[str], None] = lambda text: None
        """Called with a line about work that takes long."""
        self.images, self.parallel, self.device = images, parallel, parallel.device
        episode_sampler(config, images.monitor)  # refuses a split with too few images
        self.folder = RunFolder(folder, is_writer=parallel.is_first)
        here = config
        if not may_compile:
            here = replace(config, training=replace(training, compile=False))
        self.step = new_training(here, images.train, parallel=parallel, own_stream=own_stream)
        steps, every = config.training.steps, config.training.eval_every
        if evaluate_at is None:
            evaluate_at = range(every, steps, every)
        self.evaluate_at = sorted({*evaluate_at, steps})
        self.images_checksum = images_checksum(images.train)
        self.skips = SkipCounter(0)
        self.diverged: DivergedError | None = None
        self.num_steps_done = 0
        self._saved_at = 0
        self.seconds = 0.0

    @property
    def config(self) -> Config:
        """The experiment."""
        return self.settings.config

    @property
    def model(self) -> Model:
        """The model in training."""
        return self.step.model

    @property
    def is_saved(self) -> bool:
        """Whether the newest checkpoint holds the present state."""
        return self._saved_at == self.num_steps_done

    @property
    def is_finished(self) -> bool:
        """Whether all steps are made."""
        return self.num_steps_done >= self.config.training.steps

    def start(self, recipe: str) -> None:
        """Begin in a fresh folder, and write the settings there."""
        check_held_out(self.config)
        self.settings = replace(self.settings, recipe=recipe)
        self.folder.start(self.settings)

    def resume(self, recipe: str | None = None, *, may_extend: bool = False) -> list[str]:
        """Continue from the newest whole checkpoint of the folder.

        Args:
            recipe: the recipe that the run began with, if config.json is missing.
            may_extend: whether this run may have more steps than the one that began there. Its
                learning rate then goes on where the schedule of all steps is at this step.

        Returns:
            What the user should know, in sentences.

        """
        saved = self.folder.load()
        check_same_settings(saved.config, self.config, may_extend=may_extend)
        _check_same_images(saved.card, self.card())
        try:
            self.model.load_state_dict(saved.parameters)
            is_same_device = self.step.load_state(saved.state)
        except KanervaError:
            raise
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise foreign_file(saved.path, " ".join(str(error).split())[:200]) from None
        self.num_steps_done, self.seconds = saved.step, saved.seconds
        self._saved_at = saved.step
        self.skips = SkipCounter(saved.step)
        there = self.folder.settings()
        before = there or Settings(config=saved.config, recipe=recipe)
        self.settings = before.at_step(saved.step, self.config)
        if self.settings != there:
            self.folder.write_settings(self.settings)
        self.folder.forget_rows_after(saved.step)
        notes = _notes(saved, before, self.settings)
        if not is_same_device:
            notes.append(
                f"the run was on another kind of device before ({saved.card.get('device')}): from "
                "here on it draws other random numbers than it would have drawn there"
            )
        return notes

    def warm_up(self) -> None:
        """Make a few steps while the clock stands still, so that compiling is not counted."""
        if not self.is_finished:
            if self.step.is_about_to_compile:
                self.announce(ABOUT)
            num_steps = min(4, self._next_milestone() - self.num_steps_done - 1)
            self.num_steps_done += self._run(num_steps, lambda: False)
            self.step.synchronise()

    def save(self) -> None:
        """Write a checkpoint."""
        self._saved_at = self.num_steps_done
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
            self.settings,
            self.images.train,
            checksum=self.images_checksum,
            steps=self.num_steps_done,
            seconds=self.seconds,
            device=self.device,
        )

    def advance(self, goal: int, stop: Callable[[], bool]) -> None:
        """Make steps up to a goal or the next milestone; on CUDA this does not wait for them.

        Several processes of one training make only a few steps, and then agree whether to stop.
        """
        target = min(goal, self._next_milestone())
        if self.parallel.world > 1:
            target = min(target, self.num_steps_done + AGREE_EVERY)
            stop = lambda: False  # noqa: E731
        self.num_steps_done += self._run(target - self.num_steps_done, stop)

    def _run(self, num_steps: int, stop: Callable[[], bool]) -> int:
        """Make steps; numbers that the memory's algebra refuses mean that the run diverged."""
        try:
            return self.step.run(num_steps, stop=stop)
        except KanervaError as error:
            step = int(self.step.count)
            if step == 0:  # the initial parameters cannot have diverged
                raise
            raise self._has_diverged(step, error) from None

    def at_milestone(self, report: Callable[["Run", MetricsRow], None]) -> None:
        """Report, evaluate and save, where this step asks for it."""
        done, training = self.num_steps_done, self.config.training
        evaluates = self.evaluate_at[bisect.bisect_left(self.evaluate_at, done)] == done
        if evaluates or done % REPORT_EVERY == 0:
            progress = self.step.progress()
            row = metrics_row(done, self.seconds, progress)
            if self.skips.note(done, skipped=progress.skipped):
                reason = f"{self.skips.num_skipped} steps in a row had no finite gradient"
                raise DivergedError(self.config.training, step=done, reason=reason)
            if evaluates:
                row["held_out"] = self._evaluate()
                self.folder.append(row)
            report(self, row)
        if self.is_finished or done % training.checkpoint_every == 0:
            self.save()

    def _next_milestone(self) -> int:
        """The next step at which there is something to report, evaluate, save or compile."""
        done, training = self.num_steps_done, self.config.training
        evaluation = self.evaluate_at[bisect.bisect_right(self.evaluate_at, done)]
        steps = [evaluation, _next(done, REPORT_EVERY), _next(done, training.checkpoint_every)]
        if training.compile and done < training.compile_from:
            steps.append(training.compile_from)
        return min(steps)

    def _evaluate(self) -> HeldOutRow:
        """The bound on the monitored split."""
        self.step.use_precision()
        try:
            evaluation = evaluate(
                self.model,
                self.images.monitor,
                num_episodes=self.config.training.eval_episodes,
                episode_length=self.config.data.episode_length,
                num_classes=self.config.data.episode_classes,
                distinct=self.config.data.distinct,
            )
        except KanervaError as error:
            raise self._has_diverged(self.num_steps_done, error) from None
        return held_out_row(self.config.data.monitor, evaluation)

    def _has_diverged(self, step: int, error: KanervaError) -> DivergedError:
        """The error for numbers that the memory's algebra refuses."""
        reason = f"{error.argument}: {error.got}"
        return DivergedError(self.config.training, step=step, reason=reason)


def _check_same_images(there: Mapping[str, object], here: ModelCard) -> None:
    """Refuse to continue with other images. Cards of version 0.1 may not say what these were."""
    for key in ("trained_on", "images_checksum"):
        old, new = there.get(key), here.get(key)
        if old is not None and new is not None and old != new:
            raise KanervaError(
                "data",
                expected=f"the images that the run began with, {there.get('trained_on')}",
                got=f"others, {here['trained_on']}, in {here.get('source')}",
                fix="Put the images back as they were, or start a new run in another folder.",
            )


def _notes(saved: Checkpoint, before: Settings, after: Settings) -> list[str]:
    """What a user should know about a run that continues, in sentences."""
    notes = [
        f"a checkpoint is damaged ({what}); continuing from {saved.path.name}"
        for what in saved.damaged
    ]
    steps = [settings.config.training.steps for settings in (before, after)]
    if steps[1] > steps[0]:
        count = torch.tensor(float(saved.step))
        rates = [
            Schedule.of(settings.config.training, torch.device("cpu")).learning_rate(count).item()
            for settings in (before, after)
        ]
        notes.append(
            f"extended from {steps[0]:,} to {steps[1]:,} steps: the learning rate, which was at "
            f"{rates[0]:.2g}, goes on at {rates[1]:.2g} and falls to 0 at the new end. A run "
            "that has all these steps from its beginning ends elsewhere."
        )
    return notes


def _next(step: int, every: int) -> int:
    return (step // every + 1) * every
