"""Commands on a user's own images, as real processes."""

import json
import subprocess
import sys
from typing import get_args

import pytest
import torch
from PIL import Image

from kanerva.cli.demo import draw_episodes
from kanerva.cli.options import Damage
from kanerva.data.damage import DAMAGES


def run(*args, cwd=None):
    command = [sys.executable, "-m", "kanerva.cli.main", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Twelve dark drawings on a light background, larger than the model's images."""
    folder = tmp_path_factory.mktemp("drawings")
    images = draw_episodes(1, torch.Generator().manual_seed(0))[0, :12]
    for number, image in enumerate(images):
        drawing = Image.fromarray((255 - 255 * image[0]).byte().numpy())
        drawing.resize((140, 140)).save(folder / f"{number:02d}.png")
    (folder / "notes.txt").write_text("not an image")
    return folder


def test_words_for_damage_agree():
    assert get_args(Damage) == DAMAGES


@pytest.mark.parametrize("old", [None, b"a picture that was there"])
def test_a_full_disk_leaves_the_old_picture(drawings, tmp_path, old):
    """Files may not grow beyond 4 kB, as if there were no more space."""
    out = tmp_path / "picture.png"
    if old is not None:
        out.write_bytes(old)
    command = f"ulimit -f 4; exec {sys.executable} -m kanerva.cli.main denoise omniglot"
    done = subprocess.run(
        ["bash", "-c", f"{command} --memory '{drawings}' --sheet '{out}' --overwrite"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert str(out) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize(
    "args",
    [
        ("denoise", "omniglot", "--memory", "a.png", "--cue", "b.png", "--out", "b.png"),
        ("denoise", "omniglot", "--memory", ".", "--out", "a.png"),
        ("generate", "omniglot", "--memory", "a.png", "b.png", "--out", "./a.png"),
        (
            *("interpolate", "omniglot", "--memory", "a.png", "--start", "a.png"),
            *("--end", "b.png", "--out", "b.png"),
        ),
    ],
)
def test_no_picture_takes_the_place_of_what_was_read(drawings, tmp_path, args):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes((drawings / "00.png").read_bytes())
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert "--out" in done.stderr
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes() == (drawings / "00.png").read_bytes()


def test_the_same_command_gives_the_same_image(drawings, tmp_path):
    one = ("denoise", "omniglot", "--memory", drawings, "--cue", drawings / "00.png")
    for name in ("new/1.png", "2.png"):
        done = run(*one, "--out", tmp_path / name, "--no-keep-cue", "--sample", "--json")
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["read"]
        assert row["cue"].endswith("00.png")
        assert row["confidence"] > 0.3
    assert (tmp_path / "new/1.png").read_bytes() == (tmp_path / "2.png").read_bytes()


@pytest.mark.parametrize("suffix", ["png", "gif"])
def test_generate_and_interpolate(drawings, tmp_path, suffix):
    new, line = tmp_path / f"new.{suffix}", tmp_path / f"line.{suffix}"
    done = run("generate", "omniglot", "--memory", drawings, "--num", 10, "--out", new)
    assert done.returncode == 0, done.stderr
    done = run(
        *("interpolate", "omniglot", "--memory", drawings, "--out", line, "--json"),
        *("--start", drawings / "00.png", "--end", drawings / "01.png", "--steps", 7),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 7
    if suffix == "gif":
        with Image.open(new) as moving:
            assert getattr(moving, "n_frames", 1) == 9
        with Image.open(line) as moving:
            assert getattr(moving, "n_frames", 1) == 7


def test_an_empty_memory_is_the_prior_and_says_so(tmp_path):
    done = run("generate", "omniglot", "--out", tmp_path / "a.png", "--json")
    assert done.returncode == 0
    assert "prior" in done.stderr
    assert json.loads(done.stdout)["num"] == 16


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("denoise", "omniglot", "--memory", "nowhere"), "nothing there"),
        (("denoise", "omniglot", "--cue", "DRAWINGS"), "--memory"),
        (("denoise", "omniglot", "--out", "a.png"), "--memory"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--episodes", "5"), "--episodes"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--dataset", "glyphs"), "--dataset"),
        (("denoise", "omniglot", "--episodes", "0"), "--episodes"),
        (("denoise", "omniglot", "--memory", "DRAWINGS/notes.txt"), "an image"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--readings", "0"), "--readings"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--damage", "blok"), "block12"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--sheet", "a.jpg"), ".gif"),
        (("denoise", "omniglot-vae", "--memory", "DRAWINGS"), "VAE"),
        (("denoise", "omniglott", "--memory", "DRAWINGS"), "omniglot"),
        (("generate", "omniglot", "--num", "0"), "--num"),
        (("generate", "omniglot", "--num", "9" * 30), "--num"),
        (("generate", "omniglot", "--readings", "9" * 30), "--readings"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--readings", "9" * 30), "--readings"),
        (("denoise", "omniglot", "--episodes", "9" * 30), "--episodes"),
        (("denoise", "omniglot", "--episode-length", "9" * 30), "--episode-length"),
        (
            (
                *("interpolate", "omniglot", "--memory", "DRAWINGS", "--steps", "9" * 30),
                *("--start", "DRAWINGS/00.png", "--end", "DRAWINGS/01.png"),
            ),
            "--steps",
        ),
        (("generate", "omniglot", "--readings", "-1"), "--readings"),
        (("interpolate", "omniglot", "--memory", "DRAWINGS", "--start", "x.png"), "--end"),
        (
            (
                *("interpolate", "omniglot", "--memory", "DRAWINGS", "--steps", "1"),
                *("--start", "DRAWINGS/00.png", "--end", "DRAWINGS/01.png"),
            ),
            "--steps",
        ),
        (
            (
                *("interpolate", "omniglot", "--memory", "DRAWINGS"),
                *("--start", "DRAWINGS", "--end", "DRAWINGS/00.png"),
            ),
            "one image",
        ),
    ],
)
def test_mistakes(drawings, tmp_path, args, word):
    args = [arg.replace("DRAWINGS", str(drawings)) for arg in args]
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert word in done.stderr
    assert list(tmp_path.iterdir()) == []
