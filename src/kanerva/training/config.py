"""What a training run is. No torch here: the command line reads this for its help."""

import math
from dataclasses import dataclass, field
from typing import Literal

from kanerva.errors import KanervaError
from kanerva.models.config import AnyModelConfig, ModelConfig


@dataclass(frozen=True)
class DataConfig:
    """Where episodes come from."""

    name: str = "omniglot"
    """A data set (`kanerva data list`) or a folder of images."""
    episode_length: int = 32
    """T: items of an episode."""
    binarisation: Literal["threshold20", "stochastic"] | None = None
    """How grey becomes ink; None takes the data set's own way."""
    split: Literal["train", "fit"] = "train"
    """Train on all of the training split, or, to make choices, without its validation part."""
    monitor: Literal["test", "valid"] = "test"
    """Split whose bound is recorded while training. Choose by `valid` with `--data.split fit`."""

    def __post_init__(self) -> None:
        _positive("data.episode-length", self.episode_length)


@dataclass(frozen=True)
class TrainingConfig:
    """How parameters are found."""

    steps: int = 40_000
    """Updates of the parameters."""
    batch: int = 16
    """Episodes in a step."""
    lr: float = 3e-3
    """Learning rate of Adam at its highest."""
    warmup: int = 500
    """Steps over which the learning rate rises from zero."""
    decay: float = 1.0
    """Share of the other steps, the last, over which it falls to zero linearly."""
    kl_warmup: int = 500
    """Steps over which the KL terms reach their full weight."""
    clip: float = 4.0
    """Largest entry of a gradient, in units of its usual size."""
    damaged: float = 0.25
    """Share of the episodes that are read by damaged images, so that recall learns to repair."""
    seed: int = 0
    """Of the initial parameters, the episodes and all sampling."""
    eval_every: int = 2_000
    """Steps between two looks at the monitored split."""
    eval_episodes: int = 100
    """Episodes in such a look."""
    checkpoint_every: int = 5_000
    """Steps between two checkpoints."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Of the convolutions, on a GPU with TF32 in the other nets; the memory has its own."""
    compile: bool = False
    """Let torch.compile fuse the step: faster on a GPU, after a minute of compiling."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "eval_every", "eval_episodes", "checkpoint_every"):
            _positive(f"training.{name.replace('_', '-')}", getattr(self, name))
        for name in ("lr", "clip"):
            _positive(f"training.{name}", getattr(self, name))
        for name in ("warmup", "kl_warmup"):
            _within(f"training.{name.replace('_', '-')}", getattr(self, name), 0, math.inf)
        _within("training.decay", self.decay, 0, 1)
        _within("training.damaged", self.damaged, 0, 0.9)
        _within("training.seed", self.seed, 0, 2**32 - 1)


@dataclass(frozen=True)
class Config:
    """An experiment: everything that decides its numbers."""

    model: AnyModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise KanervaError(
            f"--{name}",
            expected="a number above 0",
            got=str(value),
            fix="Change it, or leave it out.",
        )


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        limits = f"at least {least}" if most == math.inf else f"between {least} and {most}"
        raise KanervaError(
            f"--{name}", expected=limits, got=str(value), fix="Change it, or leave it out."
        )
