"""How much a memory holds: the bound against the length of episodes (fig. capacity)."""

from collections.abc import Sequence

from kanerva.data import Dataset
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.model import Model

LENGTHS = (16, 32, 64, 100, 150, 200, 300)
"""Items in an episode. The paper trains with 32 and measures up to 200."""
CLASS_COUNTS = (2, 12, None)
"""Classes that the items of an episode come from; None means all. With fewer classes the items
are more alike."""


def measure_capacity(
    model: Model,
    dataset: Dataset,
    *,
    num_episodes: int,
    lengths: Sequence[int] = LENGTHS,
    class_counts: Sequence[int | None] = CLASS_COUNTS,
) -> dict[str, list[dict[str, float | None]]]:
    """Measure the bound for each number of classes at every episode length.

    Returns:
        For each number of classes, "2", "12" or "all", the fields of an `Evaluation` for each
        length, ready for JSON.

    """
    return {
        "all" if num_classes is None else str(num_classes): [
            evaluate(
                model,
                dataset,
                num_episodes=num_episodes,
                episode_length=length,
                num_classes=num_classes,
                batch_size=max(1, 1600 // length),
            )._asdict()
            for length in lengths
        ]
        for num_classes in class_counts
    }
