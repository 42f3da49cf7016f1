"""Commands on a person's own files, as real processes."""

import json
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva.cli.options import Corruption
from kanerva.data.damage import DAMAGES
from kanerva.data.own import read_images
from kanerva.evaluation.showing import draw_episodes


def run(*args, cwd=None):
    command = [sys.executable, "-m", "kanerva.cli.main", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Twelve dark drawings on light paper, larger than the model's."""
    folder = tmp_path_factory.mktemp("drawings")
    images = draw_episodes(1, torch.Generator().manual_seed(0))[0, :12]
    for number, image in enumerate(images):
        paper = Image.fromarray((255 - 255 * image[0]).byte().numpy())
        paper.resize((140, 140)).save(folder / f"{number:02d}.png")
    (folder / "notes.txt").write_text("not an image")
    return folder


def test_words_for_damage_agree():
    assert get_args(Corruption) == DAMAGES


def test_paper_may_be_light_or_dark(drawings, tmp_path):
    path = drawings / "03.png"
    Image.fromarray(255 - np.asarray(Image.open(path))).save(tmp_path / "dark.png")
    images, names = read_images([path, tmp_path], image_shape=(1, 28, 28), binary=True)
    assert torch.equal(images[0], images[1])
    assert set(images.unique().tolist()) == {0.0, 1.0}
    assert names == [str(path), str(tmp_path / "dark.png")]
    assert len(read_images([drawings], image_shape=(1, 28, 28), binary=True)[0]) == 12


def test_denoise(drawings, tmp_path):
    out = tmp_path / "new" / "repaired.png"
    one = ("denoise", "omniglot", "--memory", drawings, "--query", drawings / "00.png")
    done = run(*one, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["read"]
    assert row["query"].endswith("00.png")
    assert row["confidence"] > 0.3
    picture = np.asarray(Image.open(out).convert("L"))
    assert picture.shape[0] > 7 * 56
    same = run(*one, "--out", tmp_path / "again.png")
    assert "confidence" in same.stdout
    assert (tmp_path / "again.png").read_bytes() == out.read_bytes()


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
        with Image.open(new) as film:
            assert getattr(film, "n_frames", 1) == 9
        with Image.open(line) as film:
            assert getattr(film, "n_frames", 1) == 7


def test_an_empty_memory_is_the_prior_and_says_so(tmp_path):
    done = run("generate", "omniglot", "--out", tmp_path / "a.png", "--json")
    assert done.returncode == 0
    assert "prior" in done.stderr
    assert json.loads(done.stdout)["num"] == 16


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("denoise", "omniglot", "--memory", "nowhere"), "nothing there"),
        (("denoise", "omniglot", "--query", "DRAWINGS"), "--memory"),
        (("denoise", "omniglot", "--memory", "DRAWINGS/notes.txt"), "an image"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--iterations", "0"), "--iterations"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--corruption", "blok"), "block12"),
        (("denoise", "omniglot", "--memory", "DRAWINGS", "--out", "a.jpg"), ".gif"),
        (("denoise", "omniglot-vae", "--memory", "DRAWINGS"), "VAE"),
        (("denoise", "omniglott", "--memory", "DRAWINGS"), "omniglot"),
        (("generate", "omniglot", "--num", "0"), "--num"),
        (("generate", "omniglot", "--iterations", "-1"), "iterations"),
        (("interpolate", "omniglot", "--memory", "DRAWINGS", "--start", "x.png"), "--end"),
    ],
)
def test_mistakes(drawings, tmp_path, args, word):
    args = [arg.replace("DRAWINGS", str(drawings)) for arg in args]
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert word in done.stderr
    assert list(tmp_path.iterdir()) == []
