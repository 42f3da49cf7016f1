"""What config.json of a run folder says: the recipe, all settings, and how the run was extended.

Nothing here imports torch: the command line reads these settings before it parses its flags.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from kanerva.errors import KanervaError
from kanerva.training.changes import train_command
from kanerva.training.config import Config, config_from_json, config_to_json
from kanerva.training.recipes import RECIPES

SETTINGS = "config.json"


class Extension(TypedDict):
    """More steps for a run that had begun with fewer."""

    at_step: int
    """Steps that were made when it was extended."""
    steps_before: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run."""

    config: Config
    recipe: str | None = None
    """The recipe that it began with, where that is known."""
    extended: tuple[Extension, ...] = ()

    @property
    def command(self) -> str | None:
        """The commands that lead to this run, where its recipe is one of ours."""
        if self.recipe not in RECIPES:
            return None
        config = self.config
        if self.extended:
            steps = self.extended[0]["steps_before"]
            training = dataclasses.replace(config.training, steps=steps)
            config = dataclasses.replace(config, training=training)
        more = (
            f" && kanerva train --resume RUN --training.steps {extension['steps']}"
            for extension in self.extended
        )
        return train_command(self.recipe, config) + "".join(more)

    def at_step(self, step: int, config: Config) -> "Settings":
        """The settings of a run that continues at a step, perhaps to more steps than before.

        If that step is before some extension, the steps from there on are made again with the
        schedule of the extended run.
        """
        extended = [
            Extension(
                at_step=min(extension["at_step"], step),
                steps_before=extension["steps_before"],
                steps=extension["steps"],
            )
            for extension in self.extended
        ]
        before, after = self.config.training.steps, config.training.steps
        if after > before:
            extended.append(Extension(at_step=step, steps_before=before, steps=after))
        return Settings(config=config, recipe=self.recipe, extended=tuple(extended))


def settings_to_json(settings: Settings) -> dict[str, object]:
    """The settings as plain JSON values."""
    contents: dict[str, object] = {"recipe": settings.recipe, **config_to_json(settings.config)}
    if settings.extended:
        contents["extended"] = list(settings.extended)
    return contents


def read_settings(folder: Path) -> Settings:
    """The settings of the run that began in a folder."""
    path = folder / SETTINGS
    try:
        saved = json.loads(path.read_text())
        if not isinstance(saved, Mapping):
            raise TypeError("not an object")
        recipe = saved.get("recipe")
        return Settings(
            config=config_from_json(saved),
            recipe=recipe if isinstance(recipe, str) else None,
            extended=tuple(_extension(entry) for entry in saved.get("extended", [])),
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise KanervaError(
            "run folder",
            expected=f"{SETTINGS} as kanerva writes it",
            got=f"'{path}': {error}",
            fix="Remove that file. A sweep then goes on; for one run, name its settings again: "
            "kanerva train RECIPE --out RUN --resume, with the flags that it began with.",
        ) from None


def _extension(entry: Mapping[str, object]) -> Extension:
    at_step, steps_before, steps = (int(str(entry[key])) for key in Extension.__annotations__)
    return Extension(at_step=at_step, steps_before=steps_before, steps=steps)
