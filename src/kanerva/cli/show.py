"""What a training shows while it goes on: a bar with nats and time left, TensorBoard on request."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from kanerva.errors import KanervaError
from kanerva.training.run import Run

TRAIN_SCALARS = ("bound", "reconstruction", "kl_address", "kl_code", "gradient_norm")


class TrainingDisplay:
    """A progress bar on stderr, and a line for each look at the monitored split."""

    def __init__(self, run: Run, *, quiet: bool, tensorboard: bool) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("step {task.completed:.0f} of {task.total:.0f}"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task = self.bar.add_task("training", total=run.config.training.steps)
        self.writer = _tensorboard(run.folder) if tensorboard else None

    def __enter__(self) -> "TrainingDisplay":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def row(self, row: dict[str, Any]) -> None:
        """One report of the run."""
        nats = f"training {row['bound']:.1f} nats"
        self.bar.update(self.task, completed=row["step"], description=nats)
        held = row.get("held_out", {})
        if held:
            self.console.print(
                f"step {row['step']:>6}  {row['seconds']:7.1f} s  train {row['bound']:7.2f}  "
                f"{held['split']} {held['bound']:7.2f} = {held['reconstruction']:.2f} + "
                f"{held['kl_address']:.2f} + {held['kl_code']:.2f} nats"
            )
        if self.writer is not None:
            for name in TRAIN_SCALARS:
                self.writer.add_scalar(f"train/{name}", row[name], row["step"])
            for name, value in held.items():
                if isinstance(value, float):
                    self.writer.add_scalar(f"held_out/{name}", value, row["step"])


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise KanervaError(
            "--tensorboard",
            expected="TensorBoard to be installed",
            got="none",
            fix="Install it: pip install 'kanerva[tracking]'. metrics.jsonl is written anyway.",
        ) from None
    return SummaryWriter(str(folder))
