"""A person's own image files as a model wants them: the right size, ink 1 on paper 0."""

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
"""Contrast below which there is no ink: a blank page has that much by compression alone."""


def read_images(
    places: Sequence[Path], *, image_shape: tuple[int, int, int], binary: bool
) -> tuple[Tensor, list[str]]:
    """Images (N, channels, H, W) between 0 and 1 from files and folders, and their names.

    For binary models the paper is told by the border of each image, and all that stands out from
    it by more than a trace becomes ink, as Omniglot was made.
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
    for path in [file for place in places for file in _files(place)]:
        image = open_image(path.read_bytes(), str(path))
        array = to_array(image, size=height, grey=channels == 1)
        arrays.append(_ink(array) if binary else array / 256)
        names.append(str(path))
    return torch.from_numpy(np.stack(arrays)).float(), names


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    found = []
    if place.is_dir():
        found = [place / name for name in list_folder(place)]
        found = [path for path in found if path.suffix.lower() not in NOT_IMAGES]
    if not found:
        raise KanervaError(
            str(place),
            expected="an image, or a folder with images",
            got="a folder without any" if place.is_dir() else "nothing there",
            fix="Check the path.",
        )
    return sorted(found)


def _ink(array: np.ndarray) -> np.ndarray:
    """Grey (channels, H, W) to 0 and 1, whatever the grey of the paper.

    On clean paper a trace is Omniglot's threshold, as a share of the strongest ink. On rough paper
    it is what the paper's own grain goes up to.
    """
    edge = border(array).astype(float)
    paper = np.median(edge)
    darker, lighter = paper - array, array - paper
    ink = darker if darker.max() >= lighter.max() else lighter
    trace = ink.max() * THRESHOLD / 255
    grain = 6 * np.median(np.abs(edge - paper))
    return (ink > max(trace, grain)) & (ink.max() >= MIN_CONTRAST)
