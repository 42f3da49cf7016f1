"""The scripts in examples/ run, do what they say, and are short enough to copy."""

import os
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    """What an example prints, run as a process in an empty folder with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def numbers(printed: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", printed)]


def test_every_example_is_short_and_tested():
    here = Path(__file__).read_text()
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert 4 <= len(scripts) <= 6
    for script in scripts:
        assert len(script.read_text().splitlines()) < 60, script.name
        assert f'run("{script.name}"' in here, f"{script.name} has no test"


def test_memory_on_its_own(tmp_path: Path):
    error, known, unknown, *_ = numbers(run("memory_on_its_own.py", tmp_path))
    assert error < 0.1
    assert known < unknown


def test_repair_images(tmp_path: Path):
    printed = run("repair_images.py", tmp_path)
    damaged, repaired, confidence = numbers(printed)
    assert repaired < 0.6 * damaged
    assert 0 < confidence <= 1
    assert (tmp_path / "repaired.png").stat().st_size > 1000


def test_repair_images_of_a_folder(tmp_path: Path):
    (tmp_path / "drawings").mkdir()
    for number in range(4):
        page = Image.new("L", (60, 60), 255)
        for place in range(10, 50):
            page.paste(0, (place, 10 + 10 * number, place + 3, 13 + 10 * number))
        page.save(tmp_path / "drawings" / f"{number}.png")
    printed = run("repair_images.py", tmp_path, "drawings", "--out", "mine.png")
    assert "picture: mine.png" in printed
    assert (tmp_path / "mine.png").exists()


def test_embeddings(tmp_path: Path):
    assert run("embeddings.py", tmp_path).splitlines() == [
        "inexact keys: 100% right, 100% trusted",
        "unknown keys: 0% trusted",
    ]


def test_forget_and_merge(tmp_path: Path):
    merged, forgotten, refused = run("forget_and_merge.py", tmp_path).splitlines()
    for line in (merged, forgotten):
        assert float(line.split()[-1]) < 1e-4
    assert refused.startswith("refused: evidence:")


def test_inside_a_network(tmp_path: Path):
    errors = [numbers(line)[0] for line in run("inside_a_network.py", tmp_path).splitlines()]
    assert errors[0] > 1
    assert errors[-1] < 0.4
