"""Any folder of images as a data set."""

import warnings
from pathlib import Path

import numpy as np

from kanerva.data.folder_contents import FolderImages, list_images, skipped_in_words
from kanerva.data.image_arrays import ImageArrays, in_split_order, random_parts
from kanerva.data.image_files import FORMATS, has_light_background, open_image, to_array
from kanerva.data.paths import read_file
from kanerva.data.progress import tracked
from kanerva.errors import KanervaError


class MixedBackgroundsWarning(UserWarning):
    """Some images of a folder are dark on light and others light on dark."""


_GREY_MODES = {"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"}


def find(folder: Path) -> FolderImages:
    """List its images, of which there must be some, and the files that are skipped."""
    found = list_images(folder)
    if not found.images:
        others = f" ({skipped_in_words('it', found.skipped)})" if found.skipped else ""
        raise KanervaError(
            "name",
            expected=f"images in {folder}, with one sub-folder for each class or without",
            got=f"none{others}",
            fix=f"Put images there ({', '.join(FORMATS)}), or pass the name of a data set.",
        )
    return found


def is_grey(folder: Path, files: list[str]) -> bool:
    """Whether the first image has no colour. By default all others are read in the same way."""
    path = folder / files[0]
    return open_image(read_file(path), str(path)).mode in _GREY_MODES


def read(
    sources: list[Path], /, *, files: list[str], size: int, grey: bool, show_progress: bool
) -> ImageArrays:
    """Read images; every sub-folder is a class.

    If there are folders `train` and `test`, they are the split. Else a seeded fifth is for test. A
    seeded tenth of the training images is for validation.
    """
    (folder,) = sources
    images, paths = [], []
    with tracked(files, total=len(files), description=folder.name, show=show_progress) as entries:
        for path in entries:
            image = open_image(read_file(folder / path), str(folder / path))
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
    if grey:
        is_light = has_light_background(stack)
        num_others = sum(has_light_background(image) != is_light for image in stack)
        if is_light:
            stack, encoding = 255 - stack, f"{encoding}, dark ink on light background inverted"
        if num_others:
            words = f"{num_others} of {len(stack)} images have the other background"
            encoding = f"{encoding}; {words}"
            warnings.warn(
                f"{folder}: {words}; all are inverted or none is, so their ink becomes background. "
                "For drawings, invert those files; photographs may be as they should.",
                MixedBackgroundsWarning,
                stacklevel=2,
            )
    return in_split_order(
        random_parts(is_test, len(images)),
        images=stack,
        labels=np.array([class_of[name] for name in classes]),
        class_names=tuple(class_names),
        encoding=encoding,
    )
