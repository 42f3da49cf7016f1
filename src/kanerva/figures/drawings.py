"""Each figure drawn from saved results, with what it shows in words."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from kanerva.figures import draw
from kanerva.figures.results import Results, finals, lines, runs
from kanerva.rendering.image_grid import image_grid
from kanerva.rendering.image_json import images_from_json

NATS = "negative bound, nats per image"
SCALE = 4
"""Side of the square that a pixel becomes in a figure."""


class Drawn(NamedTuple):
    """A figure, what it shows in words, and its data."""

    figure: Figure | Image.Image
    ours: str
    data: Any


def learning_curves(results: Results) -> Drawn:
    """Figure learning_curves: test bounds while training."""
    machine, vae = (runs(results, "omniglot", name) for name in ("omniglot", "omniglot-vae"))
    groups = {"Kanerva Machine": lines(machine, "bound"), "VAE": lines(vae, "bound")}
    figure = draw.curves(
        groups, x="training steps", y=NATS, limits=(0, 140), level=(68.3, "the paper's 68.3")
    )
    ours = f"On 1,000 test episodes: {finals(machine)}; VAE {finals(vae)}."
    return Drawn(figure, ours, groups)


def train_kl(results: Results) -> Drawn:
    """Figure train_kl: KL of y and of z while training."""
    machine, vae = (runs(results, "omniglot", name) for name in ("omniglot", "omniglot-vae"))
    groups = {
        "Kanerva Machine, KL of y": lines(machine, "kl_address"),
        "Kanerva Machine, KL of z": lines(machine, "kl_code"),
        "VAE, KL of z": lines(vae, "kl_code"),
    }
    figure = draw.curves(groups, x="training steps", y="KL, nats per image")
    final = machine[0]["final"]
    ours = (
        f"At the end {final['kl_address']:.1f} nats of address and {final['kl_code']:.2f} of code: "
        f"z is read from the memory nearly as it is. The VAE pays {vae[0]['final']['kl_code']:.0f}."
    )
    return Drawn(figure, ours, groups)


def reconstruction(results: Results) -> Drawn:
    """Figure memory, left: what is read, and by which weights."""
    data = results["exhibits"]["omniglot"]["reconstruction"]
    named = {name: images_from_json(data[name]) for name in ("written", "read")}
    ours = (
        f"In use are {data['rows_used']:.1f} ± {data['rows_used_stderr']:.1f} of 64 rows "
        "(effective number over 50 episodes): weights are distributed."
    )
    return Drawn(image_grid(named, bars={"weights": data["weights"]}, scale=SCALE), ours, data)


def repair(results: Results) -> Drawn:
    """Figure memory, right: damaged images over readings."""
    data = results["exhibits"]["omniglot"]["repair"]
    measured = results["denoise"]
    errors = ", ".join(f"{error:.3f}" for error in measured["errors"])
    ours = (
        f"Mean error of a pixel over {measured['episodes']:,} test episodes: "
        f"{measured['corrupted_error']:.3f} damaged; {errors} after each reading."
    )
    return Drawn(_rows(data), ours, data)


def samples(data_set: str, num_classes: str) -> Callable[[Results], Drawn]:
    """Figures prior-samples and cifar-prior-samples: what is generated after few classes."""

    def drawn(results: Results) -> Drawn:
        data = results["exhibits"][data_set]["samples"][num_classes]
        figure = _rows(data)
        ours = "First row: some of what was written. Below: samples after 0 to 8 readings."
        return Drawn(figure, ours, data)

    return drawn


def sample_classes(results: Results) -> Drawn:
    """What prior-samples claims, counted by a classifier."""
    measured = results["samples"]
    groups = {}
    for num, shares in measured["classes"].items():
        for name, key in (("Kanerva Machine", "kanerva"), ("VAE", "vae")):
            means, errors = shares[key]["mean"], shares[key]["stderr"]
            groups[f"{name}, {num} classes"] = (measured["iterations"], means, errors)
    figure = draw.lines_with_errors(groups, x="readings", y="share in the written classes")
    real = ", ".join(
        f"{shares['real']['mean'][0]:.2f} for {num}" for num, shares in measured["classes"].items()
    )
    ours = (
        f"A classifier of all characters, right on {measured['classifier_accuracy']:.0%} of the "
        f"test drawers' images, counts. Real images of the written classes: {real} classes."
    )
    return Drawn(figure, ours, measured)


def line(results: Results) -> Drawn:
    """Figure interp: images between two, in weight space."""
    data = results["exhibits"]["omniglot"]["line"]
    rows = [images_from_json(row) for row in data.values()]
    figure = image_grid({"": np.concatenate(rows)}, num_columns=len(rows[0]), scale=SCALE)
    return Drawn(figure, "The ends are two written images; weights in between are mixed.", data)


def fed_back(data_set: str) -> Callable[[Results], Drawn]:
    """Figure iter_prior_vae, the control: a VAE has no memory to read again."""

    def drawn(results: Results) -> Drawn:
        data = results["exhibits"][data_set]["vae"]
        figure = _rows(data)
        return Drawn(figure, "Samples of our VAE, fed back up to ten times.", data)

    return drawn


def covariance(results: Results) -> Drawn:
    """Figure cov: full and diagonal U, episodes written in one call."""
    full = runs(results, "omniglot", "omniglot")
    diagonal = runs(results, "omniglot", "diagonal")
    groups = {"full covariance": lines(full, "bound"), "diagonal": lines(diagonal, "bound")}
    figure = draw.curves(groups, x="training steps", y=NATS, limits=(0, 140))
    ours = f"On test, full: {finals(full)}; diagonal: {finals(diagonal)}."
    return Drawn(figure, ours, groups)


def covariance_online(results: Results) -> Drawn:
    """Figure cov with all but the diagonal of U dropped after every item."""
    full, diagonal = (
        runs(results, "covariance", name) for name in ("full", "diagonal after every item")
    )
    groups = {
        "full covariance": lines(full, "bound"),
        "diagonal after every item": lines(diagonal, "bound"),
    }
    figure = draw.curves(groups, x="training steps (4 episodes each)", y=NATS)
    ours = (
        f"Items written one after another, and only the diagonal kept: {finals(diagonal)} on test; "
        f"full: {finals(full)}, the same either way. Short runs with small batches."
    )
    return Drawn(figure, ours, groups)


def contest(results: Results) -> Drawn:
    """Figure capacity, left: training against other memories."""
    titles = results["compare"]["runs"]
    names = list(dict.fromkeys(title.split(" seed")[0] for title in titles))
    groups = {name: lines(runs(results, "compare", name), "bound") for name in names}
    figure = draw.curves(groups, x="training steps", y=NATS)
    ends = (f"{name}: {finals(runs(results, 'compare', name))}" for name in names)
    return Drawn(figure, f"On test, z from the memory alone. {'; '.join(ends)}.", groups)


def capacity(results: Results) -> Drawn:
    """Figure capacity, right: bounds at other lengths and class counts."""
    measured = results["compare"]["capacity"]
    groups = {
        f"{name}, {classes if classes == 'all' else classes + ' classes'}": (
            [row["episode_length"] for row in rows],
            [row["bound"] for row in rows],
            [row["stderr"] for row in rows],
        )
        for name, curves in measured.items()
        if name in ("Kanerva Machine", "DNC")
        for classes, rows in curves.items()
    }
    figure = draw.lines_with_errors(groups, x="items in an episode", y=NATS, log=True)
    ours = "Test bound of one model of each kind, trained with episodes of 32."
    return Drawn(figure, ours, groups)


def cifar_curves(results: Results) -> Drawn:
    """Figure cifar-train: bounds while training."""
    machine, vae = (runs(results, "cifar10", name) for name in ("cifar10", "cifar10-vae"))
    groups = {"Kanerva Machine": lines(machine, "bound"), "VAE": lines(vae, "bound")}
    figure = draw.curves(groups, x="training steps", y=NATS)
    ours = (
        f"{finals(machine)} against {finals(vae)} on test; the curves are of validation images. "
        "JPEG re-encoding of CIFAR-10."
    )
    return Drawn(figure, ours, groups)


def _rows(data: dict[str, Any]) -> Image.Image:
    """Saved images, one row for each label."""
    return image_grid({name: images_from_json(row) for name, row in data.items()}, scale=SCALE)
