"""The records of a sweep, as figures read them: runs, their curves, and what was measured."""

from dataclasses import dataclass

from kanerva.errors import KanervaError
from kanerva.figures.saved_json import SavedJson

SCHEMA = 2


@dataclass(frozen=True)
class Measurement:
    """What an evaluation found, in nats per image."""

    bound: float
    stderr: float
    reconstruction: float
    kl_address: float
    kl_code: float
    episode_length: int

    @property
    def kl(self) -> float:
        """Both KL terms together."""
        return self.kl_address + self.kl_code

    @classmethod
    def parse(cls, saved: SavedJson) -> "Measurement":
        """Read the fields of an evaluation."""
        return cls(
            bound=saved["bound"].number(),
            stderr=saved["stderr"].number(),
            reconstruction=saved["reconstruction"].number(),
            kl_address=saved["kl_address"].number(),
            kl_code=saved["kl_code"].number(),
            episode_length=saved["episode_length"].integer(),
        )


@dataclass(frozen=True)
class CurvePoint:
    """A measurement on held-out images while training."""

    step: int
    held_out: Measurement


@dataclass(frozen=True)
class Record:
    """One run of a sweep. Its label and its seed identify it."""

    label: str
    seed: int
    recipe: str
    final: Measurement
    curve: tuple[CurvePoint, ...]

    @classmethod
    def parse(cls, saved: SavedJson) -> "Record":
        """Read one run. Rows of its curve without a measurement are left out."""
        rows = [(row, row.get("held_out")) for row in saved["curve"].parts()]
        return cls(
            label=saved["label"].text(),
            seed=saved["seed"].integer(),
            recipe=saved["recipe"].text(),
            final=Measurement.parse(saved["final"]),
            curve=tuple(
                CurvePoint(row["step"].integer(), Measurement.parse(held_out))
                for row, held_out in rows
                if held_out is not None
            ),
        )


@dataclass(frozen=True)
class Sweep:
    """The runs of a plan."""

    runs: tuple[Record, ...]
    best: dict[str, str]
    """For each recipe that was tried with several settings, the label of the chosen one."""
    capacity: dict[str, dict[str, tuple[Measurement, ...]]]
    """For each label and each number of classes, measurements at several episode lengths."""

    @classmethod
    def parse(cls, saved: SavedJson) -> "Sweep":
        """Read the file of a sweep."""
        schema = saved.get("schema")
        if schema is None or schema.value != SCHEMA:
            raise KanervaError(
                "--results",
                expected=f'"schema": {SCHEMA}, as kanerva sweep and kanerva compare write it',
                got=f"{'none' if schema is None else schema.value} in '{saved.file}'",
                fix="Run the sweep again with this version of kanerva.",
            )
        best, capacity = saved.get("best"), saved.get("capacity")
        return cls(
            runs=tuple(Record.parse(run) for run in saved["runs"].parts()),
            best={key: label.text() for key, label in best.entries().items()} if best else {},
            capacity={
                label: {
                    num_classes: tuple(Measurement.parse(row) for row in rows.parts())
                    for num_classes, rows in curves.entries().items()
                }
                for label, curves in capacity.entries().items()
            }
            if capacity
            else {},
        )

    @property
    def labels(self) -> list[str]:
        """The labels of all runs, each once, in order."""
        return list(dict.fromkeys(run.label for run in self.runs))

    def seeds(self, name: str) -> list[Record]:
        """The runs of a label, or of the setting that was chosen for a recipe of that name."""
        label = self.best.get(name, name)
        return [run for run in self.runs if run.label == label]

    def of_recipe(self, recipe: str) -> dict[str, list[Record]]:
        """The runs of a recipe, by their labels."""
        labels = dict.fromkeys(run.label for run in self.runs if run.recipe == recipe)
        return {label: self.seeds(label) for label in labels}
