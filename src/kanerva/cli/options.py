"""Checks of options that several commands share."""

import math
from pathlib import Path
from typing import Any, Literal

from kanerva.errors import KanervaError

Corruption = Literal["block12", "erase12", "salt", "half", "none"]
"""The kinds of `kanerva.data.damage`, which would take torch to import."""


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        raise KanervaError(
            "--seed",
            expected="a whole number from 0 to 2^63 - 1",
            got=str(seed),
            fix="Any small number will do.",
        )


def check_positive(option: str, value: int) -> None:
    if value < 1:
        raise KanervaError(
            option, expected="a whole number of at least 1", got=str(value), fix="Raise it."
        )


def check_picture(path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise KanervaError(
            "--picture",
            expected="a file name that ends in .png",
            got=f"'{path}'",
            fix="Name a file, for example runs/demo.png.",
        )


def choose_device(device: str | None) -> str:
    """What was asked for, if it is there; by default a GPU where there is one."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.empty(0, device=device).device.type
        problem = "" if kind in ("cpu", "cuda") else "not tried with kanerva"
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        problem = str(error).splitlines()[0][:100]
    if problem:
        raise KanervaError(
            "--device",
            expected="cpu, or cuda where there is a GPU",
            got=f"'{device}' ({problem})",
            fix="Leave it out to take what there is.",
        )
    return device


def in_json(value: Any) -> Any:
    """The same with None where JSON has no word for a number (infinite, or not a number)."""
    if isinstance(value, dict):
        return {key: in_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
