"""Options that several commands share, and their checks. Importing this does not load torch."""

from typing import Literal

from kanerva.checks import check_integer
from kanerva.errors import KanervaError

Damage = Literal[
    "block12",
    "erase12",
    "salt",
    "half",
    "none",
    "invert12",
    "salt20",
    "flip10",
    "rotate15",
    "shift2",
    "shift3",
    "scale20",
    "thin",
    "thick",
    "line",
    "scribble",
]
"""The same words as `kanerva.data.damage.Damage`, which cannot be imported without torch."""


MAX_READINGS = 1000
MAX_IMAGES = 10_000
"""The most images that a command makes, and the most items of an episode."""
MAX_EPISODES = 1_000_000


def check_seed(seed: int) -> None:
    """Refuse what cannot be the seed of a random generator."""
    check_integer(
        "--seed",
        seed,
        at_least=0,
        at_most=2**63 - 1,
        fix="Use a small number such as 0; seeds end below 2^63.",
    )


def choose_device(device: str | None) -> str:
    """The device that was asked for, if it works; by default a GPU if there is one."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.empty(0, device=device).device.type
        problem = "" if kind in ("cpu", "cuda") else "kanerva was never tried on it"
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        problem = str(error).splitlines()[0][:100]
    if problem:
        raise KanervaError(
            "--device",
            expected="cpu, or cuda on a machine with a GPU",
            got=f"'{device}' ({problem})",
            fix="Use --device cpu, or run without --device to use a GPU if there is one.",
        )
    return device
