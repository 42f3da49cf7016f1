"""README and docs: their code runs, their file map is true, their labels exist."""

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks of a language; "" for those that show output."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [body for name, body in fences if name == language]


def test_readme_code_runs_and_prints_what_it_shows():
    code = blocks(README, "python")
    assert len(code) >= 5
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(code), {})  # one session, as a reader would paste it
    assert printed.getvalue() in blocks(README, "")


def test_readme_shows_what_the_demo_prints():
    from kanerva.cli.demo import run_demo

    story = run_demo(seed=0).lines
    (shown,) = [block for block in blocks(README, "") if block.startswith("bound: ")]
    for line in shown.splitlines():
        assert line in story


def test_readme_commands_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for command in re.findall(r"make ([a-z]+)", README):
        assert command in targets


def test_file_map_is_true():
    mapped = set(re.findall(r"^\| `([^`]+\.py)` \|", README, re.MULTILINE))
    listing = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "src",
            "tests",
            "experiments",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    files = {name for name in listing.stdout.splitlines() if name.endswith(".py")}
    trivial = {name for name in files if name.endswith("__init__.py")} | {"tests/conftest.py"}
    assert mapped - files == set(), "mapped, but not there"
    assert files - mapped - trivial == set(), "there, but not mapped"


def test_equation_labels_are_in_the_code():
    table = (ROOT / "docs" / "equations.md").read_text()
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    labels = set(re.findall(r"`((?:eq|sec|app|fig):[\w-]+)`", table))
    assert {"eq:update-first", "eq:update-last", "eq:sigma_matrix", "eq:dist-posterior"} <= labels
    for label in labels:
        assert label in source, label


def test_equation_table_names_what_exists():
    table = (ROOT / "docs" / "equations.md").read_text()
    for name in re.findall(
        r"`((?:memory|models|distributions|evaluation|sparse|tests)/[^`]+\.py)`", table
    ):
        root = ROOT if name.startswith("tests/") else ROOT / "src" / "kanerva"
        assert list(root.glob(name)), name
