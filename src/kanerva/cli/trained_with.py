"""What a model was trained with, as the card in its file says."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kanerva.errors import KanervaError


class TrainedWith(NamedTuple):
    """The data that a model was trained with."""

    name: str
    """The name of a data set, or of a folder without the way to it."""
    source: str | None
    """The name of a known data set, or the absolute path of a folder; None in old cards."""
    binarisation: str | None
    episode_length: int
    split: str | None = None
    """The split that it was trained on."""
    checksum: str | None = None
    """The checksum of its images, where they come from a folder."""
    episode_classes: int | None = None
    """Classes of an episode; None for the whole split."""
    distinct: bool = False
    """Whether episodes were drawn without replacement."""

    @property
    def dataset(self) -> str:
        """What `load_dataset` needs to read the same data again.

        Another folder of the same name is never taken for the one that the model was trained on.
        """
        from kanerva.data import DATASETS

        source = self.source or self.name
        if source in DATASETS:
            return source
        if self.source is None:
            raise KanervaError(
                "--dataset",
                expected=f"the path of '{self.name}', on which this model was trained",
                got="none, and the model's file names the folder without its path",
                fix="Pass --dataset PATH.",
            )
        if not Path(source).is_dir():
            raise KanervaError(
                "--dataset",
                expected="the folder that this model was trained on",
                got=f"'{source}', where no folder is",
                fix="If it was moved, pass --dataset PATH.",
            )
        return source

    def is_dataset(self, dataset: str | None) -> bool:
        """Whether a data set of the user's choice has the name of the one trained on."""
        return dataset is None or Path(dataset).name == self.name

    def may_be_in(self, folder: str) -> bool:
        """Whether a folder may be the one trained on: it is that one, or that one is gone."""
        source = self.source or ""
        is_known = os.path.realpath(folder) == os.path.realpath(source)
        return os.path.isdir(folder) and (is_known or not os.path.isdir(source))


def trained_with(card: Mapping[str, object]) -> TrainedWith:
    """Read the card of a model; what it does not say is as in the paper."""
    name = card.get("dataset", "omniglot")
    source = card.get("source")
    binarisation = card.get("binarisation")
    episode_length = card.get("episode_length", 32)
    if (
        isinstance(name, str)
        and isinstance(source, str | None)
        and isinstance(binarisation, str | None)
        and isinstance(episode_length, int)
    ):
        split = str(card.get("trained_on", "")).partition(" ")[0]
        checksum = card.get("images_checksum")
        classes = card.get("episode_classes")
        return TrainedWith(
            name,
            source,
            binarisation,
            episode_length,
            split=split if split in ("train", "fit") else None,
            checksum=checksum if isinstance(checksum, str) else None,
            episode_classes=classes if isinstance(classes, int) else None,
            distinct=card.get("distinct") is True,
        )
    raise KanervaError(
        "checkpoint",
        expected="a card with dataset, source, binarisation and episode_length",
        got=f"{name!r}, {source!r}, {binarisation!r} and {episode_length!r}",
        fix="Copy the file again, or take an earlier checkpoint.",
    )


def say_changes(trained: TrainedWith, dataset: str | None) -> None:
    """Say so if the folder of images is not as it was when the model was trained on it."""
    from kanerva.cli.terminal import say
    from kanerva.data import load_dataset
    from kanerva.training.prepare import images_checksum

    if trained.checksum is None or trained.split is None:
        return
    if dataset is not None and not trained.may_be_in(dataset):
        return
    folder = dataset or trained.dataset
    binarisation = None if trained.binarisation == "none" else trained.binarisation
    now = load_dataset(folder, trained.split, binarisation=binarisation, show_progress=False)
    if images_checksum(now) != trained.checksum:
        say(
            f"note: the images in '{folder}' are not as they were when the model was trained; some "
            "that are evaluated here may have been trained on"
        )
