"""Names of memories."""

import re
from pathlib import Path

from kanerva.errors import KanervaError

ENDING = ".memory"
"""How the file of a memory ends."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def checked_name(name: object) -> str:
    """A name that a file can have on every system."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise no_name(name)
    return name


def no_name(name: object) -> KanervaError:
    """The error for something that no memory can be called."""
    return KanervaError(
        "name",
        expected="letters, digits, dots, dashes and underscores, at most 100",
        got=repr(str(name) if isinstance(name, Path) else name)[:80],
        fix="Choose a name such as 'notes'.",
    )
