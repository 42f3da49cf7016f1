"""The scripts in examples/ run, do what they say, and are short enough to copy."""

import json
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A function that runs an example in an empty folder and returns what it prints."""
    monkeypatch.chdir(tmp_path)

    def run_example(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run_example


def numbers(printed: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", printed)]


def test_every_example_is_short_and_tested():
    here = Path(__file__).read_text()
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert 4 <= len(scripts) <= 6
    for script in scripts:
        assert len(script.read_text().splitlines()) < 60, script.name
        assert f'run("{script.name}"' in here, f"{script.name} has no test"


def test_memory_on_its_own(run: Run):
    error, known, unknown, *_ = numbers(run("memory_on_its_own.py"))
    assert error < 0.1
    assert known < unknown


def test_repair_images(run: Run):
    printed = run("repair_images.py")
    damaged, repaired, confidence = numbers(printed)
    assert repaired < 0.6 * damaged
    assert 0 < confidence <= 1
    assert Path("repaired.png").stat().st_size > 1000


def test_repair_images_of_a_folder(run: Run):
    Path("drawings").mkdir()
    for number in range(4):
        page = Image.new("L", (60, 60), 255)
        for place in range(10, 50):
            page.paste(0, (place, 10 + 10 * number, place + 3, 13 + 10 * number))
        page.save(f"drawings/{number}.png")
    printed = run("repair_images.py", "drawings", "--out", "mine.png")
    assert "picture: mine.png" in printed
    assert Path("mine.png").exists()


def test_embeddings(run: Run):
    assert run("embeddings.py").splitlines() == [
        "inexact keys: 100% right, 100% trusted",
        "unknown keys: 0% trusted",
    ]


def test_forget_and_merge(run: Run):
    merged, forgotten, refused = run("forget_and_merge.py").splitlines()
    for line in (merged, forgotten):
        assert float(line.split()[-1]) < 1e-4
    assert refused.startswith("refused: evidence:")


def test_inside_a_network(run: Run):
    errors = [numbers(line)[0] for line in run("inside_a_network.py").splitlines()]
    assert errors[0] > 1
    assert errors[-1] < 0.4


def test_shared_store(run: Run):
    printed = run("shared_store.py", "memories", "--num", "800").splitlines()
    assert printed[0] == "vectors in memory: 800"
    known, unknown = (float(line.split()[-1].rstrip("%")) for line in printed[1:3])
    assert known > 95
    assert unknown < 2
    assert printed[3] == "strongest contribution: document-1-0"
    receipt = json.loads(printed[4])
    assert receipt["ids"] == ["document-1-0"]
    assert receipt["distance"] == 0
    assert receipt["purged"]
    assert printed[5] == "in memory after deletion: False"
