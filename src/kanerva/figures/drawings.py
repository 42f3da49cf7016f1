"""Each figure, drawn from saved results, with what it shows in words."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from kanerva.figures import draw
from kanerva.figures.draw import Curve, ErrorCurve
from kanerva.figures.records import Record
from kanerva.figures.results import MissingResultError, Results, Rows
from kanerva.rendering.image_grid import image_grid
from kanerva.rendering.image_json import images_to_json

NATS = "negative bound, nats per image"
SCALE = 4
"""Side of the square that a pixel becomes in a figure."""


class Drawn(NamedTuple):
    """A figure, what it shows in words, and its data as JSON can hold them."""

    figure: Figure | Image.Image
    ours: str
    data: Mapping[str, object]


def learning_curves(results: Results) -> Drawn:
    """Figure learning_curves: test bounds while training."""
    machine, vae = (results.seeds("omniglot", name) for name in ("omniglot", "omniglot-vae"))
    groups = {"Kanerva Machine": _curves(machine, "bound"), "VAE": _curves(vae, "bound")}
    figure = draw.curves(
        groups, x="training steps", y=NATS, limits=(0, 140), level=(68.3, "the paper's 68.3")
    )
    ours = f"On 1,000 test episodes: {_final_bounds(machine)}; VAE {_final_bounds(vae)}."
    return Drawn(figure, ours, groups)


def train_kl(results: Results) -> Drawn:
    """Figure train_kl: KL of y and of z while training."""
    machine, vae = (results.seeds("omniglot", name) for name in ("omniglot", "omniglot-vae"))
    groups = {
        "Kanerva Machine, KL of y": _curves(machine, "kl_address"),
        "Kanerva Machine, KL of z": _curves(machine, "kl_code"),
        "VAE, KL of z": _curves(vae, "kl_code"),
    }
    figure = draw.curves(groups, x="training steps", y="KL, nats per image")
    final = machine[0].final
    ours = (
        f"At the end {final.kl_address:.1f} nats for the address and {final.kl_code:.2f} for the "
        f"code: z is almost exactly what the memory holds. The VAE pays "
        f"{vae[0].final.kl_code:.0f}."
    )
    return Drawn(figure, ours, groups)


def reconstruction(results: Results) -> Drawn:
    """Figure memory, left: what is read, and with which weights."""
    found = results.reconstruction("omniglot")
    rows = {"written": found.written, "read": found.read}
    ours = (
        f"A reading uses {found.rows_used:.1f} ± {found.rows_used_stderr:.1f} of 64 rows "
        "(effective number over 50 episodes): weights are distributed."
    )
    data = {
        **_rows_to_json(rows),
        "weights": found.weights,
        "rows_used": found.rows_used,
        "rows_used_stderr": found.rows_used_stderr,
    }
    return Drawn(image_grid(rows, bars={"weights": found.weights}, scale=SCALE), ours, data)


def repair(results: Results) -> Drawn:
    """Figure memory, right: damaged images over readings."""
    rows, measured = results.image_rows("omniglot", "repair"), results.denoising()
    errors = ", ".join(f"{error:.3f}" for error in measured.errors)
    ours = (
        f"Mean error of a pixel over {measured.num_episodes:,} test episodes: "
        f"{measured.cue_error:.3f} damaged; {errors} after each reading."
    )
    return _drawn_rows(rows, ours)


def samples(data_set: str, num_classes: str) -> Callable[[Results], Drawn]:
    """Figures prior-samples and cifar-prior-samples: images generated after few classes."""

    def drawn(results: Results) -> Drawn:
        rows = results.image_rows(data_set, "samples", num_classes)
        ours = "First row: some of what was written. Below: samples after 0 to 8 readings."
        return _drawn_rows(rows, ours)

    return drawn


def sample_classes(results: Results) -> Drawn:
    """What prior-samples claims, counted by a classifier."""
    measured = results.sample_classes()
    lines = [
        ErrorCurve(
            model,
            f"{num_classes} classes",
            measured.readings,
            shares[key].means,
            shares[key].stderrs,
        )
        for num_classes, shares in measured.shares.items()
        for model, key in (("Kanerva Machine", "kanerva"), ("VAE", "vae"))
    ]
    figure = draw.curves_with_errors(lines, x="readings", y="share in the written classes")
    real = ", ".join(
        f"{shares['real'].means[0]:.2f} for {num_classes}"
        for num_classes, shares in measured.shares.items()
    )
    ours = (
        "Counted by a classifier of all characters that is right for "
        f"{measured.classifier_accuracy:.0%} of the test drawers' images. Real images of the "
        f"written classes: {real} classes."
    )
    return Drawn(figure, ours, dataclasses.asdict(measured))


def line(results: Results) -> Drawn:
    """Figure interp: images between two others, in weight space."""
    rows = results.image_rows("omniglot", "line")
    images = list(rows.values())
    figure = image_grid({"": np.concatenate(images)}, num_columns=len(images[0]), scale=SCALE)
    ours = "The ends of a row are two written images. In between, their weights are mixed."
    return Drawn(figure, ours, _rows_to_json(rows))


def fed_back(data_set: str) -> Callable[[Results], Drawn]:
    """Figure iter_prior_vae, the control: a VAE has no memory to read again."""

    def drawn(results: Results) -> Drawn:
        rows = results.image_rows(data_set, "vae")
        return _drawn_rows(rows, "Samples of our VAE, fed back up to ten times.")

    return drawn


def covariance(results: Results) -> Drawn:
    """Figure cov: full and diagonal U, episodes written in one call."""
    full, diagonal = (results.seeds("omniglot", name) for name in ("omniglot", "diagonal"))
    groups = {"full covariance": _curves(full, "bound"), "diagonal": _curves(diagonal, "bound")}
    figure = draw.curves(groups, x="training steps", y=NATS, limits=(0, 140))
    ours = f"On test, full: {_final_bounds(full)}; diagonal: {_final_bounds(diagonal)}."
    return Drawn(figure, ours, groups)


def covariance_online(results: Results) -> Drawn:
    """Figure cov with all but the diagonal of U dropped after every item."""
    full, diagonal = (
        results.seeds("covariance", name) for name in ("full", "diagonal after every item")
    )
    groups = {
        "full covariance": _curves(full, "bound"),
        "diagonal after every item": _curves(diagonal, "bound"),
    }
    figure = draw.curves(groups, x="training steps (4 episodes each)", y=NATS)
    ours = (
        "Items written one after another, and only the diagonal kept: "
        f"{_final_bounds(diagonal)} on test; full, which is the same either way: "
        f"{_final_bounds(full)}. Short runs with small batches."
    )
    return Drawn(figure, ours, groups)


def memories_in_training(results: Results) -> Drawn:
    """Figure capacity, left: training with each of several memories."""
    sweep = results.sweep("compare")
    groups = {label: _curves(sweep.seeds(label), "bound") for label in sweep.labels}
    figure = draw.curves(groups, x="training steps", y=NATS)
    ends = (f"{label}: {_final_bounds(sweep.seeds(label))}" for label in sweep.labels)
    return Drawn(figure, f"On test, z from the memory alone. {'; '.join(ends)}.", groups)


def capacity(results: Results) -> Drawn:
    """Figure capacity, right: bounds at other lengths and class counts."""
    measured = results.sweep("compare").capacity
    lines = [
        ErrorCurve(
            label,
            num_classes if num_classes == "all" else f"{num_classes} classes",
            [point.episode_length for point in points],
            [point.bound for point in points],
            [point.stderr for point in points],
        )
        for label in ("Kanerva Machine", "DNC")
        for num_classes, points in measured.get(label, {}).items()
    ]
    if not lines:
        raise MissingResultError("capacity of Kanerva Machine or DNC in compare.json")
    figure = draw.curves_with_errors(lines, x="items in an episode", y=NATS, log=True)
    data = {line.name: (line.positions, line.means, line.stderrs) for line in lines}
    return Drawn(figure, "Test bound of one model of each kind, trained with episodes of 32.", data)


def cifar_curves(results: Results) -> Drawn:
    """Figure cifar-train: bounds while training."""
    machine, vae = (results.seeds("cifar10", name) for name in ("cifar10", "cifar10-vae"))
    groups = {"Kanerva Machine": _curves(machine, "bound"), "VAE": _curves(vae, "bound")}
    figure = draw.curves(groups, x="training steps", y=NATS)
    ours = (
        f"{_final_bounds(machine)} against {_final_bounds(vae)} on test. The curves show "
        "validation images. CIFAR-10 here is a JPEG re-encoding."
    )
    return Drawn(figure, ours, groups)


def _curves(runs: Sequence[Record], term: Literal["bound", "kl_address", "kl_code"]) -> list[Curve]:
    """Steps and held-out values of each run."""
    return [
        (
            [point.step for point in run.curve],
            [getattr(point.held_out, term) for point in run.curve],
        )
        for run in runs
    ]


def _final_bounds(runs: Sequence[Record]) -> str:
    """The lowest and the highest bound at the end, in words."""
    values = sorted((run.final.bound for run in runs), key=lambda nats: (math.isnan(nats), nats))
    if len(values) == 1:
        return f"{values[0]:.1f} nats"
    return f"{values[0]:.1f} to {values[-1]:.1f} nats over {len(values)} seeds"


def _drawn_rows(rows: Rows, ours: str) -> Drawn:
    """Saved images, one row for each label."""
    return Drawn(image_grid(rows, scale=SCALE), ours, _rows_to_json(rows))


def _rows_to_json(rows: Rows) -> dict[str, object]:
    return {label: images_to_json(row) for label, row in rows.items()}
