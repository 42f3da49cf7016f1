"""Checks of options that several commands share."""

from pathlib import Path
from typing import Literal

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
