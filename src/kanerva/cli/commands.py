"""What the `kanerva` command offers, and how its words become a call. No torch here."""

import contextlib
import functools
import io
import re
import sys
from collections.abc import Callable, Sequence

import tyro

from kanerva.cli.bench import bench
from kanerva.cli.demo import demo

COMMANDS: dict[str, Callable[..., None]] = {"demo": demo, "bench": bench}

ABOUT = (
    "A generative distributed memory: exact Bayesian writing, recall from damaged cues, "
    "merging and forgetting."
)


def parse(args: Sequence[str]) -> Callable[[], None]:
    """The call that the words ask for; a mistake in them ends with one line and exit code 2."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.extras.subcommand_cli_from_dict(
                {name: _later(command) for name, command in COMMANDS.items()},
                prog="kanerva",
                description=ABOUT,
                args=args,
            )
    except SystemExit as end:
        if end.code:
            print(f"kanerva: {_one_line(complaint.getvalue())}", file=sys.stderr)
            raise SystemExit(2) from None
        raise


def _later(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """The same signature, but the call waits."""

    @functools.wraps(command)
    def bind(*args: object, **options: object) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    del bind.__annotations__["return"]
    return bind


def _one_line(box: str) -> str:
    """What a box of several lines says, without the box."""
    return " ".join(re.sub(r"[│╭╮╰╯─]+", " ", box).split())
