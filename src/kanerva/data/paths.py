"""Which folders data sets are read from and cached in."""

import os
from pathlib import Path

from kanerva.errors import KanervaError


def resolve_data_folder(data_folder: Path | str | None = None) -> Path:
    """The folder with the archives: the one given, else KANERVA_DATA, else ./data."""
    return Path(data_folder or os.environ.get("KANERVA_DATA") or "data").expanduser()


def cache_folder() -> Path:
    """The folder that data sets are cached in: KANERVA_CACHE, else ~/.cache/kanerva."""
    return Path(os.environ.get("KANERVA_CACHE") or "~/.cache/kanerva").expanduser()


def first_existing(folder: Path, *names: str) -> Path | None:
    """The first of these files or folders that exists."""
    return next((folder / name for name in names if (folder / name).exists()), None)


def missing_files(name: str, folder: Path, expected: str) -> KanervaError:
    """The error for a data set that is not there; it says what to put where."""
    return KanervaError(
        "data_folder",
        expected=f"{expected} in {folder.resolve()}",
        got="a folder without it" if folder.is_dir() else "no such folder",
        fix=f"Run `kanerva data fetch {name}`, or put it there, or say where it is with "
        "--data-folder or KANERVA_DATA.",
    )
