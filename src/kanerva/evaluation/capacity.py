"""How much a memory holds: the bound against the length of episodes (fig. capacity)."""

from collections.abc import Sequence
from typing import Any

from kanerva.data import Dataset
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.model import Model

LENGTHS = (16, 32, 64, 100, 150, 200, 300)
"""The paper trains with 32 and goes up to 200."""
CLASSES = (2, 12, None)
"""Of which an episode's items come; None: of all. Fewer classes are more alike."""


def measure_capacity(
    model: Model,
    dataset: Dataset,
    *,
    episodes: int,
    lengths: Sequence[int] = LENGTHS,
    classes: Sequence[int | None] = CLASSES,
) -> dict[str, list[dict[str, Any]]]:
    """For each number of classes, the bound and its standard error at every length."""
    return {
        "all" if num_classes is None else str(num_classes): [
            evaluate(
                model,
                dataset,
                episodes=episodes,
                episode_length=length,
                num_classes=num_classes,
                batch=max(1, 1600 // length),
            )._asdict()
            for length in lengths
        ]
        for num_classes in classes
    }
