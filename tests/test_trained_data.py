"""A model finds the data that it was trained on again, wherever it is evaluated or resumed."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from PIL import Image

from kanerva.data import render_glyphs
from kanerva.tensor_file import read_tensor_file, write_tensor_file
from small_runs import KANERVA, SMALL_FLAGS


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KANERVA, *words], capture_output=True, text=True, cwd=cwd)


def draw(folder: Path, *, first: int) -> None:
    """A folder with thirty images of letters, which are others for each `first`."""
    folder.mkdir(parents=True)
    images = render_glyphs(torch.arange(first, first + 30), seed=first)[:, 0]
    for number, image in enumerate(images):
        Image.fromarray(image.numpy()).save(folder / f"{number}.png")


def bound(done: subprocess.CompletedProcess[str]) -> float:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["bound"]


@pytest.fixture
def trained(tmp_path) -> Path:
    """A folder `here` with images `here/drawings` and a run that was trained on them."""
    here = tmp_path / "here"
    draw(here / "drawings", first=0)
    steps = ("--training.steps", "2", "--data.name", "drawings", "--data.binarisation")
    done = run("train", "tiny", "--out", "run", *SMALL_FLAGS, *steps, "threshold20", cwd=here)
    assert done.returncode == 0, done.stderr
    return here


EVAL = ("--episodes", "4", "--json")


def test_another_folder_of_the_same_name_is_not_evaluated(trained, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    draw(elsewhere / "drawings", first=40)
    run_folder = str(trained / "run")
    here = bound(run("eval", run_folder, *EVAL, cwd=trained))
    there = bound(run("eval", run_folder, *EVAL, cwd=elsewhere))
    assert here == there
    path = str(elsewhere / "drawings")
    assert bound(run("eval", run_folder, "--dataset", path, *EVAL, cwd=trained)) != here


def test_the_path_is_in_config_and_card(trained):
    path = str(trained / "drawings")
    assert json.loads((trained / "run" / "config.json").read_text())["data"]["name"] == path
    (checkpoint,) = (trained / "run").glob("checkpoint-*")
    card = read_tensor_file(checkpoint)[1]["card"]
    assert isinstance(card, dict)
    assert (card["dataset"], card["source"]) == ("drawings", path)


def test_a_folder_that_was_moved_is_an_error_with_a_way_out(trained, tmp_path):
    before = bound(run("eval", "run", *EVAL, cwd=trained))
    (tmp_path / "new").mkdir()
    (trained / "drawings").rename(tmp_path / "new" / "drawings")
    done = run("eval", "run", *EVAL, cwd=trained)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(trained / "drawings") in done.stderr
    assert "--dataset PATH" in done.stderr
    moved = str(tmp_path / "new" / "drawings")
    assert bound(run("eval", "run", "--dataset", moved, *EVAL, cwd=trained)) == before


def test_a_card_without_a_path_asks_for_one(trained):
    """Cards of earlier versions name the folder only; the one here may be another one."""
    (checkpoint,) = (trained / "run").glob("checkpoint-*")
    tensors, metadata, _ = read_tensor_file(checkpoint)
    card = metadata["card"]
    assert isinstance(card, dict)
    del card["source"]
    write_tensor_file(checkpoint, tensors, metadata)
    done = run("eval", "run", *EVAL, cwd=trained)
    assert done.returncode == 2
    assert "--dataset PATH" in done.stderr
    assert bound(run("eval", "run", "--dataset", "drawings", *EVAL, cwd=trained)) > 0


def test_a_folder_with_the_name_of_a_known_data_set(tmp_path):
    """`./glyphs` is a folder of the user's, and `glyphs` is not."""
    draw(tmp_path / "glyphs", first=7)
    steps = ("--training.steps", "2", "--data.name", "./glyphs")
    done = run("train", "tiny", "--out", "run", *SMALL_FLAGS, *steps, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    own = bound(run("eval", "run", *EVAL, cwd=tmp_path))
    assert own == bound(run("eval", "run", "--dataset", "./glyphs", *EVAL, cwd=tmp_path))
    assert own != bound(run("eval", "run", "--dataset", "glyphs", *EVAL, cwd=tmp_path))


# -- resuming --------------------------------------------------------------------------------------

MORE = ("--training.steps", "4", "--device", "cpu")


def test_a_run_finds_its_images_from_anywhere(trained, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    draw(elsewhere / "drawings", first=40)
    done = run("train", "--resume", str(trained / "run"), *MORE, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    done = run("train", "--resume", "run", *MORE, "--data.name", "drawings", cwd=trained)
    assert done.returncode == 0, done.stderr
    assert "finished" in done.stderr


@pytest.mark.parametrize("change", ["one more", "another one"])
def test_a_run_does_not_continue_with_other_images(trained, change):
    name = "30.png" if change == "one more" else "0.png"
    (trained / "drawings" / name).write_bytes((trained / "drawings" / "1.png").read_bytes())
    done = run("train", "--resume", "run", *MORE, cwd=trained)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "the images that the run began with" in done.stderr


def test_a_run_follows_images_that_were_moved(trained, tmp_path):
    (trained / "drawings").rename(tmp_path / "moved")
    done = run("train", "--resume", "run", *MORE, cwd=trained)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--data.name PATH" in done.stderr
    moved = str(tmp_path / "moved")
    done = run("train", "--resume", "run", *MORE, "--data.name", moved, cwd=trained)
    assert done.returncode == 0, done.stderr
    assert json.loads((trained / "run" / "config.json").read_text())["data"]["name"] == moved


def test_eval_says_that_the_images_changed(trained):
    """Which images are for testing depends on all of them."""
    assert run("eval", "run", *EVAL, cwd=trained).stderr == ""
    (trained / "drawings" / "0.png").unlink()
    note = "are not as they were when the model was trained"
    for words in ((), ("--dataset", "drawings")):
        done = run("eval", "run", *words, *EVAL, cwd=trained)
        assert done.returncode == 0
        assert note in done.stderr
    (trained / "drawings").rename(trained / "moved")
    assert note in run("eval", "run", "--dataset", "moved", *EVAL, cwd=trained).stderr
    draw(trained / "drawings", first=0)
    assert run("eval", "run", "--dataset", "drawings", *EVAL, cwd=trained).stderr == ""
    assert run("eval", "run", "--dataset", "moved", *EVAL, cwd=trained).stderr == ""


def test_held_out_images_are_not_trained_on(trained):
    """`valid` is a part of `train`."""
    words = ("--data.name", "drawings", "--training.steps", "2", "--out", "other")
    done = run("train", "tiny", *SMALL_FLAGS, *words, "--data.monitor", "valid", cwd=trained)
    assert done.returncode == 2
    assert "--data.monitor: expected images that are not trained on" in done.stderr
    plan = {"what": "x", "monitor": "valid", "runs": [{"label": "a", "recipe": "tiny"}]}
    (trained / "plan.json").write_text(json.dumps(plan))
    done = run("sweep", "plan.json", "--out", "sweep", "--steps", "2", cwd=trained)
    assert done.returncode == 2
    assert "--data.monitor: expected images that are not trained on" in done.stderr
    done = run("eval", "run", "--split", "valid", *EVAL, cwd=trained)
    assert "the whole training split, these images among them" in done.stderr


def test_eval_says_that_images_are_repeated(trained):
    done = run("eval", "run", *EVAL, "--episode-length", "1000", cwd=trained)
    assert done.returncode == 0
    assert "episodes of 1000 repeat" in done.stderr
