"""The user's own image files in the form that a model expects."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kanerva.data.archives import list_folder
from kanerva.data.episodes import THRESHOLD
from kanerva.data.folder import NOT_IMAGES
from kanerva.data.image_files import border, open_image, to_array
from kanerva.errors import KanervaError

MIN_CONTRAST = 8
"""An image with less contrast than this has no ink; compression alone can cause that much."""


def read_images(
    paths: Sequence[Path], *, image_shape: tuple[int, int, int], binary: bool
) -> tuple[Tensor, list[str]]:
    """Read image files and folders of them as a model wants them.

    Each image is cut to its middle square and resized. For a binary model, the border of the image
    tells its background, and everything that stands out clearly from that becomes ink. Omniglot's
    threshold is used for this, so that drawings look as in training.

    Args:
        paths: image files, or folders of which all images are read, sorted by name.
        image_shape: (channels, height, width) of the model; height and width must be equal.
        binary: whether the model's pixels are 0 or 1 (a Bernoulli likelihood).

    Returns:
        Images (N, channels, H, W) in float32 between 0 and 1, and the N file names.

    Raises:
        KanervaError: a path does not exist or is not an image, or a folder has none.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from kanerva.data.user_images import read_images
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drawing = Image.new("L", (60, 60), "white")
        ...     drawing.paste("black", (25, 10, 35, 50))
        ...     drawing.save(Path(folder) / "one.png")
        ...     images, names = read_images([Path(folder)], image_shape=(1, 28, 28), binary=True)
        >>> images.shape, images.unique(), Path(names[0]).name
        (torch.Size([1, 1, 28, 28]), tensor([0., 1.]), 'one.png')

    """
    channels, height, width = image_shape
    if height != width:
        raise KanervaError(
            "checkpoint",
            expected="a model of square images",
            got=f"{height} x {width}",
            fix="Use the Python interface: km.write(images).",
        )
    arrays, names = [], []
    for file in [file for path in paths for file in _image_files(path)]:
        image = open_image(file.read_bytes(), str(file))
        array = to_array(image, size=height, grey=channels == 1)
        arrays.append(_ink(array) if binary else array / 256)
        names.append(str(file))
    return torch.from_numpy(np.stack(arrays)).float(), names


def _image_files(path: Path) -> list[Path]:
    """List the file itself, or the images in a folder."""
    if path.is_file():
        return [path]
    found = []
    if path.is_dir():
        found = [path / name for name in list_folder(path)]
        found = [file for file in found if file.suffix.lower() not in NOT_IMAGES]
    if not found:
        raise KanervaError(
            str(path),
            expected="an image, or a folder with images",
            got="a folder without any" if path.is_dir() else "nothing there",
            fix="Check the path.",
        )
    return sorted(found)


def _ink(array: np.ndarray) -> np.ndarray:
    """Turn grey (channels, H, W) into 0 and 1, for a background of any grey.

    On a clean background everything above Omniglot's threshold is ink, relative to the strongest
    ink. On a rough background ink must also stand out from the grain of the background.
    """
    edge = border(array).astype(float)
    background = np.median(edge)
    darker, lighter = background - array, array - background
    ink = darker if darker.max() >= lighter.max() else lighter
    threshold = ink.max() * THRESHOLD / 255
    grain = 6 * np.median(np.abs(edge - background))
    return (ink > max(threshold, grain)) & (ink.max() >= MIN_CONTRAST)
