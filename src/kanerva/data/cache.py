"""The cache: a data set that was read once is kept as one safetensors file, which loads quickly.

The name of the file contains a digest of the data set's name and options, the version of the
readers, and the size and time of every source file. If a source changes, another file is made. The
file contains checksums of its header and of each part (fit, valid, test). What is read is verified.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from kanerva.atomic import write_atomically
from kanerva.data.folder_contents import list_folder
from kanerva.data.image_arrays import PARTS, ImageArrays, split_bounds
from kanerva.data.paths import FILE, cache_folder, what_is_at
from kanerva.errors import KanervaError

VERSION = 3
"""Increased whenever a reader makes other pixels, labels or splits from the same files, and when
the files of the cache change."""
_OPTIONAL = ("alphabets", "drawers")


class _Header(TypedDict):
    sizes: tuple[int, int, int]
    class_names: tuple[str, ...]
    encoding: str
    checksums: list[str]
    """Of the parts fit, valid and test."""


def cache_path(name: str, sources: Iterable[Path], **options: object) -> Path:
    """The file that keeps the data set made from these sources with these options."""
    key = json.dumps([VERSION, name, options, [_fingerprint(source) for source in sources]])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return cache_folder() / f"{name}-{digest}.safetensors"


def load(path: Path, split: str) -> ImageArrays | None:
    """Read one split and verify it; None if the file does not exist or, with a warning, is damaged.

    Only the parts of the file that the split needs are read and verified.
    """
    if what_is_at(path) != FILE:
        return None
    try:
        return _load(path, split)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
    warnings.warn(
        f"{path} is damaged and is made anew from the data's own files ({reason}); if this happens "
        "again, check the disk",
        stacklevel=2,
    )
    return None


def _load(path: Path, split: str) -> ImageArrays:
    with safe_open(path, framework="numpy") as file:
        checksum, text = file.metadata()["kanerva"].split(" ", 1)
        if checksum != _checksum_of_text(text):
            raise ValueError("the checksum of its header is wrong")
        header: _Header = json.loads(text)
        start, stop = split_bounds(header["sizes"], split)
        if start == stop:  # safetensors takes an empty slice only at the beginning
            start = stop = 0
        arrays = {name: file.get_slice(name)[start:stop] for name in file.keys()}  # noqa: SIM118
    first, last = PARTS[split]
    for part in range(first, last + 1):
        begin = sum(header["sizes"][first:part])
        some = slice(begin, begin + header["sizes"][part])
        if _checksum(arrays, some) != header["checksums"][part]:
            raise ValueError("the checksum of its pixels and labels is wrong")
    fit, valid, test = header["sizes"]
    return ImageArrays(
        **arrays,
        split_sizes=(fit, valid, test),
        class_names=tuple(header["class_names"]),
        encoding=header["encoding"],
    )


def store(path: Path, whole: ImageArrays) -> None:
    """Write the file, complete or not at all; if the folder cannot be written to, only warn."""
    arrays = {"images": whole.images, "labels": whole.labels}
    for name in _OPTIONAL:
        if (array := getattr(whole, name)) is not None:
            arrays[name] = array
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    parts = [slice(*split_bounds(whole.split_sizes, part)) for part in ("fit", "valid", "test")]
    header: _Header = {
        "sizes": whole.split_sizes,
        "class_names": whole.class_names,
        "encoding": whole.encoding,
        "checksums": [_checksum(arrays, part) for part in parts],
    }
    text = json.dumps(header)
    metadata = {"kanerva": f"{_checksum_of_text(text)} {text}"}
    try:
        write_atomically(path, save(arrays, metadata=metadata))
    except KanervaError as error:
        warnings.warn(
            f"the data will be read from its files each time, because {path.parent} cannot be "
            f"written ({error.got}); set KANERVA_CACHE to a folder that can",
            stacklevel=2,
        )


def _checksum(arrays: Mapping[str, np.ndarray], some: slice) -> str:
    """SHA-256 of some items of all arrays.

    It is twice as fast as BLAKE2 where the processor has instructions for it, as most have: 1.8 GB
    of pixels per second, 17 ms for the test images of CIFAR-10.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name][some]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _checksum_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _fingerprint(source: Path) -> list[object]:
    """Name, size and time of change of every file.

    Folders of the user's may look alike: the same names, sizes and times, but other pixels. So
    their path is added, and the time at which the system saw the last change of each file.
    """
    if not source.is_dir():
        status = source.stat()
        return [(source.name, status.st_size, status.st_mtime_ns)]
    found: list[object] = [str(source)]
    for path in list_folder(source).files:
        status = os.stat(os.path.join(source, path))
        found.append((path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return found
