"""The commands of `kanerva`, and how the words of a command line become a call.

Nothing here imports torch.
"""

import contextlib
import functools
import io
import re
import sys
from collections.abc import Callable, Sequence

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
from kanerva.cli.sweep import sweep
from kanerva.cli.train_arguments import parse_train
from kanerva.errors import KanervaError

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "eval": evaluate_command,
    "denoise": denoise,
    "generate": generate,
    "interpolate": interpolate,
    "compare": compare,
    "sweep": sweep,
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
    """The call that the words ask for. A mistake in them ends with one line and exit code 2."""
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
        return parse_train(args[1:])
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


def _described(text: str) -> Callable[[], None]:
    """An entry in the list of commands. `_parse` takes care of its words before this is called."""

    def group() -> None:
        pass

    group.__doc__ = text
    return group


def _later(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """A function with the same signature that gives back the call instead of making it."""

    @functools.wraps(command)
    def bind(*args: object, **options: object) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    notes = command.__annotations__  # shared with `bind` by functools.wraps
    bind.__annotations__ = {name: note for name, note in notes.items() if name != "return"}
    return bind


def _one_line(box: str) -> str:
    """The text of a box of several lines, without the box."""
    return " ".join(re.sub(r"[│╭╮╰╯─]+", " ", box).split())
