"""What a model was trained with, as the card in its file says."""

from collections.abc import Mapping
from typing import NamedTuple

from kanerva.errors import KanervaError


class TrainedWith(NamedTuple):
    """The data that a model was trained with."""

    dataset: str
    binarisation: str | None
    episode_length: int


def trained_with(card: Mapping[str, object]) -> TrainedWith:
    """Read the card of a model; what it does not say is as in the paper."""
    dataset = card.get("dataset", "omniglot")
    binarisation = card.get("binarisation")
    episode_length = card.get("episode_length", 32)
    if (
        isinstance(dataset, str)
        and isinstance(binarisation, str | None)
        and isinstance(episode_length, int)
    ):
        return TrainedWith(dataset, binarisation, episode_length)
    raise KanervaError(
        "checkpoint",
        expected="a card with dataset, binarisation and episode_length",
        got=f"{dataset!r}, {binarisation!r} and {episode_length!r}",
        fix="Copy the file again, or take an earlier checkpoint.",
    )
