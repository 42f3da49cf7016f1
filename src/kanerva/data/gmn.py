"""Omniglot as Generative Matching Networks use it (Bartunov & Vetrov 2018): 28 x 28, two parts.

964 background characters are for training, 659 evaluation characters for test, 20 drawings each.
No character of the test split is ever trained on. Ink is 0 in the files and 255 here.
"""

import zipfile
from pathlib import Path

import numpy as np

from kanerva.data.image_arrays import FIT, TEST, VALID, ImageArrays, in_split_order
from kanerva.data.paths import FILE, first_existing, missing_files, unreadable, what_is_at
from kanerva.errors import KanervaError

SIZE = 28
NUM_DRAWINGS = 20
VALID_EVERY = 10
"""Of the training characters in the order of their names, every tenth is for validation."""
MAX_CHARACTERS = 10_000
_FILES = ("train_small.npz", "test_small.npz")
_SUBFOLDERS = ("omniglot-gmn/", "")


def find(folder: Path) -> list[Path]:
    """Find the two files."""
    sources = []
    for name in _FILES:
        source = first_existing(folder, *(subfolder + name for subfolder in _SUBFOLDERS))
        if source is None:
            raise missing_files(
                "omniglot-gmn",
                folder,
                f"omniglot-gmn/{name}",
                get="Copy it from the repository of Generative Matching Networks",
            )
        sources.append(source)
    return sources


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Read all drawings; ink becomes 255. Every tenth training character is for validation."""
    drawings: list[np.ndarray] = []
    parts: list[int] = []
    names: list[str] = []
    for part, source in zip((FIT, TEST), sources, strict=True):
        for number, (name, character) in enumerate(_characters(source)):
            is_valid = part == FIT and number % VALID_EVERY == VALID_EVERY - 1
            drawings.append(255 - character.reshape(NUM_DRAWINGS, 1, SIZE, SIZE))
            parts.append(VALID if is_valid else part)
            names.append(name)
    return in_split_order(
        np.repeat(np.array(parts), NUM_DRAWINGS),
        images=np.concatenate(drawings),
        labels=np.repeat(np.arange(len(names)), NUM_DRAWINGS),
        class_names=tuple(names),
        encoding="npz files of Generative Matching Networks, inverted",
    )


def _characters(source: Path) -> list[tuple[str, np.ndarray]]:
    """Every character with its name, in the order of names."""
    if (found := what_is_at(source)) != FILE:
        raise unreadable(source, found)
    try:
        with open(source, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            characters = [(name, arrays[name]) for name in sorted(arrays.files)[:MAX_CHARACTERS]]
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise _wrong(source, " ".join(str(error).split())[:200] or type(error).__name__) from None
    if not characters:
        raise _wrong(source, "no arrays")
    for name, array in characters:
        if array.shape != (NUM_DRAWINGS, SIZE * SIZE) or array.dtype != np.uint8:
            raise _wrong(source, f"{name} of shape {array.shape}, {array.dtype}")
    return characters


def _wrong(source: Path, got: str) -> KanervaError:
    return KanervaError(
        str(source),
        expected=f"a NumPy archive with arrays of {NUM_DRAWINGS} x {SIZE * SIZE} bytes, one for "
        "each character",
        got=got,
        fix="Copy it again from the repository of Generative Matching Networks.",
    )
