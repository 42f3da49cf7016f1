"""Plans: the committed ones are good, mistakes are named; results files have one schema."""

import json
import os
from pathlib import Path

import pytest

from kanerva.errors import KanervaError
from kanerva.training.config import config_from_json
from kanerva.training.measure import best_runs
from kanerva.training.plan import Plan, RunId
from kanerva.training.plan_file import parse_plan, read_plan
from kanerva.training.records import SCHEMA, EvaluationRow, MetricsRow, RunRecord, SweepRecord

ROOT = Path(__file__).parent.parent
PLANS = sorted((ROOT / "experiments" / "plans").glob("*.json"))
RUN = {"label": "small", "recipe": "tiny"}


def plan(**keys: object) -> Plan:
    return parse_plan({"what": "a test", "runs": [RUN], **keys})


# -- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_committed_plans_are_good(path):
    parsed = read_plan(path, compiled=True)
    assert parsed.runs
    entries = json.loads(path.read_text())["runs"]
    uncompiled = [
        e["label"] for e in entries if e.get("changes", {}).get("training.compile") is False
    ]
    for run in parsed.runs:
        assert run.config.training.compile == (run.id.label not in uncompiled)
        assert run.config.training.seed == run.id.seed
        assert run.config.data.split == parsed.split
        assert run.config.data.monitor == parsed.monitor


def test_defaults():
    parsed = plan()
    (run,) = parsed.runs
    assert run.id == RunId("small", 0)
    assert (parsed.split, parsed.monitor, parsed.report) == ("train", "test", "test")
    assert (parsed.episodes, parsed.num_evaluations) == (1000, None)
    assert not parsed.chooses
    assert plan(split="fit", monitor="valid").report == "valid"


def test_seeds_and_changes():
    parsed = plan(
        runs=[
            {**RUN, "seeds": [3, 5], "changes": {"training.lr": 1e-4, "model.chunk": 2}},
            {"label": "no compiling", "recipe": "tiny", "changes": {"training.compile": False}},
        ]
    )
    assert [run.id for run in parsed.runs] == [("small", 3), ("small", 5), ("no compiling", 0)]
    assert [run.config.training.seed for run in parsed.runs] == [3, 5, 0]
    assert parsed.runs[0].config.training.lr == 1e-4
    again = parse_plan({"what": "x", "runs": [RUN]}, compiled=True, steps=7)
    assert again.runs[0].config.training.compile
    assert again.runs[0].config.training.steps == 7


def test_evaluations_crowd_at_the_beginning():
    parsed = plan(num_evaluations=4)
    (run,) = parsed.runs
    assert run.config.training.steps == 1500
    assert parsed.evaluation_steps(run.config) == [94, 375, 844, 1500]
    assert plan().evaluation_steps(run.config) is None


def test_folders_are_made_of_labels_and_seeds():
    assert RunId("LRUA lr 0.001, K 64", 2).folder == "lrua-lr-0.001-k-64-seed-2"
    assert str(RunId("LRUA", 2)) == "LRUA, seed 2"


TWO = [{"label": "a", "recipe": "tiny"}, {"label": "b", "recipe": "tiny"}]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"wath": 1}, ["wath", "Did you mean 'what'?"]),
        ({"what": ""}, ["what", "not empty"]),
        ({"what": None}, ["what", "Add 'what'"]),
        ({"runs": []}, ["runs", "at least one"]),
        ({"runs": {"a": 1}}, ["runs", "a list", "square brackets"]),
        ({"runs": ["tiny"]}, ["runs[0]", "an object", "str"]),
        ({"runs": [{"label": "a"}]}, ["runs[0].recipe", "Add 'recipe'"]),
        ({"runs": [{**RUN, "recipe": "tinny"}]}, ["runs[0].recipe", "Did you mean 'tiny'?"]),
        ({"runs": [{**RUN, "sed": 1}]}, ["runs[0].sed", "Did you mean 'seed'?"]),
        ({"runs": [{**RUN, "seed": -1}]}, ["runs[0].seed", "at least 0"]),
        ({"runs": [{**RUN, "seed": 0, "seeds": [1]}]}, ["runs[0].seeds", "both"]),
        ({"runs": [{**RUN, "seeds": []}]}, ["runs[0].seeds", "at least one seed"]),
        ({"runs": [{**RUN, "seeds": [0, "1"]}]}, ["runs[0].seeds[1]", "whole number"]),
        ({"runs": [RUN, RUN]}, ["runs", "'small, seed 0' more than once"]),
        (
            {"runs": [{**RUN, "label": "K 64"}, {**RUN, "label": "K-64"}]},
            ["runs", "'k-64-seed-0' more than once"],
        ),
        ({"runs": [{**RUN, "changes": [1]}]}, ["runs[0].changes", "an object"]),
        (
            {"runs": [{**RUN, "changes": {"training.lrr": 1}}]},
            ["runs[0].changes, training.lrr", "Did you mean 'training.lr'?"],
        ),
        (
            {"runs": [{**RUN, "changes": {"training.lr": -1.0}}]},
            ["runs[0].changes", "training.lr", "above 0", "-1"],
        ),
        (
            {"runs": [{"label": "a", "recipe": "omniglot-vae", "changes": {"model.num_rows": 8}}]},
            ["runs[0].changes, model.num_rows", "a VAE"],
        ),
        (
            {"runs": [{**RUN, "changes": {"training.seed": 1}}]},
            ["runs[0].changes", "'training.seed'", '"seeds"'],
        ),
        ({"runs": [{**RUN, "changes": {"data.split": "fit"}}]}, ["'data.split'", '"split"']),
        (
            {"runs": [{**RUN, "changes": {"training.eval_every": 1}}], "num_evaluations": 3},
            ["'training.eval_every'", '"num_evaluations"'],
        ),
        (
            {"runs": [RUN, {"label": "b", "recipe": "omniglot"}]},
            ["data.name", "glyphs and omniglot"],
        ),
        ({"split": "trian"}, ["split", "Did you mean 'train'?"]),
        ({"monitor": "train"}, ["monitor", "test, valid"]),
        ({"report": "fit"}, ["report", "test, valid"]),
        ({"num_evaluations": 0}, ["num_evaluations", "at least 1"]),
        ({"episodes": 1.5}, ["episodes", "whole number"]),
        ({"alone": [{"label": "smal"}]}, ["alone", "smal, seed 0", "small, seed 0"]),
        ({"capacity": [{"label": "small", "seed": 1}]}, ["capacity", "small, seed 1"]),
        (
            {
                "runs": [{**RUN, "seeds": [0, 1]}],
                "capacity": [{"label": "small"}, {"label": "small", "seed": 1}],
            },
            ["capacity", "'small' more than once"],
        ),
        ({"race": {"label": "small"}}, ["race.below", "Add 'below'"]),
        ({"race": {"label": "small", "below": "low"}}, ["race.below", "68.3"]),
        ({"keep": [{"label": "small"}]}, ["keep[0].name"]),
        ({"keep": [{"label": "small", "name": "a/b"}]}, ["keep[0].name", "a/b"]),
        (
            {"runs": TWO, "keep": [{"label": "a", "name": "x"}, {"label": "b", "name": "x"}]},
            ["keep", "'x' more than once"],
        ),
        (
            {"monitor": "valid", "report": "test", "keep": [{"label": "small", "name": "tiny"}]},
            ["keep", "'tiny' more than once"],
        ),
    ],
)
def test_bad_plans_are_one_clear_error(keys, words):
    with pytest.raises(KanervaError) as caught:
        plan(**keys)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "plan.json")
    for path in (tmp_path / "plan.json", Path("/dev/zero")):
        with pytest.raises(KanervaError, match=r"plan: expected a JSON file, got .*, a (pipe|dev)"):
            read_plan(path)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(KanervaError, match="no such file"):
        read_plan(tmp_path / "nothing.json")
    (tmp_path / "half.json").write_text('{"what": ')
    with pytest.raises(KanervaError, match="line 1"):
        read_plan(tmp_path / "half.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(KanervaError, match="brackets inside each other"):
        read_plan(tmp_path / "deep.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(KanervaError, match="plan: expected an object"):
        read_plan(tmp_path / "list.json")


def test_the_best_settings_have_the_lowest_mean():
    parsed = plan(runs=[{**RUN, "label": label, "seeds": [0, 1]} for label in ("a", "b", "c")])
    bounds = {("a", 0): 9.0, ("a", 1): 1.0, ("b", 0): 4.0, ("b", 1): 3.0, ("c", 0): 0.0}
    records = {}
    for run in parsed.runs:
        held = {"bound": bounds.get(run.id, float("nan"))}
        records[run.id] = {"curve": [{"held_out": held}], "final": {"bound": 1.0}}
    assert best_runs(parsed, records) == {"tiny": RunId("b", 1)}


# -- results -------------------------------------------------------------------------------------


RECORDED = (
    *("cifar10", "compare", "covariance", "dynamic", "omniglot", "recall", "rivals", "robustness"),
)
"""Plans whose results are in the repository. Others may follow."""


def sweeps() -> list[Path]:
    files = (ROOT / "results" / path.name for path in PLANS)
    return [file for file in files if file.stem in RECORDED or file.exists()]


@pytest.mark.parametrize("path", sweeps(), ids=lambda path: path.stem)
def test_results_have_the_schema_of_a_sweep(path):
    saved = json.loads(path.read_text())
    assert saved["schema"] == SCHEMA
    assert set(saved) == set(SweepRecord.__annotations__)
    made_by = read_plan(ROOT / "experiments" / "plans" / path.name)
    assert saved["command"].startswith(f"kanerva sweep experiments/plans/{path.name} --out OUT")
    assert [(run["label"], run["seed"]) for run in saved["runs"]] == [r.id for r in made_by.runs]
    for run, planned in zip(saved["runs"], made_by.runs, strict=True):
        assert set(run) == set(RunRecord.__annotations__)
        assert run["recipe"] == planned.recipe
        config = config_from_json(run["config"])
        assert config.training.seed == run["seed"]
        assert config.model.kind == planned.config.model.kind
        assert (config.data.split, config.data.monitor) == (saved["split"], saved["monitor"])
        assert set(run["final"]) == set(EvaluationRow.__annotations__)
        steps = [row["step"] for row in run["curve"]]
        assert steps == sorted(set(steps))
        assert steps[-1] <= run["num_steps"]  # a run may be stopped between two evaluations
        for row in run["curve"]:
            assert set(row) == set(MetricsRow.__annotations__)
            assert row["held_out"]["split"] == saved["monitor"]
            assert row["bound"] != 0
    labels = {run["label"] for run in saved["runs"]}
    assert set(saved["best"].values()) | set(saved["capacity"]) <= labels
