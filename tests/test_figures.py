"""Figures from saved results: every file, one page that needs nothing else, honest errors."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from kanerva.errors import KanervaError
from kanerva.figures.catalogue import CATALOGUE
from kanerva.figures.page import make_figures
from kanerva.figures.recall_drawings import recall_by_damage
from kanerva.figures.results import MissingResultError, Results

RESULTS = Path(__file__).parent.parent / "results"


def evaluation(bound, length=32):
    return {
        "bound": bound,
        "stderr": 0.1,
        "reconstruction": bound - 3,
        "kl_address": 2.0,
        "kl_code": 1.0,
        "memory_kl_per_item": None,
        "episodes": 100,
        "episode_length": length,
    }


def record(label, seed, bound, recipe="omniglot"):
    steps = (10, 20, 30)
    curve = [
        {"step": step, "held_out": {"split": "test", **evaluation(bound + 30 - step)}}
        for step in steps
    ]
    final = evaluation(bound)
    return {"label": label, "seed": seed, "recipe": recipe, "final": final, "curve": curve}


def sweep(runs, **parts):
    return {"schema": 2, "what": "made by hand", "runs": runs, **parts}


@pytest.fixture
def by_hand(tmp_path):
    """A results folder with two small sweeps; one of them tried two settings of a recipe."""
    folder = tmp_path / "results"
    folder.mkdir()
    labels = ("Kanerva Machine", "DNC")
    runs = [record(label, seed, 60 + seed) for label in labels for seed in (0, 1)]
    lengths = [evaluation(50 + length, length) for length in (16, 32)]
    capacity = {label: {"2": lengths, "all": lengths} for label in labels}
    (folder / "compare.json").write_text(json.dumps(sweep(runs, capacity=capacity)))
    tried = [
        record("slow", 0, 90, recipe="cifar10"),
        record("fast", 0, 80, recipe="cifar10"),
        record("cifar10-vae", 0, 99, recipe="cifar10-vae"),
    ]
    best = {"cifar10": "fast"}
    (folder / "cifar10.json").write_text(json.dumps(sweep(tried, best=best)))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_figures(RESULTS, tmp_path_factory.mktemp("figures"))


AWAITED = ("paper-omniglot.json", "paper-cifar10.json", "denoise-paper.json", "omniglot-paper")
"""Results that the repository may not have yet: those of the paper's own settings."""


def test_every_figure_is_made(made):
    names = [entry.name for entry in CATALOGUE]
    assert made.names == [name for name in names if name not in made.missing]
    for name, what in made.missing.items():
        assert what.startswith(AWAITED) or name == "cifar-prior-samples", (name, what)
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


def test_of_several_settings_the_chosen_one_is_drawn(made):
    saved = json.loads((RESULTS / "cifar10.json").read_text())
    drawn = json.loads((made.page.parent / "cifar-train.json").read_text())
    for name, recipe in (("Kanerva Machine", "cifar10"), ("VAE", "cifar10-vae")):
        settings = [run for run in saved["runs"] if run["recipe"] == recipe]
        assert len(settings) == 3
        last = [run["curve"][-1]["held_out"]["bound"] for run in settings]
        [(_, values)] = drawn["bound"][name]
        assert values[-1] == min(last)  # by validation images


def test_records_are_read(by_hand):
    results = Results.load(by_hand)
    assert results.sweep("compare").labels == ["Kanerva Machine", "DNC"]
    assert [run.seed for run in results.seeds("compare", "DNC")] == [0, 1]
    [chosen] = results.seeds("cifar10", "cifar10")
    assert chosen.label == "fast"
    assert [point.step for point in chosen.curve] == [10, 20, 30]
    assert chosen.final.bound == 80
    with pytest.raises(MissingResultError, match=r"runs of LRUA in compare\.json"):
        results.seeds("compare", "LRUA")
    with pytest.raises(MissingResultError, match=r"omniglot\.json"):
        results.sweep("omniglot")


def test_what_has_no_results_is_named_as_missing(by_hand, tmp_path):
    made = make_figures(by_hand, tmp_path / "out")
    assert made.names == ["capacity-training", "capacity", "cifar-train"]
    assert set(made.names) | set(made.missing) == {entry.name for entry in CATALOGUE}
    assert made.missing["learning_curves"] == "omniglot.json"
    for name in made.missing:
        assert name in made.page.read_text()


def curve(label, recipe, seed, kls, bound=60.0):
    """A record whose KL(z) takes the given values, with 10 nats of KL(y)."""
    made = record(label, seed, bound, recipe=recipe)
    row = {"split": "test", **evaluation(bound)}
    made["curve"] = [
        {"step": 100 * n, "held_out": {**row, "kl_address": 10.0, "kl_code": kl}}
        for n, kl in enumerate(kls, 1)
    ]
    made["final"] = {**evaluation(bound), "kl_address": 10.0, "kl_code": kls[-1]}
    return made


def test_paper_settings_are_drawn_with_their_verdicts(tmp_path):
    """A KL that rises and falls again is a dip; one that only falls is not."""
    rising = [curve("3e-4", "omniglot-paper", seed, [2.0, 30.0, 20.0, 0.5]) for seed in range(2)]
    falling = [curve("1e-4", "omniglot-paper", 0, [30.0, 20.0, 5.0])]
    vae = [curve("VAE", "omniglot-paper-vae", 0, [20.0, 35.0, 36.0], bound=100.0)]
    results, out = tmp_path / "results", tmp_path / "out"
    results.mkdir()
    (results / "paper-omniglot.json").write_text(json.dumps(sweep([*rising, *falling, *vae])))
    page = make_figures(results, out).page.read_text()
    assert "all machines end below all VAEs" in page
    assert "The KL rises and then dips, by 28 nats, in 2 of 3 runs" in page
    assert "Not reproduced for KL(z) (at most 5.00 nats)" in page
    drawn = json.loads((out / "train_kl-paper.json").read_text())
    assert drawn["z"]["3e-4"][1] == [[100, 200, 300, 400], [2.0, 30.0, 20.0, 0.5]]
    assert "VAE" not in drawn["y"]


def test_images_of_the_papers_settings_are_drawn(tmp_path):
    """Denoising next to a model that was trained for it, and samples with what was written."""
    saved = json.loads((RESULTS / "figure_images.json").read_text())
    saved = {"omniglot": saved["omniglot"], "omniglot-paper": saved["omniglot"]}
    results, out = tmp_path / "results", tmp_path / "out"
    results.mkdir()
    (results / "figure_images.json").write_text(json.dumps(saved))
    denoise = json.loads((RESULTS / "denoise.json").read_text())
    for name, errors in (("denoise", [0.05, 0.06, 0.07]), ("denoise-paper", [0.09, 0.08, 0.07])):
        (results / f"{name}.json").write_text(json.dumps({**denoise, "errors": errors}))
    made = make_figures(results, out)
    for name in ("memory-denoising-paper", "denoising-errors", "prior-samples-paper"):
        assert name in made.names
    page = made.page.read_text()
    assert "Reproduced: error without training for it 0.139 damaged; 0.090, 0.080, 0.070" in page
    drawn = json.loads((out / "prior-samples-paper.json").read_text())
    assert set(drawn) == {"vae", "2", "4", "12"}
    assert drawn["4"]["written"]["shape"][0] == 12
    widths = {}
    for name in ("memory-denoising", "memory-denoising-paper"):
        with Image.open(out / f"{name}.png") as picture:
            widths[name] = picture.width
    assert widths["memory-denoising-paper"] > 1.9 * widths["memory-denoising"]


def test_recall_is_drawn_next_to_looking_images_up(tmp_path):
    """Each number under its own name, the last reading's error, and where the memory is behind."""
    ahead = {
        **{"episodes": 7, "cue_error": 0.2, "errors": [0.05, 0.04], "recognised": 0.9876},
        **{"nearest_error": 0.1, "nearest_recognised": 0.5},
        **{"hopfield_error": 0.12, "hopfield_recognised": 0.45},
    }
    behind = {**ahead, "recognised": 0.99, "nearest_recognised": 1.0}
    report = {"damages": {"what": {}, "half": ahead, "line": behind}}
    (tmp_path / "recall_report.json").write_text(json.dumps(report))
    drawn = recall_by_damage(Results.load(tmp_path))
    assert drawn.verdict == (
        "The memory finds 98.76% of the cues or more (worst: half). "
        "Behind the nearest stored image by more than 0.1 points: line (1.00 points)."
    )
    assert isinstance(drawn.figure, Figure)
    shares, errors = drawn.figure.axes
    found = [np.asarray(line.get_xdata()).tolist() for line in shares.get_lines()]
    assert found == [[98.76, 99.0], [50.0, 100.0], [45.0, 45.0]]
    found = [np.asarray(line.get_xdata()).tolist() for line in errors.get_lines()]
    assert found == [[0.04, 0.04], [0.1, 0.1], [0.12, 0.12], [0.2, 0.2]]
    assert [text.get_text() for text in shares.get_yticklabels()] == ["half", "line"]
    legend = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert legend == ["memory", "nearest stored image", "modern Hopfield network", "the cue itself"]


def test_titles_and_verdicts_are_in_the_pictures(made):
    """Words above an image make it higher; those of a plot are in its SVG."""
    saved = json.loads((RESULTS / "figure_images.json").read_text())
    rows = len(saved["omniglot"]["vae"])
    with Image.open(made.page.parent / "iter_prior_vae.png") as picture:
        assert picture.height > rows * 28 * 4 + 60
        band = np.asarray(picture.convert("L"))[:50]
    assert band.min() < 100, "no words above the image"
    assert band.max() == 255
    for name in ("learning_curves", "train_kl", "cov"):
        text = (made.page.parent / f"{name}.svg").read_text()
        title = next(entry.title for entry in CATALOGUE if entry.name == name)
        assert f"<!-- {title}" in text


def test_a_run_that_failed_is_drawn_and_stays_json(by_hand, tmp_path):
    """JSON has no word for NaN, so sweeps write null."""
    file = by_hand / "compare.json"
    saved = json.loads(file.read_text())
    saved["runs"][0]["final"]["bound"] = None
    saved["runs"][0]["curve"][-1]["held_out"]["bound"] = None
    file.write_text(json.dumps(saved))
    made = make_figures(by_hand, tmp_path / "out")
    assert "61.0 to nan nats over 2 seeds" in made.page.read_text()
    drawn = json.loads((tmp_path / "out" / "capacity-training.json").read_text())
    assert drawn["Kanerva Machine"][0][1] == [80, 70, None]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda saved: saved.pop("schema"), '"schema": 2'),
        (lambda saved: saved.update(schema=1), '"schema": 2'),
        (lambda saved: saved.update(runs={"DNC seed 0": {}}), "a list at runs"),
        (lambda saved: saved["runs"][1].pop("seed"), r"the key 'seed' at runs\[1\]"),
        (lambda saved: saved["runs"][1].update(seed="0"), r"whole number at runs\[1\].seed"),
        (lambda saved: saved["runs"][0]["final"].update(bound="x"), r"runs\[0\].final.bound"),
    ],
)
def test_records_of_another_form_are_refused(by_hand, change, words):
    file = by_hand / "compare.json"
    saved = json.loads(file.read_text())
    change(saved)
    file.write_text(json.dumps(saved))
    with pytest.raises(KanervaError, match=words) as error:
        Results.load(by_hand).sweep("compare")
    assert "compare.json" in str(error.value)


def test_no_results_no_figures(tmp_path):
    command = [sys.executable, "-m", "kanerva.cli.main", "figures", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "--results" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("contents", ['{"runs": ', "[]", "3", '{"runs": 3}'])
def test_broken_results_are_named(tmp_path, contents):
    (tmp_path / "omniglot.json").write_text(contents)
    command = [sys.executable, "-m", "kanerva.cli.main", "figures", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "omniglot.json" in done.stderr
    assert len(done.stderr.splitlines()) == 1
