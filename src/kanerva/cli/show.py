"""What trainings show while they run: a bar with nats and time left, TensorBoard on request."""

from pathlib import Path
from typing import Protocol, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from kanerva.cli.terminal import Stderr
from kanerva.errors import KanervaError
from kanerva.training.plan import Plan, RunId
from kanerva.training.records import MetricsRow
from kanerva.training.run import Run


class _Bar:
    """A progress bar on stderr with lines above it."""

    def __init__(self, num_steps: int, *, quiet: bool) -> None:
        self.console = Console(file=cast(TextIO, Stderr()), quiet=quiet)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("step {task.completed:.0f} of {task.total:.0f}"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=num_steps)

    def __exit__(self, *_: object) -> None:
        if self.bar.live.is_started:
            self.bar.stop()


class TrainingDisplay(_Bar):
    """Shows one run, with a line for each evaluation."""

    def __init__(self, run: Run, *, quiet: bool, tensorboard: bool) -> None:
        super().__init__(run.config.training.steps, quiet=quiet)
        self.bar.update(self.task, completed=run.num_steps_done)
        self.writer = _tensorboard(run.folder.path) if tensorboard else None

    def __enter__(self) -> "TrainingDisplay":
        self.bar.start()
        return self

    def say(self, text: str) -> None:
        """Show one line."""
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self.writer is not None:
            self.writer.close()

    def row(self, row: MetricsRow) -> None:
        """Show one report of the run."""
        nats = f"training {row['bound']:.1f} nats"
        self.bar.update(self.task, completed=row["step"], description=nats)
        if "held_out" in row:
            self.say(_evaluation(row))
        if self.writer is not None:
            for name, value in _scalars(row).items():
                self.writer.add_scalar(name, value, row["step"])


class SweepDisplay(_Bar):
    """Shows the runs of a plan: one bar for all, a line for each evaluation."""

    def __init__(self, plan: Plan, *, quiet: bool) -> None:
        super().__init__(sum(run.config.training.steps for run in plan.runs), quiet=quiet)
        self.done: dict[RunId, int] = {}
        self.width = max(len(str(run.id)) for run in plan.runs)

    def __enter__(self) -> "SweepDisplay":
        return self

    def say(self, text: str) -> None:
        """Show one line. The bar appears with the first: a mistake before it is one line."""
        self.bar.start()
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def row(self, run: RunId, row: MetricsRow) -> None:
        """Show one report of a run."""
        self.done[run] = row["step"]
        self.bar.update(self.task, completed=sum(self.done.values()))
        if "held_out" in row:
            self.say(f"{run!s:{self.width}}  {_evaluation(row)}")


def _evaluation(row: MetricsRow) -> str:
    """An evaluation in one line."""
    assert "held_out" in row
    held = row["held_out"]
    return (
        f"step {row['step']:>6}  {row['seconds']:7.1f} s  train {row['bound']:7.2f}  "
        f"{held['split']} {held['bound']:7.2f} = {held['reconstruction']:.2f} + "
        f"{held['kl_address']:.2f} + {held['kl_code']:.2f} nats"
    )


def _scalars(row: MetricsRow) -> dict[str, float]:
    """What TensorBoard draws of a row."""
    names = ("bound", "reconstruction", "kl_address", "kl_code", "gradient_norm")
    scalars = {f"train/{name}": row[name] for name in names}
    held = row.get("held_out", {})
    return scalars | {
        f"held_out/{name}": value for name, value in held.items() if isinstance(value, float)
    }


class _Writer(Protocol):
    """What is used of TensorBoard's SummaryWriter."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...

    def close(self) -> None: ...


def _tensorboard(folder: Path) -> _Writer:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder))


def check_tensorboard() -> None:
    """Refuse --tensorboard where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: F401
    except ImportError:
        raise KanervaError(
            "--tensorboard",
            expected="TensorBoard to be installed",
            got="none",
            fix="Install it: pip install 'kanerva[tracking]'. metrics.jsonl is written anyway.",
        ) from None
