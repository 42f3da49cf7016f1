"""Where data sets are looked for and where what was read from them is kept."""

import os
from pathlib import Path

from kanerva.errors import KanervaError


def resolve_data_folder(data_folder: Path | str | None = None) -> Path:
    """The folder with the archives: as told, else KANERVA_DATA, else ./data."""
    return Path(data_folder or os.environ.get("KANERVA_DATA") or "data").expanduser()


def cache_folder() -> Path:
    """KANERVA_CACHE, else ~/.cache/kanerva."""
    return Path(os.environ.get("KANERVA_CACHE") or "~/.cache/kanerva").expanduser()


def first_of(folder: Path, *names: str) -> Path | None:
    """The first of these files or folders that exists."""
    return next((folder / name for name in names if (folder / name).exists()), None)


def missing_files(name: str, folder: Path, expected: str) -> KanervaError:
    """A data set that is not there: what to put where."""
    return KanervaError(
        "data_folder",
        expected=f"{expected} in {folder.resolve()}",
        got="a folder without it" if folder.is_dir() else "no such folder",
        fix=f"Run `kanerva data fetch {name}`, or put it there, or say where it is with "
        "--data-folder or KANERVA_DATA.",
    )
