"""What the `kanerva` command offers, and how its words become a call. No torch here."""

import contextlib
import difflib
import functools
import io
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from kanerva.cli.bench import bench
from kanerva.cli.compare import compare
from kanerva.cli.data import DATA_COMMANDS
from kanerva.cli.demo import demo
from kanerva.cli.denoise import denoise
from kanerva.cli.eval import evaluate_command
from kanerva.cli.figures import figures
from kanerva.cli.generate import generate
from kanerva.cli.interpolate import interpolate
from kanerva.cli.train import train
from kanerva.errors import KanervaError
from kanerva.models.config import ModelConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig
from kanerva.training.recipes import RECIPES

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "eval": evaluate_command,
    "denoise": denoise,
    "generate": generate,
    "interpolate": interpolate,
    "compare": compare,
    "figures": figures,
    "bench": bench,
}
GROUPS = {
    "train": "Train a model by the name of its recipe: kanerva train RECIPE --help.",
    "data": "Data sets: kanerva data list | info | fetch.",
}
ABOUT = (
    "A generative distributed memory: exact Bayesian writing, recall from damaged cues, "
    "merging and forgetting."
)


def parse(args: Sequence[str]) -> Callable[[], None]:
    """The call that the words ask for; a mistake in them ends with one line and exit code 2."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return _parse(list(args))
    except KanervaError as error:
        print(f"kanerva: {error}", file=sys.stderr)
    except SystemExit as end:
        if not end.code:
            raise
        print(f"kanerva: {_one_line(complaint.getvalue())}", file=sys.stderr)
    raise SystemExit(2)


def _parse(args: list[str]) -> Callable[[], None]:
    if args[:1] == ["train"]:
        return _parse_train(args[1:])
    if args[:1] == ["data"]:
        return _choose(DATA_COMMANDS, "kanerva data", GROUPS["data"], args[1:])
    commands = {**COMMANDS, **{name: _described(text) for name, text in GROUPS.items()}}
    return _choose(commands, "kanerva", ABOUT, args)


def _choose(
    commands: dict[str, Callable[..., None]], prog: str, description: str, args: list[str]
) -> Callable[[], None]:
    later = {name: _later(command) for name, command in commands.items()}
    return tyro.extras.subcommand_cli_from_dict(
        later, prog=prog, description=description, args=args
    )


@dataclass(frozen=True)
class TrainArguments:
    """Settings of a training run. Each field of its recipe is a flag."""

    model: ModelConfig
    data: DataConfig
    training: TrainingConfig
    out: Path | None = None
    """Folder of the run; by default runs/RECIPE."""
    data_folder: Path | None = None
    """Folder with the archives; by default KANERVA_DATA, else ./data."""
    resume: bool = False
    """Go on from the newest checkpoint of the folder."""
    device: str | None = None
    """Where to compute, cpu or cuda; by default a GPU where there is one."""
    tensorboard: bool = False
    """Also write TensorBoard events."""
    json: bool = False
    """Print one JSON object at the end and nothing else."""


def _parse_train(args: list[str]) -> Callable[[], None]:
    name = args[0] if args else ""
    if name in ("-h", "--help"):
        print(f"usage: kanerva train RECIPE [--help] [options]\n\nrecipes: {', '.join(RECIPES)}")
        raise SystemExit(0)
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1)
        raise KanervaError(
            "recipe",
            expected=f"one of {', '.join(RECIPES)}",
            got=f"'{name}'",
            fix=f"Did you mean {near[0]}?" if near else "See kanerva train --help.",
        )
    recipe = RECIPES[name]
    start = TrainArguments(recipe.model, recipe.data, recipe.training)
    chosen = tyro.cli(TrainArguments, default=start, prog=f"kanerva train {name}", args=args[1:])
    return functools.partial(
        train,
        Config(chosen.model, chosen.data, chosen.training),
        name,
        out=chosen.out,
        data=chosen.data_folder,
        resume=chosen.resume,
        device=chosen.device,
        tensorboard=chosen.tensorboard,
        json=chosen.json,
    )


def _described(text: str) -> Callable[[], None]:
    """A place in the list of commands; `_parse` sees to the rest."""

    def group() -> None:
        raise AssertionError("handled before")

    group.__doc__ = text
    return group


def _later(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """The same signature, but the call waits."""

    @functools.wraps(command)
    def bind(*args: Any, **options: Any) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    notes = command.__annotations__  # shared with `bind` by functools.wraps
    bind.__annotations__ = {name: note for name, note in notes.items() if name != "return"}
    return bind


def _one_line(box: str) -> str:
    """What a box of several lines says, without the box."""
    return " ".join(re.sub(r"[│╭╮╰╯─]+", " ", box).split())
