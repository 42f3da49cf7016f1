"""The code base stays readable: short files, short call paths, no `Any`, real abstract methods."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
import torch

import kanerva
from kanerva.cli.commands import parse

SOURCE = Path(__file__).parents[1] / "src" / "kanerva"
FILES = sorted(SOURCE.rglob("*.py"))


def files_on_the_path(action: Callable[[], object], file: str, function: str) -> list[str]:
    """The files of ours on the call stack when `action` first calls `function` of `file`."""
    found: list[list[str]] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == function and code.co_filename.endswith(file):
            path, caller = [], frame
            while caller is not None:
                name = Path(caller.f_code.co_filename)
                if name.is_relative_to(SOURCE):
                    path.append(str(name.relative_to(SOURCE)))
                caller = caller.f_back
            found.append(list(dict.fromkeys(reversed(path))))

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return found[0]


def test_from_write_to_condition_takes_four_files():
    km = kanerva.load("omniglot")
    images = torch.zeros(2, 1, 28, 28)
    path = files_on_the_path(lambda: km.write(images), "memory/write.py", "condition")
    assert path[0] == "models/memory_model.py"
    assert len(path) <= 4, path


def test_from_the_command_to_a_training_step_takes_twelve_files(tmp_path, capsys):
    words = ["train", "tiny", "--training.steps", "1", "--out", str(tmp_path / "run"), "--json"]
    path = files_on_the_path(lambda: parse(words)(), "training/step.py", "_step")
    assert path[0] == "cli/train.py"
    assert len(path) <= 12, path


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_files(file):
    text = file.read_text()
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            assert node.id != "Any", f"line {node.lineno}"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert "AssertionError" not in ast.unparse(node.exc), f"line {node.lineno}"
