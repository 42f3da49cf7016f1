"""What the commands on a user's own images share: reading and writing them, and the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kanerva.cli.terminal import say

if TYPE_CHECKING:
    from torch import Tensor

    from kanerva.data.user_images import UserImages
    from kanerva.models.memory_model import MemoryModel
    from kanerva.models.model import Model

State = TypeVar("State")


NUM_COLUMNS = 16
"""Images side by side in a picture; more of them begin a new block of rows."""


def read_user_images(model: Model, paths: Sequence[Path]) -> UserImages:
    """Read files and folders as images that fit a model, on its device."""
    from kanerva.data.user_images import read_image_files

    config = model.config
    found = read_image_files(
        paths, image_shape=config.image_shape, binary=config.likelihood == "bernoulli"
    )
    return found._replace(images=found.images.to(model.device))


def write_user_images(
    model: MemoryModel[State], paths: Sequence[Path] | None
) -> tuple[State, UserImages | None]:
    """Write files and folders; returns the memory, and what was written.

    Without any path the memory is the learned prior.
    """
    if not paths:
        return model.prior_memory(), None
    found = read_user_images(model, paths)
    return model.write(found.images), found


def say_skipped(*found: UserImages | None) -> list[str]:
    """List the files that were skipped; one line on stderr says how many they are."""
    from kanerva.data.folder_contents import skipped_in_words

    skipped = sorted({file for images in found if images for file in images.skipped})
    if skipped:
        say(skipped_in_words("the folders", skipped))
    return skipped


def save_picture(path: Path, rows: Mapping[str, Tensor]) -> None:
    """Save rows of images: as one picture (.png), or each as a frame of an animation (.gif)."""
    from kanerva.atomic import write_atomically
    from kanerva.rendering.image_grid import animation, image_grid, png, stacked

    if path.suffix.lower() == ".gif":
        write_atomically(path, animation(rows))
        return
    length = max(len(row) for row in rows.values())
    blocks = [
        image_grid({label: row[start : start + NUM_COLUMNS] for label, row in rows.items()})
        for start in range(0, length, NUM_COLUMNS)
    ]
    write_atomically(path, png(stacked(blocks)))
