"""Everything that figures are drawn from: the files of a results folder, parsed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kanerva.figures.draw import ErrorCurve
from kanerva.figures.records import Record, Sweep
from kanerva.figures.saved_json import SavedJson

Rows = dict[str, NDArray[np.float64]]
"""Images (N, channels, H, W) for each label."""


class MissingResultError(Exception):
    """A figure cannot be drawn, because a file or a part of it is not there."""


@dataclass(frozen=True)
class Denoising:
    """What `kanerva denoise` measured."""

    num_episodes: int
    cue_error: float
    errors: tuple[float, ...]
    """After each reading."""

    @property
    def falls(self) -> bool:
        """Whether the first reading repairs something, and the third more than the first."""
        return min(self.errors[:3][-1:], default=1.0) < self.errors[0] < self.cue_error


@dataclass(frozen=True)
class Recall:
    """What came back for one kind of damage, from a memory and from two other methods."""

    num_episodes: int
    cue_error: float
    error: float
    """After the last reading."""
    recognised: float
    """Share of cues whose reading is nearest to its own original."""
    nearest_error: float
    nearest_recognised: float
    hopfield_error: float
    hopfield_recognised: float


@dataclass(frozen=True)
class Shares:
    """Shares of samples in the written classes, after each number of readings."""

    means: tuple[float, ...]
    stderrs: tuple[float, ...]


@dataclass(frozen=True)
class SampleClasses:
    """How many samples a classifier puts into the classes that were written."""

    readings: tuple[int, ...]
    classifier_accuracy: float
    shares: dict[str, dict[str, Shares]]
    """For each number of classes: of kanerva, of vae, and of real images."""


@dataclass(frozen=True)
class Reconstruction:
    """Images that were written, the same images read, and the weights that read them."""

    written: NDArray[np.float64]
    read: NDArray[np.float64]
    weights: list[list[float]]
    rows_used: float
    rows_used_stderr: float


@dataclass(frozen=True)
class Results:
    """The files of a results folder."""

    files: dict[str, SavedJson]
    """By their names without .json."""

    @classmethod
    def load(cls, folder: Path) -> "Results":
        """Read every JSON file of a folder."""
        return cls({file.stem: SavedJson.read(file) for file in sorted(folder.glob("*.json"))})

    def sweep(self, name: str) -> Sweep:
        """The runs of a sweep."""
        return Sweep.parse(self._file(name))

    def comparison(self) -> Sweep:
        """The sweep of several memories: the one with six seeds of each, if it is there."""
        return self.sweep("compare-six" if "compare-six" in self.files else "compare")

    def seeds(self, name: str, label: str) -> list[Record]:
        """The runs of a label in a sweep, or of the setting chosen for a recipe."""
        found = self.sweep(name).seeds(label)
        if not found:
            raise MissingResultError(f"runs of {label} in {name}.json")
        return found

    def denoising(self, name: str = "denoise") -> Denoising:
        """How far readings repair damaged images."""
        saved = self._file(name)
        return Denoising(
            num_episodes=saved["episodes"].integer(),
            cue_error=saved["cue_error"].number(),
            errors=_numbers(saved["errors"]),
        )

    def recall_by_damage(self) -> dict[str, Recall]:
        """For each kind of damage, what `experiments/recall.py` measured."""
        saved = self._file("recall_report").get("damages")
        if saved is None:
            raise MissingResultError("damages in recall_report.json")
        return {
            kind: Recall(
                num_episodes=row["episodes"].integer(),
                cue_error=row["cue_error"].number(),
                error=_numbers(row["errors"])[-1],
                recognised=row["recognised"].number(),
                nearest_error=row["nearest_error"].number(),
                nearest_recognised=row["nearest_recognised"].number(),
                hopfield_error=row["hopfield_error"].number(),
                hopfield_recognised=row["hopfield_recognised"].number(),
            )
            for kind, row in saved.entries().items()
            if kind != "what"
        }

    def inside_of_memories(self) -> list[ErrorCurve]:
        """Bounds of more models at several episode lengths, if they were measured."""
        if "capacity" not in self.files:
            return []
        models = self.files["capacity"]["models"].entries()
        return [
            ErrorCurve(
                "shipped model" if name == "omniglot" else name,
                "all",
                [row["items"].number() for row in rows.parts()],
                [row["bound"].number() for row in rows.parts()],
                [row["stderr"].number() for row in rows.parts()],
            )
            for name, rows in models.items()
        ]

    def sample_classes(self) -> SampleClasses:
        """How many samples are in the written classes."""
        saved = self._file("samples")
        return SampleClasses(
            readings=tuple(reading.integer() for reading in saved["readings"].parts()),
            classifier_accuracy=saved["classifier_accuracy"].number(),
            shares={
                num_classes: {
                    name: Shares(_numbers(parts[name]["mean"]), _numbers(parts[name]["stderr"]))
                    for name in ("kanerva", "vae", "real")
                }
                for num_classes, parts in saved["classes"].entries().items()
            },
        )

    def reconstruction(self, data_set: str) -> Reconstruction:
        """Images, and the weights that read them."""
        saved = self._figure_images(data_set, "reconstruction")
        return Reconstruction(
            written=saved["written"].images(),
            read=saved["read"].images(),
            weights=[list(_numbers(row)) for row in saved["weights"].parts()],
            rows_used=saved["rows_used"].number(),
            rows_used_stderr=saved["rows_used_stderr"].number(),
        )

    def image_rows(self, data_set: str, *keys: str) -> Rows:
        """Labelled rows of images, for example those of ("repair",) or ("samples", "4")."""
        saved = self._figure_images(data_set, *keys)
        rows = {label: row.images() for label, row in saved.entries().items()}
        if not rows:
            raise MissingResultError(f"{' '.join((data_set, *keys))} in figure_images.json")
        return rows

    def _figure_images(self, data_set: str, *keys: str) -> SavedJson:
        saved = self._file("figure_images")
        for key in (data_set, *keys):
            found = saved.get(key)
            if found is None:
                raise MissingResultError(f"{' '.join((data_set, *keys))} in figure_images.json")
            saved = found
        return saved

    def _file(self, name: str) -> SavedJson:
        if name not in self.files:
            raise MissingResultError(f"{name}.json")
        return self.files[name]


def _numbers(saved: SavedJson) -> tuple[float, ...]:
    return tuple(part.number() for part in saved.parts())
