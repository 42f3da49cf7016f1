"""The files of a run: config.json, metrics.jsonl and checkpoints, all in one folder."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.errors import KanervaError
from kanerva.json_values import in_json
from kanerva.models.checkpoint import foreign_file, read_checkpoint, save_checkpoint
from kanerva.tensor_file import DamagedFileError, Metadata
from kanerva.training.config import Config, config_from_json, config_to_json
from kanerva.training.records import MetricsRow, ModelCard
from kanerva.training.settings import SETTINGS, Settings, read_settings, settings_to_json

KEPT_CHECKPOINTS = 2
STATE = "training."
"""Prefix of what a checkpoint holds besides the parameters of the model."""


class Checkpoint(NamedTuple):
    """A run as it was after some step."""

    path: Path
    parameters: dict[str, Tensor]
    state: dict[str, Tensor]
    """What `TrainingStep.load_state` needs."""
    config: Config
    card: Mapping[str, object]
    step: int
    seconds: float
    damaged: tuple[str, ...]
    """Newer checkpoints that could not be read, each with the reason."""


@dataclass(frozen=True)
class RunFolder:
    """Reads and writes the files of one run."""

    path: Path
    is_writer: bool = True
    """Whether this process writes; of several that train one model, only the first does."""

    @property
    def metrics(self) -> Path:
        """The file with one row for each evaluation."""
        return self.path / "metrics.jsonl"

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first."""
        files = self.path.glob("checkpoint-*.safetensors")
        steps = {path: step_of(path) for path in files}
        found = [(step, path) for path, step in steps.items() if step is not None]
        return [path for _, path in sorted(found)]

    def leftovers(self) -> list[str]:
        """Names of files of a run that are here."""
        return [name for name in (SETTINGS, self.metrics.name) if (self.path / name).exists()]

    def start(self, settings: Settings) -> None:
        """Begin a run: write its settings, and remove the rows of one that left no checkpoint."""
        if self.is_writer:
            self.path.mkdir(parents=True, exist_ok=True)
            self.metrics.unlink(missing_ok=True)
            self.write_settings(settings)

    def settings(self) -> Settings | None:
        """The settings of the run that began here, if they are here."""
        return read_settings(self.path) if (self.path / SETTINGS).exists() else None

    def write_settings(self, settings: Settings) -> None:
        """Write config.json."""
        if self.is_writer:
            contents = json.dumps(settings_to_json(settings), indent=2)
            write_atomically(self.path / SETTINGS, contents.encode())

    # -- metrics ---------------------------------------------------------------------------------

    def append(self, row: MetricsRow) -> None:
        """Add a row to metrics.jsonl."""
        if self.is_writer:
            with self.metrics.open("a") as file:
                file.write(json.dumps(in_json(row)) + "\n")

    def rows(self) -> list[MetricsRow]:
        """All whole rows of metrics.jsonl, in the order of their steps."""
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        whole = (line for line in lines if _step_of(line) < math.inf)
        return [cast(MetricsRow, json.loads(line)) for line in whole]

    def forget_rows_after(self, step: int) -> None:
        """Remove the rows of steps that will be made again."""
        if self.is_writer and self.metrics.exists():
            lines = self.metrics.read_text().splitlines()
            kept = [line + "\n" for line in lines if _step_of(line) <= step]
            write_atomically(self.metrics, "".join(kept).encode())

    # -- checkpoints -----------------------------------------------------------------------------

    def save(
        self,
        config: Config,
        card: ModelCard,
        *,
        step: int,
        seconds: float,
        parameters: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
    ) -> None:
        """Write a checkpoint for `kanerva eval` and for resuming; remove the oldest ones."""
        if not self.is_writer:
            return
        tensors = {**parameters, **{STATE + name: value for name, value in state.items()}}
        save_checkpoint(
            self.path / f"checkpoint-{step:08d}.safetensors",
            tensors,
            model=config.model,
            config=config_to_json(config),
            card=card,
            step=step,
            seconds=seconds,
        )
        for old in self.checkpoints()[:-KEPT_CHECKPOINTS]:
            old.unlink()

    def load(self) -> Checkpoint:
        """The newest checkpoint that is whole. Damaged ones get another name."""
        damaged: dict[Path, str] = {}
        for path in reversed(self.checkpoints()):
            try:
                tensors, metadata = read_checkpoint(path)
            except DamagedFileError as error:
                damaged[path] = error.got
                continue
            checkpoint = self._checkpoint(path, tensors, metadata, tuple(damaged.values()))
            for broken in damaged:
                if self.is_writer:
                    broken.rename(broken.with_name(f"damaged-{broken.name}"))
            return checkpoint
        raise KanervaError(
            "run folder",
            expected="a folder with a whole checkpoint",
            got="; ".join(damaged.values()) or f"'{self.path}', which has none",
            fix="Copy the folder again, or start a new run in another one."
            if damaged
            else "Leave --resume out to start a new run.",
        )

    def _checkpoint(
        self,
        path: Path,
        tensors: dict[str, Tensor],
        metadata: Metadata,
        damaged: tuple[str, ...],
    ) -> Checkpoint:
        state = {
            name.removeprefix(STATE): tensors.pop(name)
            for name in list(tensors)
            if name.startswith(STATE)
        }
        if not state:
            raise KanervaError(
                "run folder",
                expected="a checkpoint of a training",
                got=f"a model alone in '{self.path}'",
                fix="Name another folder with --out: a model alone cannot be trained further.",
            )
        config, step, seconds = (metadata.get(name) for name in ("config", "step", "seconds"))
        card = metadata.get("card", {})
        assert isinstance(card, dict)
        if not isinstance(config, dict) or not isinstance(step, int):
            raise foreign_file(path, "no config, or no step")
        if not isinstance(seconds, int | float):
            raise foreign_file(path, "no time")
        _check_order_of_parameters(config)
        return Checkpoint(
            path=path,
            parameters=tensors,
            state=state,
            config=config_from_json(config),
            card=card,
            step=step,
            seconds=float(seconds),
            damaged=damaged,
        )


def step_of(checkpoint: Path) -> int | None:
    """The step in the name of a checkpoint; None for a file with another kind of name."""
    number = checkpoint.stem.removeprefix("checkpoint-")
    return int(number) if number.isascii() and number.isdigit() else None


def _check_order_of_parameters(config: dict[str, object]) -> None:
    """Refuse Adam's moments of a model that kept its parameters in another order."""
    model = config.get("model")
    if isinstance(model, dict) and model.get("kind") == "dynamic" and "address_size" in model:
        raise KanervaError(
            "run folder",
            expected="a run of this version of kanerva",
            got="a Dynamic Kanerva Machine that version 0.1 began to train",
            fix="Train it again in another folder; `kanerva eval` still reads its checkpoints.",
        )


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError):
        return math.inf  # a line that was cut short by a crash
