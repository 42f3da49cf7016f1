"""What the next image costs after 0, 1, 2, ... others: `kanerva eval --prequential`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kanerva.errors import KanervaError

if TYPE_CHECKING:
    from kanerva.data import Dataset
    from kanerva.models.model import Model

SHOWN = (0, 1, 2, 4, 9, 19)
"""Points of a curve that are printed, and that importance samples are drawn for."""
TWINS = {"fewshot": "fewshot-vae", "omniglot": "omniglot-vae"}
"""The VAE of the package that stands next to a model of the package."""


class Prequential(NamedTuple):
    """What to measure."""

    checkpoint: str
    length: int
    num_classes: int | None
    orders: int
    samples: int
    sampled_episodes: int
    beside: str | None
    seed: int


def refuse_without(flag: str, **options: object) -> None:
    """Refuse options that only mean something together with `flag`; None is not given."""
    for name, value in options.items():
        if value is not None:
            raise KanervaError(
                f"--{name.replace('_', '-')}",
                expected=f"{flag} with it",
                got=f"{value} alone",
                fix=f"Add {flag}, or leave it out.",
            )


def refuse_with(flag: str, instead: str, **options: object) -> None:
    """Refuse options that mean nothing together with `flag`; None is not given."""
    for name, value in options.items():
        if value is not None:
            raise KanervaError(
                f"--{name.replace('_', '-')}",
                expected=f"no {flag} with it",
                got=f"{value} and {flag}",
                fix=f"Use {instead} in place of it, or leave it out.",
            )


def measure_prequential(model: Model, images: Dataset, options: Prequential) -> dict[str, object]:
    """The curve of a model and of the one beside it, on the same episodes."""
    import torch

    from kanerva.checks import check_integer
    from kanerva.evaluation.evaluate import check_image_shape
    from kanerva.evaluation.prequential import (
        curve_of,
        difference,
        draw_episodes,
        importance_nats,
        item_nats,
        standard_errors,
    )
    from kanerva.models.checkpoint import load_with_card

    check_integer("--orders", options.orders, at_most=1000, fix="Use 4.")
    check_integer("--samples", options.samples, at_least=0, fix="Use 0 for none, or 1000.")
    check_integer("--sampled-episodes", options.sampled_episodes, fix="Use 100.")
    models = {options.checkpoint: model}
    beside = options.beside or TWINS.get(options.checkpoint)
    if beside is not None:
        models[beside], _ = load_with_card(beside, device=model.device)
        check_image_shape(models[beside], images)
    episodes = draw_episodes(
        images,
        length=options.length,
        num_classes=options.num_classes,
        orders=options.orders,
        seed=options.seed,
    )
    report: dict[str, object] = {
        "dataset": images.name,
        "split": images.split,
        "binarisation": images.binarisation,
        "episode_length": options.length,
        "num_classes": options.num_classes,
        "orders": options.orders,
        "seed": options.seed,
    }
    items = {
        name: item_nats(one, episodes.images, seed=options.seed) for name, one in models.items()
    }
    report["curves"] = {
        name: {
            **curve_of(bounds, episodes.groups)._asdict(),
            "parameters": sum(p.numel() for p in models[name].parameters()),
        }
        for name, bounds in items.items()
    }
    if beside is not None:
        totals = (items[options.checkpoint].total, items[beside].total)
        below, stderr = difference(*totals, episodes.groups)
        report["minus_beside"] = {"beside": beside, "nats": below, "stderr": stderr}
    if options.samples:
        points = [point for point in SHOWN if point < options.length]
        generator = torch.Generator().manual_seed(options.seed)
        order = torch.randperm(len(episodes.images), generator=generator)
        chosen = order[: options.sampled_episodes]
        part = episodes.images[chosen]
        rows = {}
        for name, one in models.items():
            nats = importance_nats(
                one,
                part,
                items=points,
                num_samples=options.samples,
                seed=options.seed,
                batch_size=16 if one.device.type == "cpu" else 128,
            )
            bound = items[name].total[chosen][:, points]
            rows[name] = {
                "nats": nats.mean(0).tolist(),
                "stderr": standard_errors(nats),
                "bound": bound.mean(0).tolist(),
            }
        report["importance"] = {
            "samples": options.samples,
            "episodes": len(part),
            "after": points,
            "nats": rows,
        }
    return report


def curves_in_words(report: Mapping[str, object]) -> str:
    """A table with a row for each model, and the sums."""
    curves, length = report["curves"], report["episode_length"]
    assert isinstance(curves, dict)
    assert isinstance(length, int)
    points = [point for point in SHOWN if point < length]
    wide = max(map(len, curves))
    lines = [_row("nats after", points, wide, "{:>16}")]
    for name, curve in curves.items():
        cells = [f"{curve['nats'][n]:.2f}+-{curve['stderr'][n]:.2f}" for n in points]
        lines.append(_row(name, cells, wide, "{:>16}"))
    importance = report.get("importance")
    if isinstance(importance, dict):
        lines.append(
            f"{importance['samples']} importance samples, {importance['episodes']} episodes:"
        )
        for name, row in importance["nats"].items():
            cells = [f"{a:.2f}+-{b:.2f}" for a, b in zip(row["nats"], row["stderr"], strict=True)]
            lines.append(_row(name, cells, wide, "{:>16}"))
    for name, curve in curves.items():
        lines.append(
            f"{name}: {curve['sum']:.1f} +- {curve['sum_stderr']:.1f} nats for all {length}, "
            f"{curve['sum'] / length:.2f} each, the memory included; {curve['parameters']:,} "
            "parameters"
        )
        rises = zip(curve["rise"], curve["rise_stderr"], strict=True)
        above = [number + 1 for number, (rise, err) in enumerate(rises) if rise > 2 * err]
        lines.append(
            f"{name}: rises by more than 2 paired standard errors at {above}"
            if above
            else f"{name}: no rise beyond 2 paired standard errors"
        )
    first = next(iter(curves.values()))
    lines.append(
        f"{first['episodes']} episodes of {length} from {report['dataset']} {report['split']}, "
        f"{report['num_classes'] or 'all'} classes each, {report['binarisation']}, seed "
        f"{report['seed']}"
    )
    return "\n".join(lines)


def _row(name: str, cells: Sequence[object], wide: int, form: str) -> str:
    return f"{name:<{max(wide, 10)}}" + "".join(form.format(cell) for cell in cells)
