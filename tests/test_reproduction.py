"""The reproduction report and the recorded results: complete, current, and without bad rows."""

import importlib.util
import json
import math
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SWEEPS = [
    path
    for path in sorted((ROOT / "results").glob("*.json"))
    if "schema" in json.loads(path.read_text())
]


@pytest.fixture(scope="module")
def reproduction() -> ModuleType:
    """The script that writes the report."""
    path = ROOT / "experiments" / "reproduction.py"
    spec = importlib.util.spec_from_file_location("reproduction", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_report_is_what_the_results_say(reproduction):
    page = ROOT / "docs" / "results" / "reproduction.md"
    assert page.read_text() == reproduction.report(ROOT / "results"), (
        "run python experiments/reproduction.py"
    )


def test_every_claim_has_a_verdict_and_nearly_every_one_a_command(reproduction):
    claims = json.loads((ROOT / "experiments" / "claims.json").read_text())
    assert len(claims) >= 30
    for claim in claims:
        assert set(claim) == set(reproduction.COLUMNS)
        assert claim["verdict"]
        assert claim["command"] or "cannot be tested" in claim["verdict"]
        for name in re.findall(r"\{(\w+)", " ".join(claim.values())):
            assert name in reproduction.FUNCTIONS


def test_commands_of_the_report_name_files_that_exist():
    claims = json.loads((ROOT / "experiments" / "claims.json").read_text())
    commands = " ".join(claim["command"] for claim in claims)
    paths = set(re.findall(r"(?:experiments|tests)/[\w/.-]+", commands))
    assert len(paths) > 10
    for path in paths:
        assert (ROOT / path).exists(), path


def test_numbers_come_from_the_results(reproduction, tmp_path):
    """Other results, other numbers; none at all, and the cell says so."""
    text = "{bounds omniglot | omniglot} and {terms omniglot | omniglot}"
    assert reproduction.filled(text, tmp_path) == " and ".join([reproduction.AWAITED] * 2)
    final = {"bound": 12.34, "reconstruction": 10.0, "kl_address": 2.0, "kl_code": 0.34}
    run = {"label": "omniglot", "final": final, "num_steps": 5000}
    other = {**run, "final": {**final, "bound": 11.0}}
    (tmp_path / "omniglot.json").write_text(json.dumps({"runs": [run, other]}))
    assert reproduction.filled(text, tmp_path) == (
        "11.0, 12.3 (5,000 steps) and reconstruction 10.0, KL(y) 2.0, KL(z) 0.3"
    )


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_curves_have_no_repeated_or_empty_rows(path):
    for run in json.loads(path.read_text())["runs"]:
        where = f"{path.stem}, {run['label']}, seed {run['seed']}"
        assert run["curve"], where
        steps = [row["step"] for row in run["curve"]]
        assert steps == sorted(set(steps)), where
        assert steps[-1] <= run["num_steps"], where
        for row in run["curve"]:
            terms = [row[name] for name in ("reconstruction", "kl_address", "kl_code")]
            assert row["bound"] != 0, f"{where}, step {row['step']}"
            assert math.isclose(row["bound"], sum(terms), rel_tol=1e-4), where
            assert row["held_out"]["episodes"] > 0, where
