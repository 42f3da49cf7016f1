"""`load_dataset`: reads one split of a data set by its name."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from kanerva.checks import check_bool, check_integer, check_one_of, check_path
from kanerva.data import burda, cache, cifar10, folder, glyphs, gmn, handwriting, omniglot
from kanerva.data.dataset import SPLITS, Dataset
from kanerva.data.dataset_checks import BINARISATIONS, check_likelihood
from kanerva.data.folder_contents import warn_about_skipped
from kanerva.data.image_arrays import ImageArrays, split_bounds
from kanerva.data.paths import (
    FILE,
    FOLDER,
    NOTHING,
    absolute,
    fix_for,
    resolve_data_folder,
    what_is_at,
)
from kanerva.errors import KanervaError


class ReadFiles(Protocol):
    """A function that makes a whole data set from its files."""

    def __call__(
        self, sources: list[Path], /, *, size: int, grey: bool, show_progress: bool
    ) -> ImageArrays: ...


class DatasetReader(NamedTuple):
    """How to find and read a data set, and its usual size and likelihood."""

    find: Callable[[Path], list[Path]]
    """Lists its files in the data folder, or raises an error that says what to put there."""
    read: ReadFiles
    size: int
    grey: bool
    likelihood: str
    binarisation: str
    """The usual one with a Bernoulli likelihood."""
    resizable: bool
    """Whether its images can be made at another size."""


READERS = {
    "omniglot": DatasetReader(
        omniglot.find, omniglot.read, 28, True, "bernoulli", "threshold20", resizable=True
    ),
    "omniglot-alphabets": DatasetReader(
        omniglot.find,
        omniglot.read_by_alphabets,
        28,
        True,
        "bernoulli",
        "threshold20",
        resizable=True,
    ),
    "handwriting": DatasetReader(
        omniglot.find, handwriting.read, 28, True, "bernoulli", "threshold20", resizable=True
    ),
    "unseen-fonts": DatasetReader(
        glyphs.find,
        handwriting.read_unseen_fonts,
        glyphs.SIZE,
        True,
        "bernoulli",
        "threshold20",
        resizable=True,
    ),
    "omniglot-burda": DatasetReader(
        burda.find, burda.read, burda.SIZE, True, "bernoulli", "stochastic", resizable=False
    ),
    "omniglot-gmn": DatasetReader(
        gmn.find, gmn.read, gmn.SIZE, True, "bernoulli", "threshold20", resizable=False
    ),
    "cifar10": DatasetReader(
        cifar10.find, cifar10.read, cifar10.SIZE, False, "gaussian", "stochastic", resizable=False
    ),
    "glyphs": DatasetReader(
        glyphs.find, glyphs.read, glyphs.SIZE, True, "bernoulli", "threshold20", resizable=True
    ),
}
DATASETS = tuple(READERS)
"""The names of the data sets that `load_dataset` knows; it reads folders of images, too.

Example:
    >>> from kanerva.data import DATASETS
    >>> sorted(DATASETS)[:4]
    ['cifar10', 'glyphs', 'handwriting', 'omniglot']

"""


def load_dataset(
    name: str | Path,
    split: str,
    *,
    data_folder: Path | str | None = None,
    binarisation: str | None = None,
    size: int | None = None,
    grey: bool | None = None,
    likelihood: str | None = None,
    show_progress: bool = True,
) -> Dataset:
    """Read one split of a data set, from its files the first time and from the cache later.

    Args:
        name: one of `DATASETS`, or the path of a folder of images, in which every sub-folder is a
            class. Files there that are not images are skipped, with a `SkippedFilesWarning`.
        split: train, test, or one of the two parts of train: fit and valid.
        data_folder: the folder with the archives; by default KANERVA_DATA, else ./data.
        binarisation: threshold20 or stochastic; by default the one the data set is usually used
            with.
        size: height and width of the images; by default 28, and 32 for colour.
        grey: for a folder of images: read it in grey or in colour; by default like its first image.
        likelihood: bernoulli or gaussian; by default gaussian for colour.
        show_progress: show a bar on stderr while files are read, if that is a terminal.

    Returns:
        The split, with images and labels on the CPU.

    Raises:
        KanervaError: a name or option is not known, or the files are missing or damaged. The
            message says which file to put where.

    Example:
        >>> from kanerva.data import load_dataset
        >>> data = load_dataset("glyphs", "test")  # the one that needs no files
        >>> data.images.dtype, data.image_shape, data.likelihood
        (torch.uint8, (1, 28, 28), 'bernoulli')

    """
    check_one_of("split", split, SPLITS)
    check_bool("show_progress", show_progress, fix="Pass False for no progress bar.")
    if grey is not None:
        check_bool("grey", grey, fix="Pass True for grey, False for colour, or leave it out.")
    if likelihood is not None:
        check_one_of("likelihood", likelihood, BINARISATIONS)
    path = check_path("name", name, what=f"a folder of images, or one of {', '.join(DATASETS)}")
    name = str(name)
    reader, where = _reader(name, path, data_folder, grey, likelihood)
    likelihood = likelihood or reader.likelihood
    if binarisation is None:
        binarisation = reader.binarisation if likelihood == "bernoulli" else "none"
    check_likelihood(likelihood, binarisation)
    size = _checked_size(name, reader, size)
    _check_grey(name, reader, grey)
    files = reader.find(where)
    title = name if name in READERS else where.name
    part = _read_split(title, reader, files, split, size, show_progress)
    if len(part.images) == 0:
        raise KanervaError(
            "split",
            expected=f"images for {split}",
            got=f"none of the {sum(part.split_sizes)} in {title}",
            fix="Add images, or choose another split. A folder needs at least 3 images for a test "
            "split, and 7 for a validation split.",
        )
    return Dataset(
        name=title,
        split=split,
        images=torch.from_numpy(part.images),
        labels=torch.from_numpy(part.labels),
        class_names=part.class_names,
        likelihood=likelihood,
        binarisation=binarisation,
        encoding=part.encoding,
        alphabets=_tensor(part.alphabets),
        drawers=_tensor(part.drawers),
        source=name if name in READERS else str(where),
    )


def _reader(
    name: str,
    path: Path,
    data_folder: Path | str | None,
    grey: bool | None,
    likelihood: str | None,
) -> tuple[DatasetReader, Path]:
    """How to read the data set, and the folder to look in."""
    if name in READERS:
        return READERS[name], resolve_data_folder(data_folder)
    found = what_is_at(path)
    if found != FOLDER:
        if found == NOTHING and os.sep not in name:
            choices = "Choose one of these, or pass the path of a folder of images."
            check_one_of("name", name, DATASETS, fix=choices)
        raise KanervaError(
            "name",
            expected=f"one of {', '.join(DATASETS)}, or a folder of images",
            got=f"{name!r}, {found}",
            fix="Name the folder that it is in. To read an archive, pass the name of its data set, "
            "for example omniglot."
            if found == FILE
            else fix_for(found),
        )
    path = absolute(path)
    files, skipped = folder.find(path)
    warn_about_skipped(str(path), skipped, stacklevel=4)  # the line that called load_dataset
    if grey is None:
        grey = likelihood == "bernoulli" or (likelihood is None and folder.is_grey(path, files))
    likelihood = likelihood or ("bernoulli" if grey else "gaussian")
    size = 28 if likelihood == "bernoulli" else 32
    read = partial(folder.read, files=files)
    return DatasetReader(_itself, read, size, grey, likelihood, "stochastic", True), path


def _itself(folder: Path) -> list[Path]:
    return [folder]


def _checked_size(name: str, reader: DatasetReader, size: int | None) -> int:
    if size is None:
        return reader.size
    if not reader.resizable and size != reader.size:
        raise KanervaError(
            "size",
            expected=str(reader.size),
            got=repr(size),
            fix=f"{name} exists only at {reader.size} x {reader.size} pixels.",
        )
    check_integer(
        "size",
        size,
        at_most=glyphs.MAX_SIZE,
        fix=f"The usual size of {name} is {reader.size} x {reader.size} pixels.",
    )
    return size


def _check_grey(name: str, reader: DatasetReader, grey: bool | None) -> None:
    if grey is not None and grey != reader.grey:
        raise KanervaError(
            "grey",
            expected=str(reader.grey),
            got=str(grey),
            fix=f"{name} is {'grey' if reader.grey else 'in colour'}; "
            "only folders of images can be read in both ways.",
        )


def _read_split(
    title: str, reader: DatasetReader, files: list[Path], split: str, size: int, show_progress: bool
) -> ImageArrays:
    """One split, from the cache if it is there, else from the files."""
    file_name = re.sub(r"[^\w.-]", "_", title)[:40]  # with the digest it may not be too long
    path = cache.cache_path(file_name, files, size=size, grey=reader.grey)
    part = cache.load(path, split)
    if part is not None:
        return part
    whole = reader.read(files, size=size, grey=reader.grey, show_progress=show_progress)
    cache.store(path, whole)
    return whole.take(slice(*split_bounds(whole.split_sizes, split)))


def _tensor(array: np.ndarray | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)
