"""Trainings that diverge: how this is noticed, and what the user can do."""

from kanerva.errors import KanervaError
from kanerva.training.config import TrainingConfig

LONGEST_SKIP = 100
"""Steps in a row without a finite gradient after which nothing can become better: Adam has
forgotten all it knew, so the parameters stand still."""


class DivergedError(KanervaError):
    """A training lost its way; its parameters are useless from here on.

    Args:
        config: how the model was trained.
        step: steps that were made.
        reason: how it was noticed.

    """

    def __init__(self, config: TrainingConfig, *, step: int, reason: str) -> None:
        super().__init__(
            "the training diverged",
            expected="a finite loss",
            got=f"none after step {step:,} ({reason})",
            fix="Start it again in another folder, with a lower --training.lr "
            f"({config.lr:g} here; try {config.lr / 10:g}) or a longer --training.warmup "
            f"({config.warmup} here; try {max(10 * config.warmup, 10)}).",
        )


class SkipCounter:
    """Counts steps in a row that were skipped because their gradient was not finite."""

    def __init__(self, step: int) -> None:
        self.num_skipped = 0
        self._last_step = step

    def note(self, step: int, *, skipped: float) -> bool:
        """Note the share of steps that were skipped since the last call, at this step.

        Returns:
            Whether it is hopeless.

        """
        num_steps = step - self._last_step
        self._last_step = step
        self.num_skipped = self.num_skipped + num_steps if skipped == 1 else 0
        return self.num_skipped >= LONGEST_SKIP
