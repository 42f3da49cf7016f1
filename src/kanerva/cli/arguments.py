"""The arguments of a command, and how words become their values.

tyro finds the words of each option; the readers here turn them into values, so that a wrong word
gives the same error as a wrong argument in Python. No word means "not given": an option that is
not given is None, and `--out None` names a file.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from kanerva.checks import check_one_of, check_path
from kanerva.errors import KanervaError


class RefusedWordError(Exception):
    """Carries a `KanervaError` through tyro, which would catch it and draw a box around it."""

    def __init__(self, error: KanervaError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class Argument:
    """One argument of a command."""

    name: str
    kind: object
    """The type of a value: int, float, str, Path, bool or a Literal."""
    several: bool
    """Whether it takes one word or more."""
    positional: bool
    default: object
    """`inspect.Parameter.empty` if it must be given."""
    note: object
    """The whole annotation."""

    @property
    def shown(self) -> str:
        """What a user writes: --data-folder, or the name of a word without an option."""
        return self.name if self.positional else f"--{self.name.replace('_', '-')}"

    @property
    def flags(self) -> list[str]:
        """All words that stand for it."""
        if self.positional:
            return []
        opposite = [f"--no-{self.shown[2:]}"] if self.kind is bool else []
        return [self.shown, *opposite]

    @property
    def choices(self) -> tuple[str, ...]:
        """The words to choose from, if they are fixed."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def required(self) -> bool:
        """Whether the command cannot do without it."""
        return self.default is inspect.Parameter.empty


def arguments_of(command: Callable[..., None]) -> list[Argument]:
    """The arguments that a command takes, in order."""
    notes = get_type_hints(command, include_extras=True)
    return [
        _argument(parameter, notes[name])
        for name, parameter in inspect.signature(command).parameters.items()
    ]


def _argument(parameter: inspect.Parameter, note: object) -> Argument:
    kind = get_args(note)[0] if get_origin(note) is Annotated else note
    if type(None) in get_args(kind):
        (kind,) = (part for part in get_args(kind) if part is not type(None))
    several = get_origin(kind) is tuple
    return Argument(
        name=parameter.name,
        kind=get_args(kind)[0] if several else kind,
        several=several,
        positional=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
        default=parameter.default,
        note=note,
    )


def with_reader(argument: Argument) -> object:
    """The annotation that makes tyro read an argument as we want it."""
    if argument.kind is bool:
        return argument.note
    word = _metavar(argument)
    spec: PrimitiveConstructorSpec[object] = PrimitiveConstructorSpec(
        nargs="*" if argument.several else 1,
        metavar=f"{word} [{word} ...]" if argument.several else word,
        instance_from_str=lambda words: _read(argument, words),
        is_instance=lambda value: True,
        str_from_instance=lambda value: [str(value)],
    )
    hint = "" if argument.default is None else None  # the text says what happens then
    how = tyro.conf.arg(help_behavior_hint=hint)
    return Annotated[argument.note, spec, how]  # pyright: ignore[reportInvalidTypeForm]


def _metavar(argument: Argument) -> str:
    """What stands for a word in the help."""
    if argument.positional:
        return argument.name.upper()
    if argument.choices:
        return "{" + ",".join(argument.choices) + "}"
    names = {int: "INT", float: "NUMBER", Path: "PATH", str: "NAME"}
    return next(name for kind, name in names.items() if kind is argument.kind)


def _read(argument: Argument, words: list[str]) -> object:
    try:
        if argument.several and not words:
            raise _nothing_after(argument)
        values = tuple(_value(argument, word) for word in words)
    except KanervaError as error:
        raise RefusedWordError(error) from None
    return values if argument.several else values[0]


def _nothing_after(argument: Argument) -> KanervaError:
    expected, fix = "at least one word after it", f"Write for example {argument.shown} NAME."
    if argument.kind is Path:
        expected = "at least one file or folder after it"
        fix = f"Name files or folders, for example {argument.shown} drawings/."
    return KanervaError(argument.shown, expected=expected, got="none", fix=fix)


def _value(argument: Argument, word: str) -> object:
    if argument.kind is Path:
        return check_path(argument.shown, word, what="a file or folder")
    if argument.choices:
        check_one_of(argument.shown, word, argument.choices)
    try:
        if argument.kind is int:
            return int(word)
        if argument.kind is float:
            return float(word)
    except ValueError:
        raise KanervaError(
            argument.shown,
            expected="a whole number" if argument.kind is int else "a number",
            got=repr(word),
            fix=f"Write it in digits, for example {argument.shown} 3.",
        ) from None
    if not word.strip():
        raise KanervaError(
            argument.shown,
            expected="a name",
            got="an empty one",
            fix="Write a name." if argument.positional else f"Remove {argument.shown}.",
        )
    return word
