"""Where commands save: checks that are made before the work begins, so that it is not lost.

A file that the user names is replaced only with --overwrite, and an image that is read is never
replaced. Files in runs/, where commands save if nothing is named, are replaced.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kanerva.cli.terminal import say
from kanerva.data.paths import FILE, FOLDER, NOTHING, absolute, fix_for, what_is_at
from kanerva.errors import KanervaError, printable

PICTURES = (".png", ".gif")


def check_picture_file(
    option: str,
    path: Path,
    *,
    inputs: Sequence[Path] = (),
    overwrite: bool = False,
    endings: Sequence[str] = PICTURES,
) -> None:
    """Refuse a file that is not a picture, cannot be written, is there already, or is read.

    Args:
        option: the option that named it.
        path: the file.
        inputs: files and folders that the command reads.
        overwrite: whether a file that is there may be replaced.
        endings: how its name may end.

    """
    if path.suffix.lower() not in endings:
        example = path.with_suffix(endings[0]).name if path.name else f"picture{endings[0]}"
        moving = "; .gif is an animation" if ".gif" in endings else ""
        raise KanervaError(
            option,
            expected=f"a file name that ends in {' or '.join(endings)}",
            got=f"'{path}'",
            fix=f"Write for example {option} {example}{moving}.",
        )
    check_file(option, path, inputs=inputs, overwrite=overwrite)


def check_file(
    option: str, path: Path, *, inputs: Sequence[Path] = (), overwrite: bool = False
) -> None:
    """Refuse a file that cannot be written, is there already, or is one of the inputs."""
    found = what_is_at(path)
    if found in (NOTHING, "a link that leads to nothing"):
        _check_place(option, path)
        return
    if found != FILE:
        raise KanervaError(
            option, expected="a file", got=f"'{path}', {found}", fix="Name another file."
        )
    if is_read(path, inputs):
        raise KanervaError(
            option,
            expected="a file that is not one of the images to be read",
            got=f"'{path}'",
            fix="Name another file, or a file in another folder.",
        )
    if not overwrite:
        raise KanervaError(
            option,
            expected="a file that is not there yet",
            got=f"'{path}', which is",
            fix="Name another file, or add --overwrite to replace it.",
        )


def is_read(path: Path, inputs: Sequence[Path]) -> bool:
    """Whether a file is one of the inputs, or in one of them."""
    here = absolute(path)
    return any(absolute(place) in (here, *here.parents) for place in inputs)


def say_saved(files: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Tell the user on stderr if the next run of the same command would read what was saved."""
    saved = [file for file in files if is_read(file, inputs)]
    if saved:
        say(
            f"note: '{printable(str(saved[0]))}' is in a folder that was read; "
            "the same command reads it too next time"
        )


def check_folder(option: str, path: Path) -> None:
    """Refuse a folder that cannot be made or written to."""
    found = what_is_at(path)
    if found == NOTHING:
        _check_place(option, path)
    elif found != FOLDER:
        fix = "Name another folder." if found == FILE else fix_for(found)
        raise KanervaError(option, expected="a folder", got=f"'{path}', {found}", fix=fix)
    else:
        _check_place(option, path / "file")


def _check_place(option: str, path: Path) -> None:
    """Refuse a path that cannot be made: try it in the nearest folder above it that is there."""
    above = next((folder for folder in path.parents if os.path.lexists(folder)), Path())
    try:
        with tempfile.TemporaryDirectory(prefix=".kanerva-", dir=above):
            return
    except OSError as error:
        problem = "a file" if os.path.isfile(above) else (error.strerror or str(error)).lower()
    raise KanervaError(
        option,
        expected="a path in a folder that can be written",
        got=f"'{path}' (in '{above}': {problem})",
        fix="Choose another folder.",
    )
