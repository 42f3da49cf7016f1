"""Checks of plain arguments: whole numbers, numbers in a range, one of several words, paths.

Every check raises a `KanervaError` that names the argument, what was expected, what came, and a
fix. Importing this does not import torch, so that configs and the command line can use it.
"""

import difflib
import math
import numbers
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.errors import KanervaError

if TYPE_CHECKING:
    import torch

MOST_BYTES = 2**42
"""Images that take more memory than this, 4 TB, are a mistake."""


def check_integer(
    argument: str, value: object, *, at_least: int = 1, at_most: int | None = None, fix: str
) -> None:
    """A whole number in a range; `True` and `1.0` are not whole numbers here."""
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and at_least <= value
        and (at_most is None or value <= at_most)
    ):
        return
    limits = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    if isinstance(value, numbers.Integral) and not isinstance(value, int):  # one of numpy
        limits, fix = f"{limits} (a Python int)", f"Pass int({argument})."
    raise KanervaError(argument, expected=f"a whole number {limits}", got=repr(value), fix=fix)


def check_number(
    argument: str,
    value: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    fix: str,
) -> None:
    """A finite number in a range."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (at_most is None or value <= at_most)
    ):
        return
    limits = [
        f"{word} {limit:g}"
        for word, limit in (("above", above), ("at least", at_least), ("at most", at_most))
        if limit is not None
    ]
    expected = f"a finite number {' and '.join(limits)}".strip()
    raise KanervaError(argument, expected=expected, got=repr(value), fix=fix)


def check_one_of(
    argument: str, value: object, choices: Iterable[str], *, fix: str | None = None
) -> None:
    """One of several words; the error names the nearest one."""
    known = tuple(choices)
    if isinstance(value, str) and value in known:
        return
    raise KanervaError(
        argument,
        expected=f"one of {', '.join(known)}",
        got=repr(value),
        fix=nearest(value, known) or fix or f"Choose one of: {', '.join(known)}.",
    )


def nearest(value: object, known: Iterable[str]) -> str | None:
    """The question "did you mean ...?" for a word that is close to a known one."""
    near = difflib.get_close_matches(str(value), list(known), n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else None


def check_bool(argument: str, value: object, *, fix: str) -> None:
    """True or False; 1 and "yes" are not."""
    if not isinstance(value, bool):
        raise KanervaError(argument, expected="True or False", got=repr(value), fix=fix)


def check_path(argument: str, value: object, *, what: str = "a file") -> Path:
    """A path that is not empty, from a string or a `Path`; ~ becomes the home folder."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        got, fix = type(path).__name__, "Pass a string or a pathlib.Path."
    elif not path.strip():
        got, fix = "an empty one", "Write its name; for the present folder write '.'."
    elif "\0" in path:
        got, fix = f"{path!r}, with a zero byte in it", "Leave the zero byte out."
    elif not _can_be_name(path):
        got, fix = f"{path!r}, which no file can be called", "Leave out what is not valid Unicode."
    else:
        expanded = os.path.expanduser(path)
        if not expanded.startswith("~") or not path.startswith("~"):
            return Path(expanded)
        got, fix = f"{path!r}, a home folder that is not known", "Write the path without '~'."
    raise KanervaError(argument, expected=f"the path of {what}", got=got, fix=fix)


def _can_be_name(path: str) -> bool:
    """Whether the operating system can be given this name: half of a surrogate pair cannot."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def check_outside_vmap(argument: str, value: "torch.Tensor") -> None:
    """Refuse a tensor of which `torch.func.vmap` hides a dimension, where numbers are looked at."""
    import torch
    from torch._C import _functorch  # pyright: ignore[reportAttributeAccessIssue]

    if not torch.compiler.is_compiling() and _functorch.is_batchedtensor(value):
        raise KanervaError(
            argument,
            expected="a tensor outside torch.func.vmap: its numbers are looked at",
            got="one inside it",
            fix="Pass all of them at once: the leading dimensions are batches.",
        )


def check_device(argument: str, value: object) -> "torch.device":
    """A device that torch can use here, for example "cpu" or "cuda"."""
    import torch

    if isinstance(value, str | int | torch.device) and not isinstance(value, bool):
        try:
            device = torch.empty(0, device=value).device
            if device.type != "meta":
                return device
            problem = " (a meta tensor has no numbers)"
        except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
            problem = f" ({str(error).splitlines()[0][:100]})"
    else:
        problem = ""
    raise KanervaError(
        argument,
        expected="a device that torch can use here",
        got=f"{str(value)!r}{problem}",
        fix="Pass 'cpu', or 'cuda' where torch.cuda.is_available() is true.",
    )


def check_generator(value: object, device: "torch.device") -> None:
    """A source of random numbers for tensors on this device, or None."""
    import torch

    fix = f"Make it there: torch.Generator({str(device)!r}).manual_seed(0)."
    if not isinstance(value, torch.Generator | None):
        got, fix = type(value).__name__, f"Pass torch.Generator({str(device)!r}).manual_seed(0)."
    elif value is None or value.device.type == device.type:
        return
    else:
        got = str(value.device)
    raise KanervaError(
        "generator",
        expected=f"a torch.Generator on {device}, where the images are",
        got=got,
        fix=fix,
    )
