"""What the commands on stored memories share: their names on disk, items from files, lines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kanerva.errors import KanervaError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from kanerva.store import MemoryStore


def located(memory: Path, *, timeout: float = 5.0) -> tuple[MemoryStore, str]:
    """The store and the name of a memory that is written as FOLDER/NAME."""
    import kanerva

    if not memory.name or (
        memory.is_dir() and not memory.with_name(f"{memory.name}.memory").exists()
    ):
        raise KanervaError(
            "memory",
            expected="FOLDER/NAME, a folder of memories and the name of one",
            got=f"'{memory}', a folder",
            fix=f"Write {memory / 'NAME'}.",
        )
    return kanerva.open(memory.parent, timeout=timeout), memory.name.removesuffix(".memory")


class FileItems(NamedTuple):
    """Items that were read from files."""

    items: Tensor | np.ndarray
    names: list[str] | None
    """The image files; None for vectors."""


def items_from(store: MemoryStore, name: str, paths: Sequence[Path], *, argument: str) -> FileItems:
    """Images for a memory of images, or the vectors of one .npy file."""
    import numpy as np

    from kanerva.cli.user_images import read_user_images, say_skipped
    from kanerva.store.images import find_model

    info = store.info(name)
    if info.kind == "images":
        if info.model is None:
            raise KanervaError(
                "memory",
                expected="a memory whose model has a name",
                got=f"'{name}', which was created with a model in Python",
                fix="Use it in Python: kanerva.open(path, model=km).",
            )
        found = read_user_images(find_model(info.model)[0], paths)
        say_skipped(found)
        return FileItems(found.images, found.names)
    if len(paths) != 1 or paths[0].suffix != ".npy":
        raise KanervaError(
            argument,
            expected="one .npy file with vectors",
            got=", ".join(map(str, paths)),
            fix="Save them with numpy.save(path, array).",
        )
    return FileItems(np.asarray(array_from(argument, paths[0])), None)


def array_from(argument: str, path: Path) -> np.ndarray:
    """A .npy file, mapped into memory."""
    from kanerva.store.batches import opened_array

    return opened_array(argument, path)


def lines_of(argument: str, path: Path | None) -> list[str] | None:
    """The lines of a text file in UTF-8, with or without the mark that some editors put first.

    Only line ends of files divide it: ids and labels may contain other separators of Unicode.
    """
    from kanerva.data.paths import check_plain_file

    if path is None:
        return None
    check_plain_file(argument, path, expected="a text file with one line for each item")
    try:
        lines = re.split("\r?\n", path.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise KanervaError(
            argument,
            expected="a text file with one line for each item",
            got=f"'{path}': {' '.join(str(error).split())[:100]}",
            fix="Check the name of the file.",
        ) from None
    return lines if lines[-1] else lines[:-1]


def say_bytes(count: int) -> str:
    """A number of bytes in words."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "bytes" else f"{count} bytes"
        count = count / 1000  # pyright: ignore[reportAssignmentType]
    return f"{count:.3g} GB"


def path_as_text(path: str | Path) -> str:
    """A path as text that can be stored: bytes of its name that are no UTF-8 are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")
