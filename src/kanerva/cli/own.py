"""What the commands on a person's own files share: the model, the images, the picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanerva.cli.options import choose_device
from kanerva.errors import KanervaError

if TYPE_CHECKING:
    from torch import Tensor

    from kanerva.memory import MemoryState
    from kanerva.models.remember import Remembering


def load_remembering(
    checkpoint: str, device: str | None = None
) -> tuple[Remembering, dict[str, Any]]:
    """A model that has a memory, and its card."""
    from kanerva.models.checkpoint import load_with_card
    from kanerva.models.remember import Remembering

    model, card = load_with_card(checkpoint, device=choose_device(device))
    if not isinstance(model, Remembering):
        raise KanervaError(
            "checkpoint",
            expected="a model with a memory",
            got=f"{checkpoint}, a VAE",
            fix="Name a Kanerva Machine, for example omniglot.",
        )
    return model, card


def images_of(model: Remembering, places: Sequence[Path]) -> tuple[Tensor, list[str]]:
    """Files and folders as images on the model's device, and their names."""
    from kanerva.data.user_images import read_images

    config = model.config
    binary = config.likelihood == "bernoulli"
    if not places:
        raise KanervaError(
            "--memory",
            expected="at least one file or folder",
            got="none",
            fix="Name images, for example --memory drawings/.",
        )
    images, names = read_images(places, image_shape=config.image_shape, binary=binary)
    return images.to(next(model.parameters()).device), names


def memory_of(model: Remembering, places: Sequence[Path]) -> tuple[MemoryState, int]:
    """A memory of these files and how many images they were; of none, the prior."""
    if not places:
        print("no --memory: reading the prior, which has seen nothing", file=sys.stderr)
        return model.prior_memory(), 0
    images, names = images_of(model, places)
    return model.write(images), len(names)


def check_out(path: Path, *inputs: Path) -> None:
    """Before any work is done; `inputs` are the files and folders to be read."""
    if path.suffix.lower() not in (".png", ".gif"):
        raise KanervaError(
            "--out",
            expected="a file name that ends in .png or .gif",
            got=f"'{path}'",
            fix="A .gif moves, a .png shows all at once.",
        )
    here = path.resolve()
    if path.exists() and any(place.resolve() in (here, *here.parents) for place in inputs):
        raise KanervaError(
            "--out",
            expected="a picture of its own",
            got=f"'{path}', one of the images to be read",
            fix="Name another file.",
        )


def save_rows(path: Path, rows: dict[str, Tensor]) -> None:
    """All rows as one picture, or each as a frame of a film."""
    from kanerva.atomic import write_atomically
    from kanerva.evaluation.sheet import film, png, sheet

    still = path.suffix.lower() == ".png"
    write_atomically(path, png(sheet(rows)) if still else film(rows))
