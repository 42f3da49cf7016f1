"""Which of the shipped models the playground uses, unless it is told another one."""

from collections.abc import Sequence

from kanerva.models.checkpoint import SHIPPED

RECALL = ("handwriting", "omniglot")
"""Models for writing and reading, the preferred one first."""
SAMPLES = ("fewshot", "omniglot")
"""Models for new images, the preferred one first."""


def first_shipped(names: Sequence[str]) -> str:
    """The first of the names that is a model of this package."""
    return next(name for name in names if name in SHIPPED)
