"""Plans as JSON files. The keys are those of `kanerva.training.plan.Plan`.

    {
     "what": "The omniglot recipe from six seeds, and a slower VAE from one",
     "split": "train", "monitor": "test", "report": "test",
     "num_evaluations": 18, "episodes": 1000,
     "runs": [
      {"label": "omniglot", "recipe": "omniglot", "seeds": [0, 1, 2, 3, 4, 5]},
      {"label": "slow VAE", "recipe": "omniglot-vae", "seed": 0, "changes": {"training.lr": 1e-4}}
     ],
     "alone": [{"label": "omniglot", "seed": 0}],
     "race": {"label": "omniglot", "seed": 0, "below": 68.3},
     "capacity": [{"label": "omniglot", "seed": 0}],
     "keep": [{"label": "omniglot", "seed": 0, "name": "omniglot"}]
    }

Only "what" and "runs" are required, and of a run only "label" and "recipe". Nothing here imports
torch.
"""

import json
import re
from pathlib import Path
from typing import cast, get_args

from kanerva.checks import check_one_of
from kanerva.errors import KanervaError
from kanerva.training.changes import with_changes
from kanerva.training.config import HeldOutSplit, TrainSplit
from kanerva.training.json_object import JSONObject, as_integer
from kanerva.training.plan import KeptModel, Plan, PlannedRun, Race, RunId
from kanerva.training.recipes import RECIPES

KEYS = (
    *("what", "split", "monitor", "report", "num_evaluations", "episodes"),
    *("runs", "alone", "race", "capacity", "keep"),
)
SET_ELSEWHERE = {
    "data.split": 'Use the key "split" of the plan.',
    "data.monitor": 'Use the key "monitor" of the plan.',
    "training.seed": 'Use the key "seed" or "seeds" of the run.',
}
"""Settings that a plan has other keys for."""


def read_plan(path: Path, *, compiled: bool = False, steps: int | None = None) -> Plan:
    """The plan of a JSON file; arguments as for `parse_plan`."""
    from kanerva.data.paths import check_plain_file  # imports torch

    check_plain_file("plan", path, expected="a JSON file")
    try:
        contents = json.loads(path.read_text())
    except OSError as error:
        raise KanervaError(
            "plan",
            expected="a JSON file",
            got=f"'{path}': {(error.strerror or str(error)).lower()}",
            fix="See experiments/plans for examples.",
        ) from None
    except (ValueError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        problem = "thousands of brackets inside each other" if is_deep else error
        raise KanervaError(
            "plan",
            expected="a JSON file",
            got=f"{problem} in '{path}'",
            fix="Mend that place; `python -m json.tool PLAN` shows it, too.",
        ) from None
    return parse_plan(contents, compiled=compiled, steps=steps)


def parse_plan(contents: object, *, compiled: bool = False, steps: int | None = None) -> Plan:
    """The plan that the contents of a JSON file describe.

    Args:
        contents: what `json.loads` gave.
        compiled: compile the steps of runs that do not say otherwise (for a GPU).
        steps: train every run for this many steps instead of its own, to try a plan out.

    Raises:
        KanervaError: one clear line about the first mistake, with its place in the file.

    Example:
        >>> from kanerva.training.plan_file import parse_plan
        >>> runs = [{"label": "small", "recipe": "tiny", "seeds": [0, 1]}]
        >>> plan = parse_plan({"what": "Two seeds", "runs": runs})
        >>> [run.id.seed for run in plan.runs]
        [0, 1]

    """
    plan = JSONObject(contents, place="", keys=KEYS)
    split = cast(TrainSplit, plan.one_of("split", get_args(TrainSplit), "train"))
    monitor = cast(HeldOutSplit, plan.one_of("monitor", get_args(HeldOutSplit), "test"))
    here: dict[str, object] = {"data.split": split, "data.monitor": monitor}
    crowded = plan.has("num_evaluations")
    runs: list[PlannedRun] = []
    for place, entry in plan.items("runs"):
        runs += _parse_runs(entry, place, here, crowded, compiled=compiled, steps=steps)
    return Plan(
        what=plan.text("what"),
        split=split,
        monitor=monitor,
        report=cast(HeldOutSplit, plan.one_of("report", get_args(HeldOutSplit), monitor)),
        runs=tuple(runs),
        num_evaluations=plan.integer("num_evaluations", at_least=1, fix="Use 16, for example.")
        if crowded
        else None,
        episodes=plan.integer("episodes", at_least=1, fix="Use 1000.", default=1000),
        alone=tuple(_parse_id(entry, place) for place, entry in plan.items("alone")),
        race=_parse_race(plan.require("race")) if plan.has("race") else None,
        capacity=tuple(_parse_id(entry, place) for place, entry in plan.items("capacity")),
        keep=tuple(_parse_kept(entry, place) for place, entry in plan.items("keep")),
    )


def _parse_runs(
    entry: object,
    place: str,
    here: dict[str, object],
    crowded: bool,
    *,
    compiled: bool,
    steps: int | None,
) -> list[PlannedRun]:
    """One entry of "runs": a run for each of its seeds."""
    run = JSONObject(entry, place=place, keys=("label", "recipe", "seed", "seeds", "changes"))
    label, recipe = run.text("label"), run.text("recipe")
    check_one_of(run.named("recipe"), recipe, RECIPES)
    changes = dict(run.mapping("changes"))
    elsewhere = dict(SET_ELSEWHERE)
    if crowded:
        elsewhere["training.eval_every"] = 'Leave "num_evaluations" out to use it.'
    for setting in elsewhere.keys() & changes.keys():
        raise KanervaError(
            f"{place}.changes",
            expected="settings that the plan has no other key for",
            got=repr(setting),
            fix=elsewhere[setting],
        )
    all_changes = {"training.compile": compiled, **changes, **here}
    if steps is not None:
        all_changes["training.steps"] = steps
    runs = []
    for seed in _parse_seeds(run):
        try:
            config = with_changes(RECIPES[recipe], {**all_changes, "training.seed": seed})
        except KanervaError as error:
            raise KanervaError(
                f"{place}.changes, {error.argument}",
                expected=error.expected,
                got=error.got,
                fix=error.fix,
            ) from None
        runs.append(PlannedRun(id=RunId(label, seed), recipe=recipe, config=config))
    return runs


def _parse_seeds(run: JSONObject) -> list[int]:
    if not run.has("seeds"):
        return [_parse_seed(run)]
    if run.has("seed"):
        raise KanervaError(
            run.named("seeds"),
            expected='"seed" or "seeds"',
            got="both",
            fix='Add the number to "seeds".',
        )
    places = run.items("seeds")
    if not places:
        raise KanervaError(
            run.named("seeds"), expected="at least one seed", got="none", fix="Write [0]."
        )
    return [
        as_integer(seed, place=place, at_least=0, fix="Use 0, 1, 2, ...") for place, seed in places
    ]


def _parse_seed(entry: JSONObject) -> int:
    return entry.integer("seed", at_least=0, fix="Use 0, 1, 2, ...", default=0)


def _parse_id(entry: object, place: str) -> RunId:
    run = JSONObject(entry, place=place, keys=("label", "seed"))
    return RunId(run.text("label"), _parse_seed(run))


def _parse_race(entry: object) -> Race:
    race = JSONObject(entry, place="race", keys=("label", "seed", "below"))
    below = race.number("below", fix="Use a bound in nats: the paper's on Omniglot is 68.3.")
    return Race(run=RunId(race.text("label"), _parse_seed(race)), below=below)


def _parse_kept(entry: object, place: str) -> KeptModel:
    kept = JSONObject(entry, place=place, keys=("label", "seed", "name"))
    name = kept.text("name")
    if not re.fullmatch(r"[\w.-]+", name):
        raise KanervaError(
            kept.named("name"),
            expected="letters, digits, dots, hyphens and underscores",
            got=repr(name),
            fix="It becomes a file name: write omniglot-seed-1, for example.",
        )
    return KeptModel(run=RunId(kept.text("label"), _parse_seed(kept)), name=name)
