"""`kanerva train RECIPE`: one training, with its settings, metrics and checkpoints in a folder."""

import contextlib
import json as jsonlib
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.cli.terminal import say
from kanerva.errors import KanervaError
from kanerva.training.config import Config
from kanerva.training.interrupt import Stopped

if TYPE_CHECKING:
    from kanerva.training.parallel import Parallel
    from kanerva.training.run import Run
    from kanerva.training.run_folder import Checkpoint


def train(
    config: Config,
    recipe: str,
    *,
    out: Path | None = None,
    data_folder: Path | None = None,
    resume: bool = False,
    device: str | None = None,
    tensorboard: bool = False,
    json: bool = False,
) -> None:
    """Train a model, or continue a training; the command line calls it with a recipe's config."""
    from kanerva.training.lock import locked
    from kanerva.training.parallel import is_first_process

    command = _Command(
        config=config,
        recipe=recipe,
        folder=out or Path("runs") / recipe,
        data_folder=data_folder,
        resume=resume,
        device=device,
        tensorboard=tensorboard,
        json=json,
    )
    # The processes of one torchrun share the lock of the first.
    option = "--resume" if resume else "--out"
    with (
        locked(command.folder, argument=option) if is_first_process() else contextlib.nullcontext()
    ):
        command.run()


@dataclass(frozen=True, kw_only=True)
class _Command:
    """One call of `kanerva train`, in a folder that no other process trains in."""

    config: Config
    recipe: str
    folder: Path
    data_folder: Path | None
    resume: bool
    device: str | None
    tensorboard: bool
    json: bool

    def run(self) -> None:
        """Train, unless that is a mistake or all is done already."""
        from kanerva.cli.options import choose_device
        from kanerva.cli.show import check_tensorboard
        from kanerva.training.parallel import Parallel

        _check_folder(self.folder, self.config, resume=self.resume)
        if self.tensorboard:
            check_tensorboard()
        if self.resume:
            self._check_settings()
            finished = self._finished()
            if finished is not None:
                self._say_finished(finished)
                return
        parallel = Parallel.from_environment(self.device and choose_device(self.device))
        try:
            agree = self._train(parallel)
        except Stopped as stop:
            text = self._kept(stop) if parallel.is_first else ""
            raise Stopped(stop.number, text) from None
        finally:
            parallel.close()
        if parallel.is_first:
            self._print_json(agree)

    def _train(self, parallel: "Parallel") -> bool:
        """Train; returns whether all processes ended with the same parameters."""
        from kanerva.cli.show import TrainingDisplay
        from kanerva.training.prepare import load_images
        from kanerva.training.run import Run
        from kanerva.training.side_by_side import train_side_by_side

        config = self._decided(parallel)
        images = load_images(
            config,
            device=parallel.device,
            data_folder=self.data_folder,
            show_progress=parallel.is_first,
        )
        run = Run(
            config,
            self.folder,
            images=images,
            parallel=parallel,
            may_compile=not self._left_a_gpu(parallel),
        )
        notes: list[str] = []
        if self.resume:
            notes = run.resume(self.recipe, may_extend=True)
        else:
            run.start(self.recipe)
        if parallel.is_first:
            for note in notes:
                say(f"note: {note}")
        quiet = self.json or not parallel.is_first
        with TrainingDisplay(run, quiet=quiet, tensorboard=self.tensorboard) as display:
            run.announce = display.say
            display.say(self._where(run))
            train_side_by_side([run], lambda _, row: display.row(row))
        return parallel.agree(run.step.flat.vector)

    def _decided(self, parallel: "Parallel") -> Config:
        """The config with a decision to compile or not: that of the run, or a new one."""
        from kanerva.training.compiling import decide_to_compile
        from kanerva.training.run_folder import RunFolder

        training = self.config.training
        if training.compile is None and self.resume:
            before = RunFolder(self.folder, is_writer=False).load().config.training
            training = replace(
                training, compile=bool(before.compile), compile_from=before.compile_from
            )
        return replace(self.config, training=decide_to_compile(training, parallel))

    def _left_a_gpu(self, parallel: "Parallel") -> bool:
        """Whether a run of a GPU continues on a CPU, where compiling does not pay off."""
        from kanerva.training.run_folder import RunFolder

        if not self.resume or parallel.device.type != "cpu":
            return False
        card = RunFolder(self.folder, is_writer=False).load().card
        return card.get("device", "cpu") != "cpu"

    # -- a run that has begun --------------------------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse flags that differ from the settings of the run."""
        from kanerva.training.prepare import is_there, with_source
        from kanerva.training.run_folder import RunFolder
        from kanerva.training.same_settings import check_same_settings

        settings, config = RunFolder(self.folder).settings(), with_source(self.config)
        if not is_there(config):
            raise KanervaError(
                "--data.name",
                expected="the folder with the images of the run",
                got=f"'{config.data.name}', where no folder is",
                fix="If it was moved, pass --data.name PATH.",
            )
        if settings is not None:
            check_same_settings(settings.config, config, may_extend=True)

    def _finished(self) -> "Checkpoint | None":
        """The last checkpoint of a run that has made all its steps."""
        from kanerva.training.run_folder import RunFolder, step_of

        folder, steps = RunFolder(self.folder, is_writer=False), self.config.training.steps
        if (step_of(folder.checkpoints()[-1]) or 0) < steps:
            return None
        last = folder.load()
        return last if last.step >= steps else None

    def _say_finished(self, last: "Checkpoint") -> None:
        from kanerva.training.parallel import is_first_process
        from kanerva.training.run_folder import RunFolder

        if not is_first_process():
            return
        rows = RunFolder(self.folder).rows()
        held = rows[-1].get("held_out") if rows else None
        bound = f", {held['bound']:.2f} nats on {held['split']}" if held else ""
        more = self._resuming(f"--training.steps {2 * last.step}")
        say(f"'{self.folder}' is finished: all {last.step:,} steps are made{bound}")
        say(f"to train it for longer: {more}")
        self._print_json(agree=True)

    # -- what it says ----------------------------------------------------------------------------

    def _resuming(self, *more: str) -> str:
        """The command that continues this run."""
        words = ["kanerva", "train", "--resume", str(self.folder)]
        for flag, value in (("--data-folder", self.data_folder), ("--device", self.device)):
            if value is not None:
                words += [flag, str(value)]
        if self.tensorboard:
            words.append("--tensorboard")
        processes = os.environ.get("LOCAL_WORLD_SIZE", "1")
        torchrun = "" if processes == "1" else f"torchrun --nproc-per-node {processes} -m "
        return " ".join([torchrun + shlex.join(words), *more])

    def _where(self, run: "Run") -> str:
        """Where the run saves, and how often."""
        begin = f"from step {run.num_steps_done:,} of " if self.resume else ""
        training = self.config.training
        every = f"every {training.checkpoint_every:,} steps and " * (
            training.checkpoint_every < training.steps
        )
        return (
            f"{begin}{training.steps:,} steps on {run.device}; saving to '{self.folder}' {every}at "
            "the end; Ctrl-C saves, too"
        )

    def _kept(self, stop: Stopped) -> str:
        """What there is after a signal, and how to continue."""
        from kanerva.training.run_folder import RunFolder, step_of

        checkpoints = RunFolder(self.folder).checkpoints()
        if not checkpoints:
            return "stopped before a step was complete; nothing is kept"
        step, last = step_of(checkpoints[-1]), checkpoints[-1]
        steps = f"step {step:,} of {self.config.training.steps:,}"
        how = (
            f"after {steps}, saved in '{last}'" if stop.saved else f"at once; '{last}' has {steps}"
        )
        return f"stopped {how}; continue with: {self._resuming()}"

    def _print_json(self, agree: bool) -> None:
        from kanerva.json_values import in_json
        from kanerva.training.run_folder import RunFolder

        if self.json:
            rows = RunFolder(self.folder).rows()
            report = {"folder": str(self.folder), **(rows[-1] if rows else {})}
            print(jsonlib.dumps(in_json({**report, "parameters_agree": agree})))


def _check_folder(folder: Path, config: Config, *, resume: bool) -> None:
    """Refuse to overwrite another run, and to resume where there is none.

    A run that has saved nothing yet may start again with the same settings, and with others if it
    has not even measured anything.
    """
    from kanerva.training.run_folder import RunFolder

    begun, left = RunFolder(folder).checkpoints(), RunFolder(folder).leftovers()
    if begun and not resume:
        raise KanervaError(
            "--out",
            expected="a folder without checkpoints",
            got=f"'{folder}', where a run has begun",
            fix=f"Continue it with kanerva train --resume {shlex.quote(str(folder))}, or name "
            "another folder with --out.",
        )
    if left and not begun and not resume and not _may_start_again(config, folder):
        raise KanervaError(
            "--out",
            expected="a new folder",
            got=f"'{folder}', which has {' and '.join(left)} but no checkpoint",
            fix="Remove these files, or name another folder with --out.",
        )
    if resume and not begun:
        raise KanervaError(
            "--resume",
            expected="a folder with a checkpoint",
            got=f"'{folder}', which has none",
            fix="Leave --resume out and name a recipe to start a new run.",
        )


def _may_start_again(config: Config, folder: Path) -> bool:
    """Whether the files in a folder are those of a run; results of other settings are an error."""
    from kanerva.training.prepare import with_source
    from kanerva.training.run_folder import RunFolder
    from kanerva.training.same_settings import check_same_settings

    try:
        settings = RunFolder(folder).settings()
    except KanervaError:
        return False
    if settings is not None and RunFolder(folder).metrics.exists():
        check_same_settings(settings.config, with_source(config))
    return settings is not None
