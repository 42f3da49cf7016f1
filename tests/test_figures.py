"""Figures from the saved results: every file, one page that needs nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kanerva.figures.catalogue import CATALOGUE
from kanerva.figures.page import make
from kanerva.rendering.image_json import images_from_json, images_to_json

RESULTS = Path(__file__).parent.parent / "results"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(RESULTS, tmp_path_factory.mktemp("figures"))


def test_json_keeps_images():
    images = np.random.default_rng(0).integers(0, 256, (3, 1, 5, 4)) / 255
    saved = json.loads(json.dumps(images_to_json(images)))
    assert np.array_equal(images_from_json(saved), images)


def test_every_figure_is_made(made):
    assert made.names == [entry.name for entry in CATALOGUE]
    assert not made.missing
    for name in made.names:
        with Image.open(made.page.parent / f"{name}.png") as picture:
            grey = np.asarray(picture.convert("L"))
        assert 10 < grey.std(), "an empty picture"  # noqa: SIM300
        assert (made.page.parent / f"{name}.svg").read_text().lstrip().startswith("<?xml")
        assert json.loads((made.page.parent / f"{name}.json").read_text())


def test_the_page_stands_alone(made):
    text = made.page.read_text()
    sources = re.findall(r'(?:src|href)="([^"]{1,40})', text)
    assert len(sources) == len(made.names)
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_what_has_no_results_is_named_as_missing(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    (results / "compare.json").write_text((RESULTS / "compare.json").read_text())
    made = make(results, tmp_path / "out")
    assert made.names == ["capacity-training", "capacity"]
    assert set(made.names) | set(made.missing) == {entry.name for entry in CATALOGUE}
    for name in made.missing:
        assert name in made.page.read_text()


def test_of_several_settings_the_chosen_one_is_drawn(made):
    saved = json.loads((RESULTS / "cifar10.json").read_text())
    drawn = json.loads((made.page.parent / "cifar-train.json").read_text())
    for name, recipe in (("Kanerva Machine", "cifar10"), ("VAE", "cifar10-vae")):
        settings = [run for run in saved["runs"] if run.split(" lr")[0] == recipe]
        assert len(settings) == 3
        last = {run: saved["runs"][run]["curve"][-1]["held_out"]["bound"] for run in settings}
        [(_, values)] = drawn[name]
        assert values[-1] == min(last.values())  # by validation images


def test_no_results_no_figures(tmp_path):
    command = [sys.executable, "-m", "kanerva.cli.main", "figures", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "--results" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("contents", ['{"runs": ', "[]", "3", '{"runs": 3}'])
def test_broken_results_are_named(tmp_path, contents):
    name = "compare" if contents.endswith("3}") else "omniglot"
    (tmp_path / f"{name}.json").write_text(contents)
    command = [sys.executable, "-m", "kanerva.cli.main", "figures", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert (f"{name}.json" if name == "omniglot" else "capacity") in done.stderr
    assert len(done.stderr.splitlines()) == 1
