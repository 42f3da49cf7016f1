"""Names of memories."""

import re
from pathlib import Path

from kanerva.checks import check_path
from kanerva.data.paths import absolute
from kanerva.errors import KanervaError

ENDING = ".memory"
"""How the file of a memory ends."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


NAME_WORDS = "letters, digits, dots, dashes and underscores, at most 100"
EXPORTED = ".safetensors"
"""How an exported file ends; no memory, or `merge` could not tell them apart."""


def checked_name(name: object) -> str:
    """A name that a file can have on every system."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise no_name(name)
    if name.endswith(ENDING):
        raise KanervaError(
            "name",
            expected=f"the name of a memory, without {ENDING}",
            got=repr(name),
            fix=f"Its file ends so by itself: {name.removesuffix(ENDING)!r}.",
        )
    if name.endswith(EXPORTED):
        raise KanervaError(
            "name",
            expected=f"the name of a memory, which does not end in {EXPORTED}",
            got=repr(name),
            fix=f"Leave {EXPORTED} out; a memory is written to such a file by "
            "store.export(name, path).",
        )
    return name


def file_of(name: object, folder: Path) -> Path:
    """The file of a memory in a folder, by its name, or of another one, by its path."""
    if isinstance(name, Path) or (isinstance(name, str) and "/" in name):
        path = check_path("name", name, what="a memory")
    else:
        path = folder / checked_name(name)
    if not path.name:
        raise no_name(path)
    path = path if path.name.endswith(ENDING) else path.with_name(f"{path.name}{ENDING}")
    return absolute(path)  # one connection for each file, whatever it is called


def names_in(folder: Path) -> list[str]:
    """The names of all memories in a folder, in alphabetical order."""
    found = [file.name.removesuffix(ENDING) for file in folder.glob(f"*{ENDING}") if file.is_file()]
    return sorted(name for name in found if NAME.fullmatch(name))


def no_name(name: object) -> KanervaError:
    """The error for something that no memory can be called."""
    return KanervaError(
        "name",
        expected=NAME_WORDS,
        got=repr(str(name) if isinstance(name, Path) else name)[:80],
        fix="Choose a name such as 'notes'.",
    )
