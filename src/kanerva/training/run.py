"""A training run: a folder with its config, metrics and checkpoints, which can be resumed.

A run that was stopped at a checkpoint goes on to the same numbers as one that was not: parameters,
Adam's moments, the step counter and the generator are all in the file.
"""

import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kanerva.atomic import write_atomically
from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.build import build_model
from kanerva.models.checkpoint import (
    find_checkpoint,
    foreign_file,
    read_checkpoint,
    save_checkpoint,
)
from kanerva.models.initialise import initialise_model
from kanerva.models.model import Model
from kanerva.training.config import Config
from kanerva.training.interrupt import Interrupt
from kanerva.training.parallel import Parallel
from kanerva.training.step import TrainingStep

Report = Callable[[dict[str, Any]], None]
KEPT_CHECKPOINTS = 2
REPORT_EVERY = 100
"""Steps between two reports."""
START_IMAGES = 2048
"""Over which a model's start is whitened."""


class Run:
    """Everything a training holds while it goes on."""

    def __init__(self, config: Config, folder: Path, *, data: Path | None, parallel: Parallel):
        self.config, self.folder, self.parallel = config, folder, parallel
        self.device = parallel.device
        self.train_set = self._load(config.data.split, data)
        self.monitor_set = self._load(config.data.monitor, data)
        sampler = EpisodeSampler(self.train_set, num_items=config.data.episode_length)
        self.model = begin(config, sampler).to(self.device)
        if self.device.type == "cuda":
            self.model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.step = TrainingStep(
            self.model, sampler, config.training, device=self.device, parallel=parallel
        )
        self.done = 0
        self.seconds = 0.0

    def _load(self, split: str, data: Path | None) -> Dataset:
        dataset = load_dataset(
            self.config.data.name,
            split,
            data_folder=data,
            binarisation=self.config.data.binarisation,
            show_progress=self.parallel.is_first,
        )
        if tuple(dataset.image_shape) != tuple(self.config.model.image_shape):
            shape = " ".join(map(str, dataset.image_shape))
            raise KanervaError(
                "--model.image-shape",
                expected=f"the shape of {self.config.data.name}'s images, {dataset.image_shape}",
                got=str(self.config.model.image_shape),
                fix=f"Pass --model.image-shape {shape}.",
            )
        if dataset.likelihood != self.config.model.likelihood:
            raise KanervaError(
                "--model.likelihood",
                expected=f"{dataset.likelihood}, as {self.config.data.name}'s pixels are",
                got=self.config.model.likelihood,
                fix=f"Pass --model.likelihood {dataset.likelihood}.",
            )
        return dataset.to(self.device)

    def start(self, recipe: str) -> None:
        """A fresh folder, with the settings in it."""
        if self.parallel.is_first:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "metrics.jsonl").unlink(missing_ok=True)
            settings = {"recipe": recipe, **dataclasses.asdict(self.config)}
            write_atomically(self.folder / "config.json", json.dumps(settings, indent=2).encode())

    def go(self, report: Report) -> None:
        """Train to the end; Ctrl-C saves a checkpoint first, after a whole number of steps.

        Rows come at fixed steps, wherever a run was stopped and resumed.
        """
        training = self.config.training
        with Interrupt() as interrupt:
            while self.done < training.steps:
                start = time.perf_counter()
                stops = (training.eval_every, training.checkpoint_every, REPORT_EVERY)
                stop = min(training.steps, *(_next(self.done, every) for every in stops))
                self.done += self.step.run(stop - self.done, stop=lambda: interrupt.pressed)
                self.seconds += time.perf_counter() - start
                if self.done == stop:
                    self._arrive(report)
                if interrupt.pressed:
                    self.save()
                    raise KeyboardInterrupt

    def _arrive(self, report: Report) -> None:
        """At a step where there is something to say, to look at or to save."""
        training = self.config.training
        last = self.done == training.steps
        look = last or self.done % training.eval_every == 0
        if look or self.done % REPORT_EVERY == 0:
            row = self._row()
            if look:
                row["held_out"] = self._look()
                self._record(row)
            report(row)
        if last or self.done % training.checkpoint_every == 0:
            self.save()

    def _row(self) -> dict[str, Any]:
        progress = self.step.progress()
        return {
            "step": self.done,
            "seconds": round(self.seconds, 3),
            "bound": progress.bound,
            **progress._asdict(),
        }

    def _look(self) -> dict[str, Any]:
        result = evaluate(
            self.model,
            self.monitor_set,
            episodes=self.config.training.eval_episodes,
            episode_length=self.config.data.episode_length,
        )
        return {"split": self.config.data.monitor, **result._asdict()}

    def _record(self, row: dict[str, Any]) -> None:
        if self.parallel.is_first:
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")

    # -- files -----------------------------------------------------------------------------------

    def save(self) -> None:
        """A checkpoint from which `kanerva eval` and resuming both work."""
        if not self.parallel.is_first:
            return
        path = self.folder / f"checkpoint-{self.done:08d}.safetensors"
        state = {f"training.{name}": value for name, value in self.step.state().items()}
        metadata = {
            "config": dataclasses.asdict(self.config),
            "card": self.card(),
            "step": self.done,
            "seconds": self.seconds,
        }
        tensors = {**self.model.state_dict(), **state}
        save_checkpoint(path, tensors, model=self.config.model, **metadata)
        for old in sorted(self.folder.glob("checkpoint-*.safetensors"))[:-KEPT_CHECKPOINTS]:
            old.unlink()

    def card(self) -> dict[str, Any]:
        """What a reader of the numbers must know."""
        return {
            "dataset": self.train_set.name,
            "encoding": self.train_set.encoding,
            "binarisation": self.train_set.binarisation,
            "trained_on": f"{self.config.data.split} ({len(self.train_set)} images)",
            "episode_length": self.config.data.episode_length,
            "steps": self.done,
            "seconds": round(self.seconds, 1),
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "seed": self.config.training.seed,
        }

    def resume(self) -> None:
        """Go on from the newest checkpoint of the folder."""
        path = find_checkpoint(self.folder)
        tensors, metadata = read_checkpoint(path)
        state = {
            name.removeprefix("training."): tensors.pop(name)
            for name in list(tensors)
            if name.startswith("training.")
        }
        if not state:
            raise KanervaError(
                "--resume",
                expected="a checkpoint of a training",
                got=f"a model alone in '{self.folder}'",
                fix="Start a new folder with --out; a model alone cannot be trained on.",
            )
        if metadata["config"] != json.loads(json.dumps(dataclasses.asdict(self.config))):
            raise KanervaError(
                "--resume",
                expected="the same settings as the run in that folder",
                got=_difference(metadata["config"], dataclasses.asdict(self.config)),
                fix="Leave the settings as they were, or start a new folder with --out.",
            )
        try:
            self.model.load_state_dict(tensors)
            self.step.load_state(state)
            self.done, self.seconds = int(metadata["step"]), float(metadata["seconds"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise foreign_file(path, " ".join(str(error).split())[:200]) from None
        self._forget_metrics_after(self.done)

    def _forget_metrics_after(self, step: int) -> None:
        path = self.folder / "metrics.jsonl"
        if self.parallel.is_first and path.exists():
            rows = [line for line in path.read_text().splitlines() if _step_of(line) <= step]
            write_atomically(path, "".join(row + "\n" for row in rows).encode())


def begin(config: Config, sampler: EpisodeSampler) -> Model:
    """The model before its first step; made on the CPU, the same for every device."""
    torch.manual_seed(config.training.seed)
    model = build_model(config.model)
    generator = torch.Generator(sampler.dataset.device).manual_seed(config.training.seed)
    num_episodes = math.ceil(START_IMAGES / sampler.num_items)
    initialise_model(model, sampler.sample(num_episodes, generator=generator).cpu())
    return model


def _next(step: int, every: int) -> int:
    return (step // every + 1) * every


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (json.JSONDecodeError, KeyError):
        return math.inf  # a line cut short by a crash


def _difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    return "; ".join(
        f"{part}.{name} {there[part].get(name)} there, {value} here"
        for part, fields in json.loads(json.dumps(here)).items()
        for name, value in fields.items()
        if there[part].get(name) != value
    )
