"""The wheel installs into an empty environment and works there without the checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kanerva

ROOT = Path(__file__).parents[1]


def call(*words: str | Path, folder: Path) -> str:
    """What a command prints, without anything that could lead it back to the checkout."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment with the wheel; its other packages are those of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    call(
        *pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT, folder=folder
    )
    (wheel,) = folder.glob("kanerva-*.whl")
    call(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    call(*pip, "--python", python, "install", "-q", "--no-deps", wheel, folder=folder)
    # Plain paths: what these folders themselves refer to, such as the checkout, is not followed.
    others = [path for path in sys.path if path.endswith("site-packages")]
    where = call(python, "-c", "import site; print(site.getsitepackages()[0])", folder=folder)
    (Path(where.strip()) / "others.pth").write_text("\n".join(others))
    return python.parent


def test_the_wheel_runs_the_demo(environment: Path, tmp_path: Path):
    found = call(environment / "python", "-c", "import kanerva; print(kanerva)", folder=tmp_path)
    assert str(environment.parent) in found
    printed = call(environment / "kanerva", "demo", folder=tmp_path)
    assert re.search(r"recognised: \d+%", printed)
    assert (tmp_path / "runs" / "demo.png").stat().st_size > 1000


def test_the_wheel_has_the_page(environment: Path, tmp_path: Path):
    code = "from kanerva.web.page_files import page_files; print(*sorted(page_files()))"
    printed = call(environment / "python", "-c", code, folder=tmp_path).split()
    assert {"/", "/docs", "/app.js", "/style.css", "/icon.svg"} <= set(printed)


def test_the_wheel_knows_its_version(environment: Path, tmp_path: Path):
    code = "from importlib.metadata import metadata; m = metadata('kanerva'); print(m['Version'])"
    assert call(environment / "python", "-c", code, folder=tmp_path).strip() == kanerva.__version__
    links = "from importlib.metadata import metadata; print(metadata('kanerva')['Project-URL'])"
    printed = call(environment / "python", "-c", links, folder=tmp_path)
    assert "https://arxiv.org/abs/1804.01756" in printed


def test_the_version_is_stated_once():
    """Only in the package. The changelog has a section for it."""
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert f"## {kanerva.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def test_the_citation_has_the_paper():
    citation = (ROOT / "CITATION.cff").read_text()
    for part in ("cff-version: 1.2.0", "preferred-citation:", "arXiv:1804.01756", "Lillicrap"):
        assert part in citation
