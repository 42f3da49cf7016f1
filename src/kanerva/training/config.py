"""Settings of a training run, and how they are written as JSON.

Nothing here imports torch: the command line reads these types for its help.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from kanerva.checks import check_bool, check_integer, check_number, check_one_of, check_path
from kanerva.errors import KanervaError
from kanerva.models.config import AnyModelConfig, ModelConfig, config_from_dict, config_to_dict
from kanerva.training.fields import check_field

Binarisation = Literal["threshold20", "stochastic"]
TrainSplit = Literal["train", "fit"]
HeldOutSplit = Literal["test", "valid"]
Start = Literal["components", "truncated"]
DamageMix = Literal["blocks", "varied"]
LeftOut = Literal[
    "block12",
    "erase12",
    "invert12",
    "half",
    "salt20",
    "flip10",
    "rotate15",
    "shift",
    "scale20",
    "thin",
    "thick",
    "line",
    "scribble",
]
ConfigJSON = dict[str, dict[str, object]]
"""The parts "model", "data" and "training" of a config, each as plain JSON values."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where episodes come from."""

    name: str = "omniglot"
    """A data set (`kanerva data list`) or a folder of images."""
    episode_length: int = 32
    """T: items of an episode."""
    episode_classes: int | None = None
    """Draw each episode from this many classes; by default from the whole split."""
    distinct: bool = False
    """Draw episodes without replacement: no image occurs twice in one."""
    symmetries: bool = False
    """Turn and mirror the training images, all of a class in the same one of 8 ways."""
    binarisation: Binarisation | None = None
    """How grey becomes ink; by default the way this data set is known with."""
    split: TrainSplit = "train"
    """Train on the whole training split, or on its part without validation images (`fit`)."""
    monitor: HeldOutSplit = "test"
    """Split whose bound is recorded while training. To choose settings, use `valid` here and
    `fit` for the training split."""

    def __post_init__(self) -> None:
        check_integer(
            "--data.episode-length", self.episode_length, fix="The paper uses episodes of 32."
        )
        if self.episode_classes is not None:
            check_integer(
                "--data.episode-classes", self.episode_classes, fix="Leave it out for all classes."
            )
        for name in ("distinct", "symmetries"):
            check_bool(f"--data.{name}", getattr(self, name), fix="Pass True or False.")
        if self.binarisation is not None:
            check_one_of("--data.binarisation", self.binarisation, get_args(Binarisation))
        check_one_of("--data.split", self.split, get_args(TrainSplit))
        check_one_of("--data.monitor", self.monitor, get_args(HeldOutSplit))


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the parameters are learned."""

    start: Start = "components"
    """How parameters begin. `components` gives codes and addresses that tell images apart, made of
    principal components of some images. `truncated` draws random weights from a truncated normal
    distribution with standard deviation 1 / sqrt(fan in), as the frameworks of 2017 did."""
    start_from: str | None = None
    """Begin with the parameters of this model, of the same sizes: a name of the package or a
    checkpoint. `start` has no meaning then."""
    steps: int = 40_000
    """Updates of the parameters."""
    batch: int = 16
    """Episodes in one step."""
    lr: float = 3e-3
    """Highest learning rate of Adam."""
    warmup: int = 500
    """Steps over which the learning rate rises from zero; at most half of all steps count."""
    decay: float = 1.0
    """Share of the steps after the warm-up over which the learning rate falls to zero. The fall is
    linear and comes last."""
    kl_warmup: int = 500
    """Steps over which the weight of the KL terms rises to 1."""
    clip: float = 4.0
    """Largest entry of a gradient, as a multiple of the usual size of that entry."""
    damaged: float = 0.25
    """Share of a batch that is read with damaged images, so that reading learns to repair. It is
    rounded down to whole episodes. The recorded terms are those of the other episodes, if there are
    any."""
    damage: DamageMix = "blocks"
    """What these images have suffered: blocks, noise and lost halves (blocks), or also movements,
    pen strokes and other widths of the pen (varied)."""
    left_out: LeftOut | None = None
    """Damage that is not trained on, not even as a part of another, to measure what a model does
    with damage that it has never seen. Only `varied` damage can leave something out."""
    short_episodes: int = 0
    """Split half of a batch into episodes of this many items, so that short ones are learned too. 0
    leaves all episodes as long as they are."""
    seed: int = 0
    """Seed of the initial parameters, the episodes and all samples."""
    eval_every: int = 2_000
    """Steps between two evaluations on the monitored split."""
    eval_episodes: int = 100
    """Episodes in each of these evaluations."""
    checkpoint_every: int = 5_000
    """Steps between two checkpoints."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Number format of the convolutions. With bfloat16 on a GPU the other networks use TF32. The
    memory's algebra has its own precision."""
    compile: bool | None = None
    """Let torch.compile fuse the step. On a GPU a step then takes 1.5 ms instead of 2.5 ms, and
    compiling takes 11 to 35 s. By default this is decided when a run starts: on a GPU and from
    about 37,000 steps it pays off, on a CPU it never does."""
    compile_from: int = 0
    """Steps that are made before compiling."""
    search_convolutions: bool = False
    """On a GPU, try cuDNN's algorithms for each convolution and keep the fastest. With 64 filters a
    step takes 8 % less time. Two starts may choose differently, and then one seed gives two results
    that differ by rounding."""

    def __post_init__(self) -> None:
        for name, fix in _COUNTS.items():
            check_integer(f"--training.{name.replace('_', '-')}", getattr(self, name), fix=fix)
        for name, fix in _COUNTS_FROM_0.items():
            flag = f"--training.{name.replace('_', '-')}"
            check_integer(flag, getattr(self, name), at_least=0, fix=fix)
        check_number("--training.lr", self.lr, above=0, fix="Start with 0.003, or 0.0003.")
        check_number("--training.clip", self.clip, above=0, fix="The recipes use 4.")
        check_number(
            "--training.decay",
            self.decay,
            at_least=0,
            at_most=1,
            fix="Use 1 for a fall over all steps, 0 for a constant rate.",
        )
        check_number(
            "--training.damaged",
            self.damaged,
            at_least=0,
            at_most=1,
            fix="Use 0 for none; omniglot uses 0.25.",
        )
        check_integer(
            "--training.seed", self.seed, at_least=0, at_most=2**32 - 1, fix="Use 0, 1, 2, ..."
        )
        check_one_of("--training.start", self.start, get_args(Start))
        check_one_of("--training.damage", self.damage, get_args(DamageMix))
        if self.left_out is not None:
            check_one_of("--training.left-out", self.left_out, get_args(LeftOut))
            if self.damage != "varied":
                raise KanervaError(
                    "--training.left-out",
                    expected="None where --training.damage is blocks",
                    got=self.left_out,
                    fix="Leave it out, or pass --training.damage varied.",
                )
        check_integer(
            "--training.short-episodes", self.short_episodes, at_least=0, fix="Use 0 for none."
        )
        if self.start_from is not None:
            check_path("--training.start-from", self.start_from, what="a model")
        check_one_of("--training.precision", self.precision, ("float32", "bfloat16"))


_COUNTS = {
    "steps": "The recipes train for 1500 (tiny) to 40000 steps.",
    "batch": "The recipes use 16, tiny uses 8.",
    "eval_every": "Use the number of steps to evaluate once, at the end.",
    "eval_episodes": "The recipes use 100.",
    "checkpoint_every": "Use the number of steps to save once, at the end.",
}
"""Counts of a training, and what to use instead of a wrong one."""
_COUNTS_FROM_0 = {
    "warmup": "Use 0 for none; the recipes use 50 to 500 steps.",
    "kl_warmup": "Use 0 for none; the recipes use 50 to 6000 steps.",
    "compile_from": "Use 0 to compile before the first step.",
}


NOT_REPAIRING = {
    "vae": "a VAE, which has no memory to read with a damaged image",
    "ladder-vae": "a VAE, which has no memory to read with a damaged image",
    "fewshot": "a model that predicts the next image, which reads with no image",
}
"""Kinds of models that are not trained with damaged images, and why."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """An experiment: everything that decides its numbers."""

    model: AnyModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        short = self.training.short_episodes
        if short and (self.data.episode_length % short or self.training.batch % 2):
            raise KanervaError(
                "--training.short-episodes",
                expected=f"a divisor of the episode length {self.data.episode_length}, and an even "
                "batch, half of which is split",
                got=f"{short} with a batch of {self.training.batch}",
                fix="Use 0, or for example 16 with episodes of 64 and a batch of 4.",
            )
        if self.model.kind in NOT_REPAIRING:
            for name, none in (("damaged", 0), ("damage", "blocks")):
                value = getattr(self.training, name)
                if value != none:
                    raise KanervaError(
                        f"--training.{name}",
                        expected=f"{none} for {NOT_REPAIRING[self.model.kind]}",
                        got=str(value),
                        fix="Leave it out, or train a model with a memory.",
                    )


def config_to_json(config: Config) -> ConfigJSON:
    """The config as plain JSON values: what config.json, checkpoints and records hold."""
    return {
        "model": config_to_dict(config.model),
        "data": dataclasses.asdict(config.data),
        "training": dataclasses.asdict(config.training),
    }


def config_from_json(saved: Mapping[str, object]) -> Config:
    """The config that `config_to_json` wrote.

    Also reads what version 0.1 wrote: one set of model fields for all kinds of models. Fields of
    the other parts that did not exist yet get their defaults.
    """
    parts = {}
    for name in ("model", "data", "training"):
        part = saved.get(name)
        if not isinstance(part, Mapping):
            raise KanervaError(
                "config",
                expected=f"an object '{name}'",
                got=repr(part)[:60],
                fix="Copy config.json from a run folder, or start the run again.",
            )
        parts[name] = part
    for name, part_type in (("data", DataConfig), ("training", TrainingConfig)):
        for key, value in parts[name].items():
            check_field(part_type, str(key), value, argument=f"{name}.{key}")
    return Config(
        model=config_from_dict(parts["model"]),
        data=DataConfig(**parts["data"]),
        training=TrainingConfig(**parts["training"]),
    )
