"""`kanerva figures` as a user meets it: progress, where it writes, and damaged results."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kanerva.figures.catalogue import CATALOGUE
from kanerva.rendering.image_json import images_to_json

RESULTS = Path(__file__).parent.parent / "results"
KANERVA = [sys.executable, "-m", "kanerva.cli.main", "figures"]


def run(*args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KANERVA, *map(str, args)], capture_output=True, text=True, cwd=cwd, timeout=120
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with the results of one figure."""
    folder = tmp_path / "results"
    folder.mkdir()
    rows = {"samples": images_to_json([[[[0.0, 1.0]]]])}
    (folder / "figure_images.json").write_text(json.dumps({"omniglot": {"vae": rows}}))
    return folder


def test_progress_is_shown_on_a_terminal(results, tmp_path):
    """A bar on stderr that names the figure; nothing where stderr is not a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KANERVA, "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"iter_prior_vae" in shown
    assert f"of {len(CATALOGUE)}".encode() in shown
    assert "1 figures" not in stdout
    assert "1 figure; page" in stdout
    assert run("--results", results, "--json", cwd=tmp_path).stderr == ""


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("file", "a file"),
        ("file/new", "file"),
        ("loop", "leads back to itself"),
        ("/proc/none/figures", "/proc"),
        ("full", "--overwrite"),
    ],
)
def test_the_folder_is_checked_before_the_work(results, tmp_path, out, words):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "index.html").write_text("my own page")
    (results / "omniglot.json").write_text("damaged, but this is not looked at yet")
    done = run("--results", results, "--out", out, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert "--out" in done.stderr
    assert (tmp_path / "full" / "index.html").read_text() == "my own page"


def test_overwrite(results, tmp_path):
    for words in ((), ("--overwrite",)):
        done = run("--results", results, "--out", "new", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert run("--results", results, "--out", "new", cwd=tmp_path).returncode == 2
    for _ in range(2):  # in runs/ files are replaced
        assert run("--results", results, cwd=tmp_path).returncode == 0


def _deep() -> str:
    return '{"a": ' * 100_000 + "1" + "}" * 100_000


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("omniglot.json", _deep()),
        ("omniglot.json", '{"schema": ' + "9" * 5000 + "}"),
        ("omniglot.json", "\x00\x01"),
        ("omniglot.json", ""),
        ("figure_images.json", '{"omniglot": {"line": {}}}'),
        ("figure_images.json", '{"omniglot": {"vae": {"a": {"shape": [0], "bytes": ""}}}}'),
        ("figure_images.json", '{"omniglot": {"vae": {"a": {"shape": [1, 1], "bytes": "AA=="}}}}'),
        ("figure_images.json", '{"omniglot": {"vae": {}}}'),
        ("samples.json", '{"readings": [1], "classifier_accuracy": 1, "classes": {"2": {}}}'),
        ("denoise.json", "[]"),
    ],
)
def test_damaged_results_are_named(results, tmp_path, name, contents):
    (results / name).write_text(contents)
    done = run("--results", results, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1, done.stderr[-300:]
    assert "--results" in done.stderr
    assert name.removesuffix(".json") in done.stderr


@pytest.mark.parametrize("what", ["folder", "loop", "pipe"])
def test_what_is_no_file_is_named(results, tmp_path, what):
    path = results / "omniglot.json"
    if what == "folder":
        path.mkdir()
    elif what == "loop":
        path.symlink_to(path)
    else:
        os.mkfifo(path)
    done = run("--results", results, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "omniglot.json" in done.stderr
    assert "Errno" not in done.stderr
