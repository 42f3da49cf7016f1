"""Paths of data: which folders data sets are read from and cached in, and what is at a path."""

import errno
import os
import stat
from pathlib import Path

from kanerva.checks import check_path
from kanerva.errors import KanervaError

MAX_FILE = 128 * 2**20
"""The most bytes of one file. The largest that we expect, a batch of CIFAR-10, has 31 MB."""
FILE, FOLDER, NOTHING = "a file", "a folder", "nothing there"
PIPE = "a pipe"
LOOP = "a link that leads back to itself"
LOCKED = "no permission to read it"
_SPECIAL = {
    stat.S_IFIFO: PIPE,
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_ERRORS = {
    errno.ENOENT: NOTHING,
    errno.ENOTDIR: NOTHING,
    errno.ELOOP: LOOP,
    errno.ENAMETOOLONG: "a name that is too long",
    errno.EACCES: LOCKED,
    errno.EPERM: LOCKED,
}
_FIXES = {
    NOTHING: "Check the spelling, and that the path starts in the present folder or with /.",
    LOOP: "Remove the link, or make it lead to a file.",
    LOCKED: "Change its permissions, or copy it.",
    PIPE: "Write the data into a file first, and name that.",
}


def resolve_data_folder(data_folder: Path | str | None = None) -> Path:
    """The folder with the archives: the one given, else KANERVA_DATA, else ./data."""
    if data_folder is not None:
        return check_path("data_folder", data_folder, what="a folder")
    return check_path("KANERVA_DATA", os.environ.get("KANERVA_DATA") or "data", what="a folder")


def cache_folder() -> Path:
    """The folder that data sets are cached in.

    It is KANERVA_CACHE if this is set, else the folder `kanerva` in XDG_CACHE_HOME, else
    ~/.cache/kanerva. Everything in it may be deleted at any time.
    """
    given = os.environ.get("KANERVA_CACHE")
    if given:
        return check_path("KANERVA_CACHE", given, what="a folder")
    base = os.environ.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):
        base = "~/.cache"
    return check_path("KANERVA_CACHE", os.path.join(base, "kanerva"), what="a folder")


def what_is_at(path: Path) -> str:
    """What is at a path, in words: FILE or FOLDER if it can be read, else what is wrong."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        words = in_words(error)
        return "a link that leads to nothing" if words == NOTHING and path.is_symlink() else words
    if stat.S_ISDIR(mode):
        return FOLDER if os.access(path, os.R_OK | os.X_OK) else LOCKED
    if stat.S_ISREG(mode):
        return FILE if os.access(path, os.R_OK) else LOCKED
    return _SPECIAL.get(stat.S_IFMT(mode), "neither a file nor a folder")


def in_words(error: OSError | RecursionError) -> str:
    """What an error of the operating system means, as the end of "expected a file, got ..."."""
    if isinstance(error, RecursionError):
        return LOOP
    return _ERRORS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def fix_for(words: str) -> str:
    """What the user can do where `what_is_at` found something else than was expected."""
    return _FIXES.get(words, "Name another one.")


def unreadable(
    path: Path, words: str, *, expected: str = "a file that can be read"
) -> KanervaError:
    """The error for something that cannot be read, for the reason that `what_is_at` gave."""
    return KanervaError(str(path), expected=expected, got=words, fix=fix_for(words))


def check_plain_file(argument: str, path: Path, *, expected: str) -> None:
    """Refuse pipes and devices, which would be waited for or read without end."""
    found = what_is_at(path)
    if found in _SPECIAL.values():
        raise KanervaError(argument, expected=expected, got=f"'{path}', {found}", fix=_FIXES[PIPE])


def absolute(path: Path) -> Path:
    """The path from the root, with all links followed."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, RecursionError):  # no present folder, or a very long chain of links
        return path


def from_root(path: Path) -> Path:
    """The path from the root, with links as they are."""
    try:
        return Path(os.path.abspath(path))
    except OSError:  # no present folder
        return path


def read_file(path: Path) -> bytes:
    """All bytes of a file. Pipes, devices and files of absurd size are errors."""
    found = what_is_at(path)
    if found != FILE:
        raise unreadable(path, found)
    try:
        size = path.stat().st_size
        if size > MAX_FILE:
            raise KanervaError(
                str(path),
                expected=f"a file of at most {MAX_FILE:,} bytes",
                got=f"{size:,} bytes",
                fix="Remove it, or make it smaller.",
            )
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, in_words(error)) from None


def first_existing(folder: Path, *names: str) -> Path | None:
    """The first of these files or folders that exists."""
    return next((folder / name for name in names if os.path.exists(folder / name)), None)


def missing_files(
    name: str, folder: Path, expected: str, *, get: str | None = None
) -> KanervaError:
    """The error for a data set that is not there; it says what to put where.

    `get` says how to get the files where `kanerva data fetch` cannot.
    """
    found = what_is_at(folder)
    got = {FOLDER: "a folder without it", NOTHING: "no such folder"}.get(found, found)
    return KanervaError(
        "data_folder",
        expected=f"{expected} in {absolute(folder)}",
        got=got,
        fix=f"{get or f'Run `kanerva data fetch {name}`'}, or put it there, or say where it is "
        "with --data-folder (in Python: data_folder=) or KANERVA_DATA.",
    )
