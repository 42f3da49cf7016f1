"""What commands on stored memories report: errors in their own words, and what was written."""

from __future__ import annotations

import functools
import inspect
import json as jsonlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.errors import KanervaError

if TYPE_CHECKING:
    from kanerva.store import Written

WORDS = (
    ("store.forget(name, ids) or store.forget(name, items=...)", "--ids or --items"),
    ("store.forget(name, ids)", "--ids ID"),
    ("store.forget(name, items=...)", "--items FILE"),
    (", or wait longer: kanerva.open(path, timeout=60)", ""),
    ("plan_vectors(..., largest=...)", "kanerva memory new with --largest"),
    ("plan_vectors(..., value_size=...)", "kanerva memory new with --value-size"),
    ("store.export(name, path)", "kanerva memory export FOLDER/NAME --out FILE"),
    ("store.create(name, ...)", "kanerva memory new"),
    ("ledger=True", "--ledger"),
    ("was created with ledger=False", "was created without --ledger"),
    ("num_readings", "--readings"),
    ("time=...", "--time SECONDS"),
    ("values=...", "--values FILE"),
)
"""Python in the errors of a store, and the options of commands that mean the same."""


def in_command_words(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with errors that speak of its options instead of Python."""
    options = inspect.signature(command).parameters

    @functools.wraps(command)
    def call(*args: object, **given: object) -> None:
        try:
            command(*args, **given)
        except KanervaError as error:
            argument = {"num_readings": "readings"}.get(error.argument, error.argument)
            parameter = options.get(argument)
            if parameter is not None and parameter.kind is parameter.KEYWORD_ONLY:
                argument = f"--{argument.replace('_', '-')}"
            parts = [error.expected, error.got, error.fix]
            for python, option in WORDS:
                parts = [part.replace(python, option) for part in parts]
            expected, got, fix = parts
            raise KanervaError(argument, expected=expected, got=got, fix=fix) from None

    return call


def written_report(memory: Path, written: Written) -> dict[str, object]:
    """What was written, for JSON."""
    return {
        "memory": str(memory),
        "written": written.num_written,
        "ids": written.ids,
        "skipped": written.skipped,
    }


def say_partly_written(memory: Path, error: BaseException, *, json: bool) -> None:
    """Report what was written before an error, if anything was; the error itself says it, too."""
    from kanerva.store import Written
    from kanerva.training.interrupt import Stopped

    written = getattr(error, "written", None)
    if not isinstance(written, Written):
        return
    done = written.num_written + len(written.skipped)
    stopped = f"stopped; {written.num_written:,} items were written, the next is item {done:,}"
    if json:
        text = stopped if isinstance(error, KeyboardInterrupt) else str(error)
        print(jsonlib.dumps(written_report(memory, written) | {"error": text}))
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        raise Stopped(number, stopped) from None
