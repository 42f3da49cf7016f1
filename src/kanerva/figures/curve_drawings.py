"""Each figure of curves, drawn from saved results."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from kanerva.figures import draw
from kanerva.figures.draw import ErrorCurve, Panel
from kanerva.figures.drawings import (
    NATS,
    OTHER_DATA,
    Drawn,
    all_below,
    curves_of,
    dip,
    final_bounds,
    highest_kl,
)
from kanerva.figures.records import Measurement, Record
from kanerva.figures.results import MissingResultError, Results

Groups = Mapping[str, Sequence[Record]]
MIN_DIP = 0.2
"""The share of its highest value by which the KL must rise and fall again to count as a dip."""
STEPS = "training steps"
PIXEL_ENTROPY = 227.5
"""Nats of an Omniglot image for a model that knows only how often each pixel is ink."""


def own_omniglot(results: Results) -> tuple[Groups, Groups]:
    """The machines and the VAEs of our own recipe on Omniglot."""
    return (
        {"Kanerva Machine": results.seeds("omniglot", "omniglot")},
        {"VAE": results.seeds("omniglot", "omniglot-vae")},
    )


def own_cifar(results: Results) -> tuple[Groups, Groups]:
    """The machines and the VAEs of our own recipe on CIFAR-10, at their chosen settings."""
    return (
        {"Kanerva Machine": results.seeds("cifar10", "cifar10")},
        {"VAE": results.seeds("cifar10", "cifar10-vae")},
    )


def with_paper_settings(sweep: str, recipe: str) -> Callable[[Results], tuple[Groups, Groups]]:
    """The machines and the VAEs of a sweep with the paper's settings, by their labels."""

    def chosen(results: Results) -> tuple[Groups, Groups]:
        found = results.sweep(sweep)
        machines, vaes = found.of_recipe(recipe), found.of_recipe(f"{recipe}-vae")
        for name, runs in ((recipe, machines), (f"{recipe}-vae", vaes)):
            if not runs:
                raise MissingResultError(f"runs of {name} in {sweep}.json")
        return machines, vaes

    return chosen


def learning_curves(
    choose: Callable[[Results], tuple[Groups, Groups]], *, published: str, limit: float | None
) -> Callable[[Results], Drawn]:
    """Figures learning_curves and cifar-train: bound, reconstruction and KL while training."""

    def drawn(results: Results) -> Drawn:
        machines, vaes = choose(results)
        groups = {**machines, **vaes}
        terms = {
            "bound": NATS,
            "reconstruction": "reconstruction, nats",
            "kl": "KL(y) + KL(z), nats",
        }
        limits = None if limit is None else (0.0, limit)
        data = {
            term: {name: curves_of(runs, term) for name, runs in groups.items()}
            for term in ("bound", "reconstruction", "kl")
        }
        figure = draw.panels(
            [Panel(terms[term], data[term], limits if term == "bound" else None) for term in terms],
            x=STEPS,
        )
        ends = "; ".join(f"{name}: {final_bounds(runs)}" for name, runs in groups.items())
        verdict = f"{_lower(machines, vaes)} {_about_dip(machines)} {published}"
        return Drawn(figure, f"At the end, on held-out images: {ends}.", data, verdict)

    return drawn


def train_kl(choose: Callable[[Results], tuple[Groups, Groups]]) -> Callable[[Results], Drawn]:
    """Figure train_kl: KL of y (left) and of z (right) while training."""

    def drawn(results: Results) -> Drawn:
        machines, vaes = choose(results)
        of_y = {name: curves_of(runs, "kl_address") for name, runs in machines.items()}
        of_z = {name: curves_of(runs, "kl_code") for name, runs in {**machines, **vaes}.items()}
        figure = draw.panels([Panel("KL(y), nats", of_y), Panel("KL(z), nats", of_z)], x=STEPS)
        runs = [run for seeds in machines.values() for run in seeds]
        code, address = (
            max(getattr(run.final, term) for run in runs) for term in ("kl_code", "kl_address")
        )
        vae = min(run.final.kl_code for seeds in vaes.values() for run in seeds)
        near_zero = "Reproduced: KL(z) ends near zero" if code < 1 else "Not reproduced for KL(z)"
        cheaper = "below" if address < vae else "not below"
        verdict = (
            f"{near_zero} (at most {code:.2f} nats). KL(y) ends at most at {address:.1f} nats, "
            f"{cheaper} the VAE's KL(z) of {vae:.0f}."
        )
        return Drawn(figure, "Held-out images while training.", {"y": of_y, "z": of_z}, verdict)

    return drawn


def covariance(sweep: str, full: str, diagonal: str, *, about: str) -> Callable[[Results], Drawn]:
    """Figure cov: full and diagonal U, written in one call or item by item."""

    def drawn(results: Results) -> Drawn:
        ones, others = (results.seeds(sweep, name) for name in (full, diagonal))
        groups = {"full covariance": curves_of(ones, "bound"), diagonal: curves_of(others, "bound")}
        highest = max(run.curve[0].held_out.bound for run in (*ones, *others))
        figure = draw.curves(groups, x=STEPS, y=NATS, limits=(0, min(highest, 240)))
        gap = min(run.final.bound for run in others) - max(run.final.bound for run in ones)
        found = "Reproduced" if gap > 0 else "Not reproduced: the seeds overlap"
        verdict = (
            f"{found}. Full ends at {final_bounds(ones)}, {diagonal} at {final_bounds(others)}."
        )
        return Drawn(figure, about, groups, verdict)

    return drawn


def memories_in_training(results: Results) -> Drawn:
    """Figure capacity, left: training with each of several memories."""
    sweep = results.comparison()
    groups = {label: curves_of(sweep.seeds(label), "bound") for label in sweep.labels}
    figure = draw.curves(groups, x=STEPS, y=NATS)
    ends = {label: final_bounds(sweep.seeds(label)) for label in sweep.labels}
    ours = "; ".join(f"{label}: {words}" for label, words in ends.items())
    machine, dnc = (sweep.seeds(label) for label in ("Kanerva Machine", "DNC"))
    verdict = ours + "."
    if machine and dnc:
        found = "Reproduced" if all_below(machine, dnc) else "Not reproduced"
        verdict = (
            f"{found}: every Kanerva Machine ({ends['Kanerva Machine']}) below every DNC "
            f"({ends['DNC']}). Different: in the paper the best DNCs came near 100; {OTHER_DATA}."
        )
    return Drawn(figure, f"On test, z from the memory alone. {ours}.", groups, verdict)


def capacity(results: Results) -> Drawn:
    """Figure capacity, right: bounds at other lengths and class counts."""
    measured = results.comparison().capacity
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
    lines += results.inside_of_memories()
    figure = draw.curves_with_errors(lines, x="items in an episode", y=NATS, log=True)
    data = {line.name: (line.positions, line.means, line.stderrs) for line in lines}
    verdict = _about_capacity(measured)
    ours = "Test bound of one model of each kind, trained with episodes of 32."
    return Drawn(figure, ours, data, verdict)


def _about_capacity(measured: Mapping[str, Mapping[str, Sequence[Measurement]]]) -> str:
    """What the curves say about the paper's two claims, from the Kanerva Machine's side."""
    curves = measured.get("Kanerva Machine", {})
    words = []
    if "2" in curves and "all" in curves:
        easier = all(
            few.bound < many.bound for few, many in zip(curves["2"], curves["all"], strict=True)
        )
        words.append(f"{'Reproduced' if easier else 'Not reproduced'}: fewer classes are easier.")
    rival = measured.get("DNC", {})
    pairs = [pair for key in curves for pair in zip(curves[key], rival.get(key, ()), strict=False)]
    if pairs:
        below = all(one.bound < other.bound for one, other in pairs)
        words.append(f"{'Reproduced' if below else 'Not reproduced'}: always below the DNC.")
    over = [one.episode_length for one in curves.get("all", ()) if one.bound > PIXEL_ENTROPY]
    if over:
        words.append(
            f"Not reproduced: graceful growth. With {over[0]} different items and more it costs "
            f"more than to know only how often each pixel is ink ({PIXEL_ENTROPY} nats)."
        )
    return " ".join(words)


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
    rising = all(
        shares["kanerva"].means[-1] > shares["kanerva"].means[0]
        for shares in measured.shares.values()
    )
    verdict = (
        f"{'Reproduced' if rising else 'Not reproduced'}: samples come to look like what was "
        "written over the readings, and a VAE's do not. A copy would score as high as real images."
    )
    return Drawn(figure, ours, dataclasses.asdict(measured), verdict)


def denoising_errors(results: Results) -> Drawn:
    """Section 4.3 in numbers: the error over readings, trained for it or not."""
    named = {"shipped, trained with damaged cues": "denoise", "paper's settings": "denoise-paper"}
    found = {name: results.denoising(file) for name, file in named.items()}
    groups = {
        name: [([0, *range(1, 1 + len(one.errors))], [one.cue_error, *one.errors])]
        for name, one in found.items()
    }
    figure = draw.curves(groups, x="readings", y="mean error of a pixel", limits=(0.0, 0.2))
    paper = found["paper's settings"]
    verdict = (
        f"{'Reproduced' if paper.falls else 'Not reproduced'}. Errors without training for it: "
        f"{paper.cue_error:.3f} damaged; {', '.join(f'{one:.3f}' for one in paper.errors[:3])} "
        "after 1, 2, 3 readings. The nearest stored image is the right one for 94 % of these cues."
    )
    return Drawn(figure, f"{paper.num_episodes:,} test episodes, 12 x 12 blocks.", groups, verdict)


def _lower(machines: Groups, vaes: Groups) -> str:
    """Whether all machines are below all VAEs, in words."""
    others = [run for seeds in vaes.values() for run in seeds]
    ones = [run for seeds in machines.values() for run in seeds]
    ends = f"{final_bounds(ones)} against {final_bounds(others)}".replace("seeds", "runs")
    if all_below(ones, others):
        return f"Reproduced: all machines end below all VAEs ({ends})."
    return f"Not reproduced: not all machines end below all VAEs ({ends})."


def _about_dip(machines: Groups) -> str:
    runs = [run for seeds in machines.values() for run in seeds]
    dips = [dip(run) for run in runs if dip(run) >= MIN_DIP * highest_kl(run)]
    if not dips:
        return "Not reproduced: the KL does not dip."
    words = " to ".join(dict.fromkeys(f"{nats:.0f}" for nats in (min(dips), max(dips))))
    return f"The KL rises and then dips, by {words} nats, in {len(dips)} of {len(runs)} runs."
