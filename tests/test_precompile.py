"""Compiling ahead of time: which shapes there are, and one process for each of them."""

import json
import os
import subprocess

from kanerva.training.plan_file import parse_plan
from kanerva.training.precompile import compiled_shapes
from small_runs import KANERVA, SMALL_CHANGES

CONTENTS = {
    "what": "A test",
    "episodes": 2,
    "runs": [
        {"label": "Kanerva", "recipe": "tiny", "seeds": [0, 1], "changes": SMALL_CHANGES},
        {"label": "slow", "recipe": "tiny", "changes": {**SMALL_CHANGES, "training.lr": 1e-5}},
        {"label": "wide", "recipe": "tiny", "changes": {**SMALL_CHANGES, "training.batch": 3}},
        {"label": "plain", "recipe": "tiny", "changes": {"training.compile": False}},
    ],
}


def test_runs_that_differ_in_numbers_share_compiled_code():
    shapes = compiled_shapes(parse_plan(CONTENTS, compiled=True))
    assert [id.label for id in shapes.values()] == ["Kanerva", "wide"]
    assert compiled_shapes(parse_plan(CONTENTS)) == {}


def test_each_shape_is_compiled_in_a_process(tmp_path):
    """With a compiler that does nothing; the real one takes minutes on a CPU."""
    runs = [
        {"label": label, "recipe": "tiny", "changes": {**SMALL_CHANGES, "training.compile": True}}
        for label in ("a", "b")
    ]
    runs[1]["changes"]["training.batch"] = 3
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({**CONTENTS, "runs": runs}))
    done = subprocess.run(
        [
            *(*KANERVA, "sweep", str(plan), "--out", str(tmp_path / "out")),
            *("--device", "cpu", "--steps", "6", "--precompile"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "TORCHDYNAMO_DISABLE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "a, seed 0: compiled in" in done.stderr
    assert "b, seed 0: compiled in" in done.stderr
    assert (tmp_path / "out" / "plan.json").exists()
