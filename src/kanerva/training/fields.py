"""Checks of JSON values against the fields of a config, by the types of these fields."""

import dataclasses
import types
from typing import Literal, Union, get_args, get_origin, get_type_hints

from kanerva.checks import nearest
from kanerva.errors import KanervaError


def field_names(part: type) -> list[str]:
    """The names of the fields of a config class."""
    return [field.name for field in dataclasses.fields(part)]


def check_field(part: type, name: str, value: object, *, argument: str) -> None:
    """Refuse a field that a config class does not have, or a value of another type."""
    known = field_names(part)
    if name not in known:
        raise KanervaError(
            argument,
            expected=f"a field of {part.__name__}",
            got=repr(name),
            fix=nearest(name, known) or f"Known fields: {', '.join(known)}.",
        )
    hint = get_type_hints(part)[name]
    if not _has_type(value, hint):
        raise KanervaError(
            argument,
            expected=_in_words(hint),
            got=repr(value),
            fix=f"Leave it out to use {getattr(part(), name)!r}.",
        )


def _has_type(value: object, hint: object) -> bool:
    """Whether a JSON value fits the type of a field. A list stands for a tuple."""
    kind, choices = get_origin(hint), get_args(hint)
    if kind is Literal:
        return value in choices
    if kind in (Union, types.UnionType):
        return any(_has_type(value, choice) for choice in choices)
    if kind is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(choices):
            return False
        return all(map(_has_type, value, choices))
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float)
    return isinstance(hint, type) and isinstance(value, hint)


def _in_words(hint: object) -> str:
    kind, choices = get_origin(hint), get_args(hint)
    if kind is Literal:
        return f"one of {', '.join(map(str, choices))}"
    if kind in (Union, types.UnionType):
        return " or ".join(map(_in_words, choices))
    if kind is tuple:
        return f"a list of {len(choices)} whole numbers"
    return _WORDS.get(hint, str(hint))


_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    type(None): "null",
}
