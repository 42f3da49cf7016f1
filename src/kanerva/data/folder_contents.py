"""What is in a folder: its files, which of them are images, and what is neither."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kanerva.data.image_files import is_image
from kanerva.data.paths import in_words, unreadable, what_is_at

IMAGE_ENDINGS = {
    ".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".dib", ".gif", ".webp", ".tif", ".tiff",
    ".ppm", ".pgm", ".pbm", ".pnm",
}  # fmt: skip
"""Files with these endings must be images. Other files may be: their contents tell."""
NEVER_IMAGES = {".txt", ".json", ".md", ".csv"}
"""Endings of files that often lie beside images. These files are not opened."""


class SkippedFilesWarning(UserWarning):
    """A folder of images has other files too, which were skipped.

    The warning says how many there were, and names some.

    Example:
        >>> import tempfile, warnings
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> import kanerva
        >>> drawing = Image.new("L", (60, 60), "white")
        >>> drawing.paste("black", (25, 10, 35, 50))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drawing.save(Path(folder) / "one.png")
        ...     _ = (Path(folder) / "Thumbs.db").write_bytes(b"no image")
        ...     with warnings.catch_warnings(record=True) as caught:
        ...         warnings.simplefilter("always")
        ...         images = kanerva.read_images(folder)
        >>> print(caught[0].category.__name__, "-", caught[0].message)
        SkippedFilesWarning - skipped 1 file in the folders that cannot be read as images: Thumbs.db

    """


class FolderContents(NamedTuple):
    """Everything below a folder that is not hidden, as sorted paths relative to it."""

    files: list[str]
    others: list[str]
    """Pipes, devices, and links that lead nowhere."""


class FolderImages(NamedTuple):
    """The images below a folder, and everything else, as sorted paths relative to it."""

    images: list[str]
    skipped: list[str]


def list_folder(folder: Path) -> FolderContents:
    """List what is below a folder, without hidden files and those that macOS adds.

    Links to folders are followed, but no folder is entered twice. Paths are strings, because there
    may be many of them.
    """
    contents = FolderContents([], [])
    seen: set[str] = set()
    todo = [""]
    while todo:
        here = todo.pop()
        try:
            real = os.path.realpath(folder / here)
            if real in seen:
                continue
            seen.add(real)
            with os.scandir(real) as entries:
                for entry in entries:
                    if not entry.name.startswith(".") and entry.name != "__MACOSX":
                        path = f"{here}/{entry.name}" if here else entry.name
                        _list_for(entry, todo, contents).append(path)
        except OSError as error:
            expected = "a folder that can be read"
            raise unreadable(folder / here, in_words(error), expected=expected) from None
    return FolderContents(sorted(contents.files), sorted(contents.others))


def _list_for(entry: os.DirEntry[str], folders: list[str], contents: FolderContents) -> list[str]:
    """The list that an entry belongs to."""
    try:
        if entry.is_dir():
            return folders
        return contents.files if entry.is_file() else contents.others
    except OSError:  # a link that leads to itself
        return contents.others


def list_images(folder: Path) -> FolderImages:
    """Sort out which files below a folder are images.

    A file is an image if its name ends as that of an image, or else if it begins as an image does.
    A link, pipe or device with the name of an image is an error, because an image is missing.
    """
    contents = list_folder(folder)
    for path in contents.others:
        if _ending(path) in IMAGE_ENDINGS:
            raise unreadable(folder / path, what_is_at(folder / path), expected="an image")
    images = [path for path in contents.files if _is_image(folder, path)]
    return FolderImages(images, sorted({*contents.files, *contents.others} - {*images}))


def _is_image(folder: Path, path: str) -> bool:
    ending = _ending(path)
    return ending in IMAGE_ENDINGS or (ending not in NEVER_IMAGES and is_image(folder / path))


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def warn_about_skipped(where: str, skipped: Sequence[str], *, stacklevel: int) -> None:
    """Warn, if there is something to say; `stacklevel` 2 is the line that calls this."""
    if skipped:
        warnings.warn(skipped_in_words(where, skipped), SkippedFilesWarning, stacklevel=stacklevel)


def skipped_in_words(where: str, skipped: Sequence[str]) -> str:
    """Say how many files were skipped, and name the first ones."""
    count = "1 file" if len(skipped) == 1 else f"{len(skipped):,} files"
    names = [os.path.basename(path).encode("unicode_escape").decode() for path in skipped[:3]]
    more = ", ..." if len(skipped) > len(names) else ""
    return f"skipped {count} in {where} that cannot be read as images: {', '.join(names)}{more}"
