"""The commands of `kanerva`, and how the words of a command line become a call.

Nothing here imports torch.
"""

import contextlib
import functools
import inspect
import io
import sys
from collections.abc import Callable, Sequence

import tyro

from kanerva import __version__
from kanerva.cli.arguments import RefusedWordError, arguments_of, with_reader
from kanerva.cli.bench import bench
from kanerva.cli.compare import compare
from kanerva.cli.data import DATA_COMMANDS
from kanerva.cli.demo import demo
from kanerva.cli.denoise import denoise
from kanerva.cli.eval import evaluate_command
from kanerva.cli.figures import figures
from kanerva.cli.generate import generate
from kanerva.cli.interpolate import interpolate
from kanerva.cli.memory import MEMORY_COMMANDS
from kanerva.cli.play import play, serve
from kanerva.cli.sweep import sweep
from kanerva.cli.terminal import print_anything, say, widen
from kanerva.cli.train_arguments import parse_train
from kanerva.cli.words import (
    check_once,
    check_options,
    did_you_mean,
    in_one_line,
    missing_words,
    wide_terminal,
)
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
    "play": play,
    "serve": serve,
}
GROUPS = {
    "train": "Train a model by the name of its recipe: kanerva train RECIPE --help.",
    "data": "Data sets: kanerva data list | info | fetch.",
    "memory": "Memories on disk: kanerva memory new | write | read | forget | merge | info | "
    "export.",
}
ABOUT = (
    "A generative distributed memory: exact Bayesian writing, recall from damaged cues, "
    "merging and forgetting. `kanerva --version` prints the version."
)


def parse(args: Sequence[str]) -> Callable[[], None]:
    """The call that the words ask for. A mistake in them ends with one line and exit code 2."""
    print_anything()
    widen()
    complaint = io.StringIO()
    wants_help = not {"-h", "--help"}.isdisjoint(args)
    try:
        with (
            contextlib.redirect_stderr(complaint),
            contextlib.nullcontext() if wants_help else wide_terminal(),
        ):
            return _parse(list(args))
    except KanervaError as error:
        say(f"kanerva: {error}")
    except RefusedWordError as refused:
        say(f"kanerva: {refused.error}")
    except SystemExit as end:
        if not end.code:
            raise
        say(f"kanerva: {in_one_line(complaint.getvalue())}")
    raise SystemExit(2)


def _parse(args: list[str]) -> Callable[[], None]:
    if args[:1] == ["--version"]:
        print(f"kanerva {__version__}")
        raise SystemExit(0)
    if args[:1] == ["train"]:
        check_once(args)
        return parse_train(args[1:])
    if args[:1] == ["data"]:
        return _choose(DATA_COMMANDS, "kanerva data", GROUPS["data"], args[1:])
    if args[:1] == ["memory"]:
        return _choose(MEMORY_COMMANDS, "kanerva memory", GROUPS["memory"], args[1:])
    commands = {**COMMANDS, **{name: _described(text) for name, text in GROUPS.items()}}
    return _choose(commands, "kanerva", ABOUT, args)


def _choose(
    commands: dict[str, Callable[..., None]], prog: str, description: str, args: list[str]
) -> Callable[[], None]:
    """Run the command that the first word names on the other words."""
    name = args[0] if args else ""
    if name in ("-h", "--help"):
        first_lines = {
            name: _described((command.__doc__ or "").splitlines()[0])
            for name, command in commands.items()
        }
        tyro.extras.subcommand_cli_from_dict(
            first_lines, prog=prog, description=description, args=["--help"]
        )
    if name not in commands:
        raise KanervaError(
            "command",
            expected=f"one of {', '.join(commands)}",
            got=repr(name) if args else "none",
            fix=did_you_mean(name, [*commands, "--help", "--version"]) or f"See {prog} --help.",
        )
    command, words, prog = commands[name], args[1:], f"{prog} {name}"
    check_options(prog, command, words)
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(_later(command), prog=prog, args=words)
    except SystemExit:
        if "Missing from" in complaint.getvalue():
            raise missing_words(prog, command, words) from None
        print(complaint.getvalue(), end="", file=sys.stderr)
        raise


def _described(text: str) -> Callable[[], None]:
    """An entry in the list of commands, which is only shown."""

    def group() -> None:
        pass

    group.__doc__ = text
    return group


def _later(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """A function with the same arguments that gives back the call instead of making it."""

    def bind(*args: object, **options: object) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    bind.__name__, bind.__doc__ = command.__name__, command.__doc__
    notes = {argument.name: with_reader(argument) for argument in arguments_of(command)}
    signature = inspect.signature(command)
    parameters = [
        parameter.replace(annotation=notes[name])
        for name, parameter in signature.parameters.items()
    ]
    bind.__annotations__ = notes
    vars(bind)["__signature__"] = signature.replace(parameters=parameters)
    return bind
