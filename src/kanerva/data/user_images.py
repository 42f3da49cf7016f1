"""The user's own image files in the form that a model expects."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from kanerva.checks import check_bool, check_integer, check_path
from kanerva.data.folder_contents import list_images, skipped_in_words, warn_about_skipped
from kanerva.data.glyphs import MAX_SIZE
from kanerva.data.image_files import FORMATS, border, middle_square, open_image, upright
from kanerva.data.paths import FILE, FOLDER, fix_for, read_file, what_is_at
from kanerva.data.pixels import THRESHOLD
from kanerva.data.uneven_light import contrast_in_uneven_light
from kanerva.errors import KanervaError

MIN_CONTRAST = 8
"""An image with less contrast than this has no ink; compression alone can cause that much."""
MIN_UNEVEN_CONTRAST = 0.1
"""The same in uneven light, as a share of the background: remains of the light can be so strong."""


class UserImages(NamedTuple):
    """Images that were read from a user's files."""

    images: Tensor
    """(N, channels, H, W), float32."""
    names: list[str]
    """The N files."""
    skipped: list[str]
    """Files in the folders that are not images."""


def read_images(
    paths: str | Path | Iterable[str | Path],
    *,
    image_shape: tuple[int, int, int] = (1, 28, 28),
    binary: bool = True,
) -> Tensor:
    """Read image files, and folders of them, into one tensor that a model can write.

    Each image is cut to its middle square and resized. For a binary model, the border of the image
    tells its background, and everything that stands out clearly from that becomes ink. Omniglot's
    threshold is used for this, so that drawings look as in training. In photographs with uneven
    light the background is estimated around each pixel. Of an animation or of several pages the
    first image is read. Files in a folder that are not images are skipped, with a
    `SkippedFilesWarning`.

    Args:
        paths: an image file, a folder of which all images are read, sorted by name, or several of
            both.
        image_shape: (channels, height, width) of the model, `km.config.image_shape`. Height and
            width must be equal.
        binary: whether the model's pixels are 0 or 1 (a Bernoulli likelihood).

    Returns:
        Images (N, channels, H, W) in float32 between 0 and 1, as `km.write` takes them.

    Raises:
        KanervaError: a path does not exist or is not an image, a folder has none, or an image has
            no ink.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> import kanerva
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drawing = Image.new("L", (60, 60), "white")
        ...     drawing.paste("black", (25, 10, 35, 50))
        ...     drawing.save(Path(folder) / "one.png")
        ...     images = kanerva.read_images(folder)
        >>> images.shape, images.unique()
        (torch.Size([1, 1, 28, 28]), tensor([0., 1.]))

    """
    read = read_image_files(paths, image_shape=image_shape, binary=binary)
    warn_about_skipped("the folders", read.skipped, stacklevel=3)
    return read.images


def read_image_files(
    paths: str | Path | Iterable[str | Path], *, image_shape: tuple[int, int, int], binary: bool
) -> UserImages:
    """Read images as `read_images` does; say which files they come from and which were skipped."""
    channels, size = _checked_shape(image_shape)
    check_bool("binary", binary, fix="Pass True for a model with a Bernoulli likelihood.")
    files, skipped = _find(paths)
    arrays: list[np.ndarray] = []
    for file in files:
        arrays.append(_pixels(read_file(file), file, channels, size, binary=binary))
    images = torch.from_numpy(np.stack(arrays)).float()
    return UserImages(images, [str(file) for file in files], skipped)


def image_from_bytes(
    data: bytes, name: str, *, image_shape: tuple[int, int, int], binary: bool
) -> Tensor:
    """The contents of an image file as `read_images` reads them, (channels, H, W); `name` is for
    errors.
    """
    channels, size = _checked_shape(image_shape)
    return torch.from_numpy(_pixels(data, Path(name), channels, size, binary=binary)).float()


def _pixels(data: bytes, file: Path, channels: int, size: int, *, binary: bool) -> np.ndarray:
    image = upright(open_image(data, str(file)), grey=channels == 1)
    array = middle_square(image, size)
    return _ink(image, array, file) if binary else array / 256


def _checked_shape(image_shape: tuple[int, int, int]) -> tuple[int, int]:
    """Check the shape; returns channels and size."""
    if (
        not isinstance(image_shape, tuple | list)
        or len(image_shape) != 3
        or not all(isinstance(size, int) for size in image_shape)
        or image_shape[0] not in (1, 3)
        or image_shape[1] != image_shape[2]
    ):
        raise KanervaError(
            "image_shape",
            expected="(1 or 3 channels, height, width), with equal height and width",
            got=repr(image_shape),
            fix="Pass km.config.image_shape. For images that are not square, make the tensor "
            "yourself and pass it to km.write.",
        )
    check_integer(
        "image_shape",
        image_shape[1],
        at_most=MAX_SIZE,
        fix="Pass km.config.image_shape, for example (1, 28, 28).",
    )
    return int(image_shape[0]), int(image_shape[1])


def _find(paths: str | Path | Iterable[str | Path]) -> tuple[list[Path], list[str]]:
    """List all image files, and those that are skipped."""
    if isinstance(paths, str | bytes | os.PathLike | Tensor) or not isinstance(paths, Iterable):
        paths = [paths]
    files: list[Path] = []
    skipped: list[str] = []
    for given in paths:
        path = check_path("paths", given, what="an image or of a folder with images")
        found = what_is_at(path)
        if found == FILE:
            files.append(path)
            continue
        if found != FOLDER:
            raise _no_images(path, found, fix_for(found))
        images, others = list_images(path)
        if not images:
            got = f" ({skipped_in_words('it', others)})" if others else ""
            fix = f"Put images there ({', '.join(FORMATS)})."
            raise _no_images(path, f"a folder without any{got}", fix)
        files += [path / name for name in images]
        skipped += [str(path / name) for name in others]
    if not files:
        raise KanervaError(
            "paths",
            expected="at least one image or folder with images",
            got="none",
            fix="Name them, for example read_images('drawings/').",
        )
    return files, skipped


def _no_images(path: Path, got: str, fix: str) -> KanervaError:
    return KanervaError(str(path), expected="an image, or a folder with images", got=got, fix=fix)


def _ink(image: Image.Image, array: np.ndarray, file: Path) -> np.ndarray:
    """Turn an image, of which `array` (channels, H, W) is the middle, into 0 and 1."""
    contrast = contrast_in_uneven_light(image, array[0]) if len(array) == 1 else None
    if contrast is None:
        contrast = _contrast_in_even_light(array)
        ink = _standing_out(contrast) & (contrast.max() >= MIN_CONTRAST)
    else:
        ink = _standing_out(contrast[None]) & (contrast.max() >= MIN_UNEVEN_CONTRAST)
    if not ink.any():
        raise KanervaError(
            str(file),
            expected="a drawing that stands out from its background",
            got=f"no ink found in {file.name}",
            fix="Remove the file, or make the drawing darker. Only the middle square of an image "
            "is read.",
        )
    return ink


def _contrast_in_even_light(array: np.ndarray) -> np.ndarray:
    """How strongly each pixel stands out from the background, which may have any grey."""
    background = np.median(border(array).astype(float))
    darker, lighter = background - array, array - background
    return darker if darker.max() >= lighter.max() else lighter


def _standing_out(contrast: np.ndarray) -> np.ndarray:
    """Which pixels (channels, H, W) stand out clearly.

    On a clean background everything above Omniglot's threshold is ink, relative to the strongest
    ink. On a rough background ink must also stand out from the grain of the background.
    """
    edge = border(contrast)
    threshold = contrast.max() * THRESHOLD / 255
    grain = 6 * np.median(np.abs(edge - np.median(edge)))
    return contrast > max(threshold, grain)
