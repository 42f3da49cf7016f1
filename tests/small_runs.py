"""Runs that are small enough for tests, and helpers around them."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from kanerva.models.config import ModelConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import load_images
from kanerva.training.records import MetricsRow
from kanerva.training.run import Run
from kanerva.training.side_by_side import train_side_by_side

CPU = torch.device("cpu")
KANERVA = [sys.executable, "-m", "kanerva.cli.main"]
MODEL = ModelConfig(num_filters=4, code_size=8, num_rows=8, key_size=8, hidden_size=16)
SMALL = Config(
    model=MODEL,
    data=DataConfig(name="glyphs", episode_length=4),
    training=TrainingConfig(
        steps=12,
        batch=2,
        warmup=2,
        kl_warmup=4,
        eval_every=4,
        eval_episodes=3,
        checkpoint_every=4,
        precision="float32",
    ),
)
SMALL_CHANGES: dict[str, object] = {
    **{"model.num_filters": 4, "model.code_size": 8, "model.num_rows": 8, "model.hidden_size": 16},
    **{"data.name": "glyphs", "data.episode_length": 4, "training.batch": 4},
    **{"training.eval_episodes": 3, "training.steps": 24, "training.checkpoint_every": 6},
}
"""Changes of a plan that make a run of any memory recipe small."""
SMALL_FLAGS = [
    *("--model.num-filters", "4", "--model.code-size", "8", "--model.num-rows", "8"),
    *("--data.episode-length", "4", "--training.batch", "2", "--training.eval-episodes", "3"),
]


def ignore(row: MetricsRow) -> None:
    """A report that nobody reads."""


def small_run(folder: Path, config: Config = SMALL) -> Run:
    """A run that has not started."""
    folder.mkdir(parents=True, exist_ok=True)
    images = load_images(config, device=CPU)
    return Run(config, folder, images=images, parallel=Parallel(CPU))


def train(run: Run, report: Callable[[MetricsRow], None] = ignore) -> None:
    """Train a run to its end."""
    train_side_by_side([run], lambda _, row: report(row))


def with_training(config: Config, **changes: object) -> Config:
    """A config with other settings of its training."""
    return replace(config, training=replace(config.training, **changes))  # pyright: ignore


def without_time(row: MetricsRow) -> dict[str, object]:
    """A row without what differs from one machine to the next."""
    return {name: value for name, value in row.items() if name != "seconds"}
