"""The words after `kanerva train`: a recipe with its settings, or a run to continue.

Nothing here imports torch.
"""

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import AvoidSubcommands

from kanerva.checks import check_one_of, check_path
from kanerva.cli.train import train
from kanerva.errors import KanervaError
from kanerva.models.config import AnyModelConfig
from kanerva.training.changes import check_kind
from kanerva.training.config import Config, DataConfig, TrainingConfig
from kanerva.training.recipes import RECIPES
from kanerva.training.settings import SETTINGS, Settings, read_settings

USAGE = f"""usage: kanerva train RECIPE [--help] [options]
       kanerva train --resume RUN [options]

recipes: {", ".join(RECIPES)}"""
PATHS = ("--out", "--data-folder", "--resume")


@dataclass(frozen=True)
class TrainArguments:
    """Settings of a training run. Each field of its recipe is a flag."""

    model: AvoidSubcommands[AnyModelConfig]
    data: DataConfig
    training: TrainingConfig
    out: Path | None = None
    """Folder of the run; by default runs/RECIPE."""
    data_folder: Path | None = None
    """Folder with the archives; by default KANERVA_DATA, else ./data."""
    resume: bool = False
    """Continue the run of the folder, with the settings it has. `kanerva train --resume RUN` is
    enough; more --training.steps extend it."""
    device: str | None = None
    """Where to compute, cpu or cuda; by default a GPU where there is one."""
    tensorboard: bool = False
    """Also write TensorBoard events."""
    json: bool = False
    """Print one JSON object at the end and nothing else."""


def parse_train(args: Sequence[str]) -> Callable[[], None]:
    """The training that the words ask for."""
    if args and args[0] in ("-h", "--help"):
        print(USAGE)
        raise SystemExit(0)
    _check_paths(args)
    name = args[0] if args and not args[0].startswith("-") else None
    words, resume, folder = _take_resume(list(args if name is None else args[1:]))
    if not resume:
        check_one_of("recipe", name or "", RECIPES, fix="Or continue one: --resume RUN.")
        assert name is not None
        return _parse(Settings(config=RECIPES[name], recipe=name), words, f"kanerva train {name}")
    return _parse_resume(name, words, folder)


def _parse_resume(name: str | None, words: list[str], folder: Path | None) -> Callable[[], None]:
    """A run to continue: flags mean changes of its settings, most of which are refused later."""
    out = _value_of("--out", words)
    if folder is not None and out is not None and folder != out:
        raise KanervaError(
            "--out",
            expected=f"the folder after --resume, '{folder}', or none",
            got=f"'{out}'",
            fix="Leave --out out: a run continues in its own folder.",
        )
    folder = folder or out or (Path("runs") / name if name else None)
    if folder is None:
        raise KanervaError(
            "--resume",
            expected="the folder of a run after it",
            got="none",
            fix="Write kanerva train --resume RUN.",
        )
    if os.path.isfile(folder / SETTINGS):
        settings = read_settings(folder)
        if name is not None and settings.recipe not in (None, name):
            raise KanervaError(
                "recipe",
                expected=f"{settings.recipe}, with which the run in '{folder}' began, or none",
                got=repr(name),
                fix=f"Write kanerva train --resume {folder}.",
            )
    elif name is not None:
        check_one_of("recipe", name, RECIPES)
        settings = Settings(config=RECIPES[name], recipe=name)
    else:
        return functools.partial(_nothing_to_resume, folder)
    return _parse(settings, words, f"kanerva train --resume {folder}", resume=folder)


def _nothing_to_resume(folder: Path) -> None:
    raise KanervaError(
        "--resume",
        expected=f"a folder with {SETTINGS} and checkpoints",
        got=f"'{folder}', which has no {SETTINGS}",
        fix="Name the folder of a run, or leave --resume out and name a recipe to start one.",
    )


def _parse(
    settings: Settings, words: list[str], prog: str, *, resume: Path | None = None
) -> Callable[[], None]:
    """Let tyro read the flags, with these settings as defaults."""
    _check_flags(settings.config, words)
    config = settings.config
    start = TrainArguments(config.model, config.data, config.training)
    chosen = tyro.cli(TrainArguments, default=start, prog=prog, args=_with_values(words))
    return functools.partial(
        train,
        Config(model=chosen.model, data=chosen.data, training=chosen.training),
        settings.recipe or "unknown",
        out=resume or chosen.out,
        data_folder=chosen.data_folder,
        resume=resume is not None,
        device=chosen.device,
        tensorboard=chosen.tensorboard,
        json=chosen.json,
    )


def _with_values(words: list[str]) -> list[str]:
    """Write --training.compile and --training.no-compile as tyro wants them, with a value."""
    written: list[str] = []
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2]
        if word == "--training.no-compile":
            written += ["--training.compile", "False"]
        elif word == "--training.compile" and after not in (["True"], ["False"], ["None"]):
            written += [word, "True"]
        else:
            written.append(word)
    return written


def _take_resume(words: list[str]) -> tuple[list[str], bool, Path | None]:
    """The words without --resume, whether it was there, and the folder after it if there is one."""
    for place, word in enumerate(words):
        if word.startswith("--resume="):
            return words[:place] + words[place + 1 :], True, Path(word.split("=", 1)[1])
        if word == "--resume":
            after = words[place + 1 : place + 2]
            if after and not after[0].startswith("-"):
                return words[:place] + words[place + 2 :], True, Path(after[0]).expanduser()
            return words[:place] + words[place + 1 :], True, None
    return words, False, None


def _value_of(flag: str, words: list[str]) -> Path | None:
    for place, word in enumerate(words):
        if word.startswith(f"{flag}="):
            return Path(word.split("=", 1)[1]).expanduser()
        if word == flag and place + 1 < len(words):
            return Path(words[place + 1]).expanduser()
    return None


def _check_paths(words: Sequence[str]) -> None:
    """Refuse empty paths; a `Path` would take them for the present folder."""
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in PATHS:
            after = [value] if equals else list(words[place + 1 : place + 2])
            for path in after:
                check_path(flag, path, what="a folder")


def _check_flags(config: Config, words: list[str]) -> None:
    """Refuse settings that this kind of model does not have; tyro would not say why."""
    for word in words:
        flag = word.split("=")[0]
        setting = flag.removeprefix("--").replace("-", "_").replace(".no_", ".")
        if flag.startswith("--"):
            check_kind(config, setting, argument=flag)
