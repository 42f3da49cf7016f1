"""What the commands on a user's own images share: reading and writing them, and the picture."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kanerva.errors import KanervaError

if TYPE_CHECKING:
    from torch import Tensor

    from kanerva.models.memory_model import MemoryModel
    from kanerva.models.model import Model

State = TypeVar("State")


def read_user_images(model: Model, paths: Sequence[Path]) -> tuple[Tensor, list[str]]:
    """Read files and folders as images that fit a model, on its device, and their names."""
    from kanerva.data.user_images import read_image_files

    if not paths:
        raise KanervaError(
            "--memory",
            expected="at least one file or folder",
            got="none",
            fix="Name images or folders of images, for example --memory drawings/.",
        )
    config = model.config
    images, names, _ = read_image_files(
        paths, image_shape=config.image_shape, binary=config.likelihood == "bernoulli"
    )
    return images.to(model.device), names


def write_user_images(model: MemoryModel[State], paths: Sequence[Path]) -> tuple[State, int]:
    """Write files and folders; returns the memory and how many images are in it.

    Without any path the memory is the learned prior.
    """
    if not paths:
        print("no --memory: the memory is the learned prior, nothing was written", file=sys.stderr)
        return model.prior_memory(), 0
    images, names = read_user_images(model, paths)
    return model.write(images), len(names)


def check_output(path: Path, *inputs: Path) -> None:
    """Refuse an output that is not a picture, or that would overwrite one of the inputs."""
    if path.suffix.lower() not in (".png", ".gif"):
        raise KanervaError(
            "--out",
            expected="a file name that ends in .png or .gif",
            got=f"'{path}'",
            fix="Use .png for one picture with all rows, or .gif for an animation.",
        )
    here = path.resolve()
    if path.exists() and any(place.resolve() in (here, *here.parents) for place in inputs):
        raise KanervaError(
            "--out",
            expected="a file that is not one of the images to be read",
            got=f"'{path}'",
            fix="Name another file, or a file in another folder.",
        )


def save_picture(path: Path, rows: Mapping[str, Tensor]) -> None:
    """Save rows of images: as one picture (.png), or each as a frame of an animation (.gif)."""
    from kanerva.atomic import write_atomically
    from kanerva.rendering.image_grid import animation, image_grid, png

    still = path.suffix.lower() == ".png"
    write_atomically(path, png(image_grid(rows)) if still else animation(rows))
