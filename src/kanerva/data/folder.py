"""Any folder of images as a data set."""

import os
from pathlib import Path

import numpy as np

from kanerva.data.archives import list_folder, read_files
from kanerva.data.image_arrays import ImageArrays, in_split_order, random_parts
from kanerva.data.image_files import has_light_background, open_image, to_array
from kanerva.data.progress import tracked
from kanerva.errors import KanervaError

NOT_IMAGES = {".txt", ".json", ".md", ".csv"}
"""Endings of files that often lie beside images and are skipped. Other files must be images."""
_GREY_MODES = {"1", "L", "LA", "I", "I;16", "I;16B"}


def find(folder: Path) -> list[Path]:
    """Find the folder itself, if it has images."""
    _image_files(folder)
    return [folder]


def is_grey(folder: Path) -> bool:
    """Whether the first image has no colour. By default all others are read in the same way."""
    path = folder / _image_files(folder)[0]
    return open_image(path.read_bytes(), str(path)).mode in _GREY_MODES


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Read all images; every sub-folder is a class.

    If there are folders `train` and `test`, they are the split. Else a seeded fifth is for test. A
    seeded tenth of the training images is for validation.
    """
    (folder,) = sources
    files, total = read_files(folder), len(_image_files(folder))
    images, paths = [], []
    with tracked(files, total=total, description=folder.name, show=show_progress) as entries:
        for path, data in entries:
            if not _is_skipped(path):
                image = open_image(data, str(folder / path))
                images.append(to_array(image, size=size, grey=grey))
                paths.append(path.split("/"))
    has_split = {"train", "test"} <= {parts[0] for parts in paths if len(parts) > 1}
    is_test = None
    if has_split:
        outside = [parts for parts in paths if parts[0] not in ("train", "test")]
        if outside:
            raise KanervaError(
                str(folder / "/".join(outside[0])),
                expected="every image under train or test, because both exist",
                got="one beside them",
                fix="Move it into one of the two folders, or give these folders other names.",
            )
        is_test = np.array([parts[0] == "test" for parts in paths])
        paths = [parts[1:] for parts in paths]
    classes = ["/".join(parts[:-1]) or folder.name for parts in paths]
    class_names = sorted(set(classes))
    class_of = {name: number for number, name in enumerate(class_names)}
    stack = np.stack(images)
    encoding = f"image files, Pillow resized to {size} x {size}"
    if grey and has_light_background(stack):
        stack, encoding = 255 - stack, f"{encoding}, dark ink on light background inverted"
    return in_split_order(
        random_parts(is_test, len(images)),
        images=stack,
        labels=np.array([class_of[name] for name in classes]),
        class_names=tuple(class_names),
        encoding=encoding,
    )


def _image_files(folder: Path) -> list[str]:
    paths = [path for path in list_folder(folder) if not _is_skipped(path)]
    if not paths:
        raise KanervaError(
            "name",
            expected=f"images in {folder}, with one sub-folder for each class or without",
            got="none",
            fix="Put images there, or pass the name of a data set.",
        )
    return paths


def _is_skipped(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in NOT_IMAGES
