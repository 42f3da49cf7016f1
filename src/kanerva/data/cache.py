"""The cache: a data set that was read once is kept as one safetensors file, which loads quickly.

The name of the file contains a digest of the data set's name and options, the version of the
readers, and the size and time of every source file. If a source changes, another file is made.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from kanerva.atomic import write_atomically
from kanerva.data.folder_contents import list_folder
from kanerva.data.image_arrays import ImageArrays, split_bounds
from kanerva.data.paths import cache_folder
from kanerva.errors import KanervaError

VERSION = 2
"""Increased whenever a reader makes other pixels, labels or splits from the same files."""
_OPTIONAL = ("alphabets", "drawers")


def cache_path(name: str, sources: Iterable[Path], **options: object) -> Path:
    """The file that keeps the data set made from these sources with these options."""
    key = json.dumps([VERSION, name, options, [_fingerprint(source) for source in sources]])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return cache_folder() / f"{name}-{digest}.safetensors"


def load(path: Path, split: str) -> ImageArrays | None:
    """Read one split; None if the file does not exist or is damaged."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads(file.metadata()["kanerva"])
            start, stop = split_bounds(header["sizes"], split)
            names = file.keys()
            arrays = {name: file.get_slice(name)[start:stop] for name in names}
            return ImageArrays(
                **arrays,
                split_sizes=tuple(header["sizes"]),
                class_names=tuple(header["class_names"]),
                encoding=header["encoding"],
            )
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None


def store(path: Path, whole: ImageArrays) -> None:
    """Write the file, complete or not at all; if the folder cannot be written to, only warn."""
    arrays = {"images": whole.images, "labels": whole.labels}
    for name in _OPTIONAL:
        if (array := getattr(whole, name)) is not None:
            arrays[name] = array
    header = {
        "sizes": whole.split_sizes,
        "class_names": whole.class_names,
        "encoding": whole.encoding,
    }
    data = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"kanerva": json.dumps(header)},
    )
    try:
        write_atomically(path, data)
    except KanervaError as error:
        warnings.warn(
            f"the data will be read from its files each time, because {path.parent} cannot be "
            f"written ({error.got}); set KANERVA_CACHE to a folder that can",
            stacklevel=2,
        )


def _fingerprint(source: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of change of every file."""
    files = list_folder(source).files if source.is_dir() else [""]
    stats = [os.stat(os.path.join(source, path) if path else source) for path in files]
    return [
        (f"{source.name}/{path}", stat.st_size, stat.st_mtime_ns)
        for path, stat in zip(files, stats, strict=True)
    ]
