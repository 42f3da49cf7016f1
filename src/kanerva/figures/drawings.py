"""What a drawing is: a picture, what it shows in words, and a verdict about the paper's claim."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from matplotlib.figure import Figure
from PIL import Image

from kanerva.figures.draw import Curve
from kanerva.figures.records import Record
from kanerva.figures.results import Rows
from kanerva.rendering.image_json import images_to_json

NATS = "negative bound, nats per image"
SCALE = 4
"""Side of the square that a pixel becomes in a figure."""
OTHER_DATA = "the paper used Burda's copy of Omniglot, we the original drawings"
"""The note that stands next to every published number for Omniglot."""

Term = Literal["bound", "reconstruction", "kl", "kl_address", "kl_code"]


class Drawn(NamedTuple):
    """A figure, what it shows in words, its data as JSON can hold them, and a verdict."""

    figure: Figure | Image.Image
    ours: str
    data: Mapping[str, object]
    verdict: str
    """Whether what the paper claims with this figure is seen here, in a sentence or two."""


def curves_of(runs: Sequence[Record], term: Term) -> list[Curve]:
    """Steps and held-out values of each run."""
    return [
        (
            [point.step for point in run.curve],
            [getattr(point.held_out, term) for point in run.curve],
        )
        for run in runs
    ]


def final_bounds(runs: Sequence[Record]) -> str:
    """The lowest and the highest bound at the end, in words."""
    values = sorted((run.final.bound for run in runs), key=lambda nats: (math.isnan(nats), nats))
    if len(values) == 1:
        return f"{values[0]:.1f} nats"
    return f"{values[0]:.1f} to {values[-1]:.1f} nats over {len(values)} seeds"


def all_below(runs: Sequence[Record], others: Sequence[Record]) -> bool:
    """Whether the worst of some runs is better than the best of some others."""
    return max(run.final.bound for run in runs) < min(run.final.bound for run in others)


def dip(run: Record) -> float:
    """How far the total KL rises and then falls again while training, in nats."""
    kls = [point.held_out.kl for point in run.curve]
    return max(
        (min(top - min(kls[: n + 1]), top - min(kls[n:])) for n, top in enumerate(kls)), default=0.0
    )


def highest_kl(run: Record) -> float:
    """The highest total KL while training, in nats."""
    return max((point.held_out.kl for point in run.curve), default=0.0)


def rows_to_json(rows: Rows) -> dict[str, object]:
    """Images as JSON can hold them."""
    return {label: images_to_json(row) for label, row in rows.items()}
