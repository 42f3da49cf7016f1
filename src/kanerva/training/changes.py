"""Settings by their dotted names, such as `training.lr`: which exist, and how to change them."""

import dataclasses
from collections.abc import Mapping

from kanerva.checks import nearest
from kanerva.errors import KanervaError
from kanerva.models.config import CONFIGS
from kanerva.training.config import Config
from kanerva.training.fields import check_field, field_names
from kanerva.training.recipes import RECIPES

PARTS = ("model", "data", "training")
MODEL_NAMES = {
    "kanerva": "the Kanerva Machine",
    "vae": "a VAE, which has no memory",
    "dnc": "a model with a DNC",
    "lrua": "a model with an LRUA memory",
    "dynamic": "the Dynamic Kanerva Machine",
}
"""Kinds of models in words, for error messages."""


def settings(config: Config) -> list[str]:
    """The dotted names of all settings of a config."""
    return [f"{part}.{name}" for part in PARTS for name in field_names(type(getattr(config, part)))]


def with_changes(config: Config, changes: Mapping[str, object]) -> Config:
    """A config with other values for some settings.

    Args:
        config: the config to start from.
        changes: new values by dotted names, for example `{"training.lr": 1e-3}`.

    Raises:
        KanervaError: where a setting does not exist, does not apply to this kind of model, or
            cannot have this value. The message names the setting and the nearest known one.

    Example:
        >>> from kanerva.training.changes import with_changes
        >>> from kanerva.training.config import Config
        >>> with_changes(Config(), {"training.lr": 1e-3}).training.lr
        0.001

    """
    new: dict[str, dict[str, object]] = {part: {} for part in PARTS}
    for setting, value in changes.items():
        check_known(config, setting)
        part, name = setting.split(".")
        check_field(type(getattr(config, part)), name, value, argument=setting)
        new[part][name] = tuple(value) if isinstance(value, list) else value
    return Config(
        **{part: dataclasses.replace(getattr(config, part), **new[part]) for part in PARTS}
    )


def check_known(config: Config, setting: str) -> None:
    """Refuse a setting that this config does not have."""
    check_kind(config, setting, argument=setting)
    known = settings(config)
    if setting not in known:
        raise KanervaError(
            setting,
            expected="a setting of the model, the data or the training, such as training.lr",
            got=repr(setting),
            fix=nearest(setting, known) or f"Known settings: {', '.join(known)}.",
        )


def check_kind(config: Config, setting: str, *, argument: str) -> None:
    """Refuse a setting that only other kinds of models have."""
    every_kind = {f"model.{name}" for kind in CONFIGS.values() for name in field_names(kind)}
    if setting in every_kind - set(settings(config)):
        raise KanervaError(
            argument,
            expected=f"a setting of {MODEL_NAMES[config.model.kind]}",
            got="one that applies only to other kinds of models",
            fix=f"Leave it out. Settings here: {', '.join(field_names(type(config.model)))}.",
        )


def train_command(recipe: str, config: Config) -> str:
    """The `kanerva train` command of a config: its recipe, and a flag for each other setting."""
    words = ["kanerva train", recipe]
    for part in PARTS:
        here, there = getattr(config, part), getattr(RECIPES[recipe], part)
        for name in field_names(type(here)):
            value = getattr(here, name)
            if value != getattr(there, name):
                words.append(_flag(part, name, value))
    return " ".join(words)


def _flag(part: str, name: str, value: object) -> str:
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{part}.{name}" if value else f"--{part}.no-{name}"
    words = value if isinstance(value, tuple) else [value]
    return f"--{part}.{name} {' '.join(map(str, words))}"
