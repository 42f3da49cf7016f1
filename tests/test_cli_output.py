"""Where commands print and save: terminals of another encoding, odd names, bad places."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from kanerva.cli.demo import draw_episodes

KANERVA = [sys.executable, "-m", "kanerva.cli.main"]


def run(*args: str | Path, cwd: Path | None = None, **environment: str):
    return subprocess.run(
        [*KANERVA, *map(str, args)],
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=120,
    )


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four dark drawings on a light background."""
    folder = tmp_path_factory.mktemp("drawings")
    for number, image in enumerate(draw_episodes(1, torch.Generator().manual_seed(0))[0, :4]):
        drawing = Image.fromarray((255 - 255 * image[0]).byte().numpy())
        drawing.resize((140, 140)).save(folder / f"{number:02d}.png")
    return folder


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "ascii:surrogateescape", "utf-16"])
@pytest.mark.parametrize("args", [("--help",), ("denoise", "--help"), ("train", "tiny", "--help")])
def test_help_on_any_terminal(args, encoding):
    done = run(*args, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    text = done.stdout.decode(encoding.split(":")[0])
    assert "--help" in text
    assert "\\u" not in text


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_odd_names_are_printed_everywhere(drawings, tmp_path, encoding):
    """Umlauts, emoji, line breaks, and bytes that are no text at all."""
    names = ["Zürich", "🖌", "two\nlines", os.fsdecode(b"\xff"), "\x1b[31mred"]
    for name in names:
        (tmp_path / f"{name}.png").write_bytes((drawings / "00.png").read_bytes())
    done = run("denoise", "omniglot", "--memory", tmp_path, cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(names)
    assert b"\x1b" not in done.stdout
    if encoding == "utf-8":
        assert "Zürich" in done.stdout.decode()
    done = run("denoise", "omniglot", "--memory", "Zörich", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_json_holds_odd_names(drawings, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff\xc3\xbc.png")
    odd.write_bytes((drawings / "00.png").read_bytes())
    done = run("denoise", "omniglot", "--memory", odd, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["read"]
    assert row["cue"] == str(odd)


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", ">&- 2>&-", "2>/dev/full >&-"])
def test_nobody_reads_the_messages(tmp_path, where):
    """A note that cannot be printed loses no work, and a mistake is still one."""
    words = " ".join(KANERVA)
    lost = 2 if ">&-" in where.replace("2>&-", "") else 0  # the name of the picture
    for command, code in ((f"{words} generate omniglot", lost), (f"{words} denois", 2)):
        done = subprocess.run(["bash", "-c", f"exec {command} {where}"], cwd=tmp_path, timeout=60)
        assert done.returncode == code
    assert (tmp_path / "runs/generate.png").exists()


@pytest.mark.parametrize("columns", ["0", "1", "20", "-5", "many", "99999"])
def test_terminals_of_any_width(columns):
    """tyro hangs in a terminal of one column."""
    for args in (("denoise", "--help"), ("--help",), ("data", "list")):
        done = run(*args, COLUMNS=columns)
        assert done.returncode == 0, done.stderr
        assert b"folder" in done.stdout or b"figures" in done.stdout


def test_warnings_are_one_line(drawings, tmp_path):
    """Python would print the file and the line of our code that warns."""
    (drawings / "Thumbs.db").write_bytes(b"not an image")
    words = ("--dataset", drawings, "--episodes", "1", "--episode-length", "2")
    done = run("denoise", "omniglot", *words, cwd=tmp_path)
    (drawings / "Thumbs.db").unlink()
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(b"kanerva: skipped 1 file")
    assert done.stderr.count(b"\n") == 1
