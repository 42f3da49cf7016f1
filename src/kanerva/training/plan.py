"""Plans: which runs a sweep trains, and what it measures.

Nothing here imports torch. `read_plan` in `plan_file` makes a plan of a JSON file.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kanerva.checks import check_integer, nearest
from kanerva.errors import KanervaError
from kanerva.training.config import Config, HeldOutSplit, TrainSplit


class RunId(NamedTuple):
    """The identity of a run within a plan."""

    label: str
    """What its settings are called. Runs that differ only in their seeds share it."""
    seed: int

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{re.sub(r'[^a-z0-9.]+', '-', self.label.lower()).strip('-')}-seed-{self.seed}"

    def __str__(self) -> str:
        """For people to read; nothing takes it apart again."""
        return f"{self.label}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of a plan."""

    id: RunId
    recipe: str
    config: Config


@dataclass(frozen=True, kw_only=True)
class Race:
    """Train a run alone, before the others, until its monitored bound is below a number."""

    run: RunId
    below: float


@dataclass(frozen=True, kw_only=True)
class KeptModel:
    """Save the model of a run as NAME.safetensors."""

    run: RunId
    name: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The runs of a sweep, and what is measured."""

    what: str
    """What the sweep is about, in one sentence."""
    split: TrainSplit = "train"
    """Split that all runs train on: train, or fit to choose settings."""
    monitor: HeldOutSplit = "test"
    """Split that is evaluated while training."""
    report: HeldOutSplit = "test"
    """Split of the final numbers. If it is not the monitored one, the settings with the best
    monitored bound are named for each recipe, and their models are kept."""
    runs: tuple[PlannedRun, ...]
    num_evaluations: int | None = None
    """Evaluations of each run while it trains. The n-th of N comes after (n / N)^2 of its steps, so
    that they crowd where curves are steep. By default they come every `training.eval_every` steps
    of the recipe."""
    episodes: int = 1000
    """Episodes of each final number. Points of capacity curves take a tenth of them."""
    alone: tuple[RunId, ...] = ()
    """Runs whose time for a step is measured with the device to themselves."""
    race: Race | None = None
    capacity: tuple[RunId, ...] = ()
    """Runs whose bound is measured at many episode lengths. One seed for each label."""
    keep: tuple[KeptModel, ...] = ()

    def __post_init__(self) -> None:
        check_integer("episodes", self.episodes, fix="Use 1000 for numbers to report.")
        if self.num_evaluations is not None:
            check_integer("num_evaluations", self.num_evaluations, fix="Use 16, for example.")
        if not self.runs:
            raise KanervaError(
                "runs",
                expected="at least one run",
                got="none",
                fix='Add one: {"label": "tiny", "recipe": "tiny"}.',
            )
        ids = [run.id for run in self.runs]
        _check_unique("runs", map(str, ids), fix="Give it another label or seed.")
        _check_unique("runs", (id.folder for id in ids), fix="Use labels that differ in letters.")
        _check_unique("capacity", (id.label for id in self.capacity), fix="Keep one of its seeds.")
        _check_unique("keep", self.kept_names(), fix="Give the models different names.")
        for key, id in self._mentioned():
            if id not in ids:
                raise KanervaError(
                    key,
                    expected="a run of the plan",
                    got=str(id),
                    fix=nearest(id, map(str, ids)) or f"Use one of: {'; '.join(map(str, ids))}.",
                )
        self._check_one_dataset()

    @property
    def chooses(self) -> bool:
        """Whether settings are chosen by the monitored split."""
        return self.report != self.monitor

    def evaluation_steps(self, config: Config) -> list[int] | None:
        """The steps at which a run is evaluated; None for every `training.eval_every` steps."""
        if self.num_evaluations is None:
            return None
        shares = ((n / self.num_evaluations) ** 2 for n in range(1, self.num_evaluations + 1))
        steps = {round(config.training.steps * share) for share in shares}
        return sorted(steps - {0})

    def kept_names(self) -> list[str]:
        """File names, without their ending, of the models that are kept."""
        chosen = list(dict.fromkeys(run.recipe for run in self.runs)) if self.chooses else []
        return [*(kept.name for kept in self.keep), *chosen]

    def _mentioned(self) -> Iterable[tuple[str, RunId]]:
        yield from (("alone", id) for id in self.alone)
        yield from (("capacity", id) for id in self.capacity)
        yield from (("keep", kept.run) for kept in self.keep)
        if self.race is not None:
            yield "race", self.race.run

    def _check_one_dataset(self) -> None:
        """All runs share the images in the memory of one device."""
        first, *others = (run.config.data for run in self.runs)
        for setting in ("name", "binarisation"):
            values = {getattr(data, setting) for data in (first, *others)}
            if len(values) > 1:
                raise KanervaError(
                    f"data.{setting}",
                    expected="the same for all runs of a plan",
                    got=" and ".join(sorted(map(str, values))),
                    fix="Make a plan for each.",
                )


def _check_unique(key: str, names: Iterable[str], *, fix: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise KanervaError(
            key, expected="each entry once", got=f"{repeated[0]!r} more than once", fix=fix
        )
