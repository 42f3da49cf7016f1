"""`kanerva denoise` on a user's own images: what it saves, where, and what it never overwrites."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva.cli.demo import draw_episodes
from kanerva.data.user_images import read_images


def run(*args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kanerva.cli.main", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def mistake(*args: object, cwd: Path) -> str:
    """The one line that a mistake gives; nothing is written."""
    before = snapshot(cwd)
    done = run(*args, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert snapshot(cwd) == before
    return done.stderr


def snapshot(folder: Path) -> dict[str, bytes]:
    """Everything below a folder."""
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with eight drawings, and a torn one beside it."""
    (tmp_path / "drawings").mkdir()
    images = draw_episodes(1, torch.Generator().manual_seed(0))[0, :8]
    for number, image in enumerate(images):
        drawing = Image.fromarray((255 - 255 * image[0]).byte().numpy())
        drawing.resize((140, 140)).save(tmp_path / "drawings" / f"{number:02d}.png")
    torn = np.asarray(Image.open(tmp_path / "drawings" / "00.png")).copy()
    torn[60:100, 50:90] = 0
    Image.fromarray(torn).save(tmp_path / "torn.png")
    return tmp_path


WRITE = ("denoise", "omniglot", "--memory", "drawings")


def test_the_repaired_image_is_saved(here):
    done = run(*WRITE, "--cue", "torn.png", "--out", "repaired.png", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (row,) = report["read"]
    assert (row["cue"], row["out"]) == ("torn.png", "repaired.png")
    assert (report["out"], report["sheet"], report["skipped"]) == ("repaired.png", None, [])
    with Image.open(here / "repaired.png") as picture:
        assert (picture.size, picture.mode) == ((280, 280), "L")
        grey = np.asarray(picture)
    assert grey[0].min() > 200, "dark ink on white"
    assert (grey < 100).mean() > 0.02
    blocks = grey.reshape(28, 10, 28, 10)
    assert (blocks == blocks[:, :1, :, :1]).all(), "squares of 10 pixels"
    original, torn = read_images([here / "drawings/00.png", here / "torn.png"])[:, 0].numpy()
    repaired = 1 - blocks[:, 0, :, 0] / 255
    assert np.abs(repaired - original).mean() < 0.5 * np.abs(torn - original).mean()


def test_many_cues_go_into_a_folder(here):
    (here / "drawings/notes.txt").write_text("not an image")
    (here / "drawings/Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    with Image.open(here / "torn.png") as torn:
        torn.save(here / "torn.jpg")
    done = run(*WRITE, "--cue", "drawings", "torn.jpg", "--out", "new/repaired", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    names = [f"{number:02d}.png" for number in range(8)]
    expected = [f"new/repaired/{name}" for name in [*names, "torn.png"]]
    assert [row["out"] for row in report["read"]] == expected
    assert report["out"] == "new/repaired"
    assert sorted(os.listdir(here / "new/repaired")) == [*names, "torn.png"]
    assert report["skipped"] == ["drawings/Thumbs.db", "drawings/notes.txt"]
    assert done.stderr.startswith("skipped 2 files")
    assert done.stderr.count("\n") == 1


def test_folders_in_folders_stay_apart(here):
    for name in ("a", "b"):
        (here / "cues" / name).mkdir(parents=True)
        (here / "cues" / name / "1.png").write_bytes((here / "torn.png").read_bytes())
    done = run(*WRITE, "--cue", "cues", "--out", "repaired", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    outs = [row["out"] for row in json.loads(done.stdout)["read"]]
    assert outs == ["repaired/a/1.png", "repaired/b/1.png"]
    line = mistake(*WRITE, "--cue", "cues/a", "cues/b", "--out", "other", cwd=here)
    assert "cues/a/1.png" in line
    assert "cues/b/1.png" in line


@pytest.mark.parametrize(("name", "frames"), [("sheet.png", 1), ("sheet.gif", 7)])
def test_the_sheet_on_request(here, name, frames):
    asked = ("--sheet", name, "--damage", "block12", "--readings", "6", "--json")
    done = run(*WRITE, *asked, cwd=here)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["sheet"], report["out"]) == (name, None)
    assert report["read"][0]["out"] is None
    assert not (here / "runs").exists(), "only what was asked for"
    with Image.open(here / name) as picture:
        assert getattr(picture, "n_frames", 1) == frames
        if frames == 1:
            assert picture.height > 7 * 56
    both = run(*WRITE, "--sheet", "2.png", "--out", "repaired", cwd=here)
    assert both.returncode == 0, both.stderr
    assert "sheet: 2.png" in both.stdout
    assert len(os.listdir(here / "repaired")) == 8


def test_by_default_into_runs_where_files_are_replaced(here):
    for _ in range(2):
        done = run(*WRITE, "--cue", "torn.png", cwd=here)
        assert done.returncode == 0, done.stderr
        assert "torn.png: confidence" in done.stdout
        assert "runs/denoise/torn.png" in done.stdout
    assert os.listdir(here / "runs/denoise") == ["torn.png"]


def test_nothing_is_overwritten_unasked(here):
    (here / "old.png").write_bytes(b"a picture that was there")
    line = mistake(*WRITE, "--cue", "torn.png", "--out", "old.png", cwd=here)
    assert "--overwrite" in line
    line = mistake(*WRITE, "--cue", "torn.png", "--sheet", "old.png", cwd=here)
    assert "--sheet" in line
    (here / "full").mkdir()
    (here / "full" / "torn.png").write_text("there")
    assert "full/torn.png" in mistake(*WRITE, "--cue", "torn.png", "--out", "full", cwd=here)
    done = run(*WRITE, "--cue", "torn.png", "--out", "old.png", "--overwrite", cwd=here)
    assert done.returncode == 0, done.stderr
    assert (here / "old.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--cue", "torn.png", "--out", "torn.png"), "not one of the images"),
        (("--cue", "torn.png", "--out", "."), "not one of the images"),
        (("--out", "drawings"), "not one of the images"),
        (("--cue", "torn.png", "--out", "link.png"), "not one of the images"),
        (("--cue", "torn.png", "--sheet", "drawings/00.png"), "not one of the images"),
        (("--out", "repaired.png"), "a folder, because there are 8 cues"),
        (("--cue", "torn.png", "--out", "repaired.gif"), "--sheet repaired.gif"),
        (("--cue", "torn.png", "--out", "repaired.jpg"), ".png"),
        (("--cue", "torn.png", "--sheet", "sheet.jpg"), ".gif"),
        (("--cue", "torn.png", "--sheet", "same.png", "--out", "same.png"), "another file"),
        (("--cue", "torn.png", "--out", "loop.png"), "leads back to itself"),
        (("--cue", "torn.png", "--out", "loop"), "leads back to itself"),
        (("--cue", "torn.png", "--out", "loop/a.png"), "leads back to itself"),
        (("--cue", "torn.png", "--sheet", "loop.png"), "leads back to itself"),
        (("--cue", "loop.png"), "leads back to itself"),
        (("--cue", "torn.png", "--out", "torn.png/a.png"), "torn.png"),
        (("--cue", "torn.png", "--out", "notes"), "a folder"),
        (("--cue", "torn.png", "--sheet", "folder.png"), "a folder"),
        (("--cue", "torn.png", "--out", "/proc/none/a.png"), "/proc"),
        (("--cue", "torn.png", "--out", "x" * 300 + ".png"), "too long"),
    ],
)
def test_outputs_are_checked_before_the_work(here, words, expected):
    (here / "link.png").symlink_to("torn.png")
    (here / "loop.png").symlink_to("loop.png")
    (here / "loop").symlink_to("loop")
    (here / "notes").write_text("not a folder")
    (here / "folder.png").mkdir()
    line = mistake(*WRITE, *words, "--overwrite", cwd=here)
    assert expected in line


@pytest.mark.parametrize(
    "words",
    [
        ("--cue", "torn.png"),
        ("--out", "new.png"),
        ("--sheet", "new.png"),
        ("--overwrite",),
    ],
)
def test_options_that_need_a_memory(here, words):
    assert "--memory" in mistake("denoise", "omniglot", *words, cwd=here)


@pytest.mark.parametrize(
    "words",
    [
        ("--episodes", "5"),
        ("--episode-length", "5"),
        ("--dataset", "glyphs"),
        ("--data-folder", "."),
    ],
)
def test_options_that_need_no_memory(here, words):
    assert words[0] in mistake(*WRITE, *words, cwd=here)


def test_no_file_is_named_that_was_not_written(here):
    words = ("--cue", "torn.png", "--out", "new.png", "--min-confidence", "1", "--json")
    done = run(*WRITE, *words, cwd=here)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["out"] is None
    assert report["read"][0]["out"] is None
    assert not (here / "new.png").exists()
