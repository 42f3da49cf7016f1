"""Everything that is reported about recall, next to what a user would pick instead.

    python experiments/recall.py results/recall_report.json --split test

Parts: `damages` (every kind of damage), `readings` (20 readings with stopping disabled), `lengths`
(a block on 8 to 100 written images), `fonts` (letterforms never trained on), `strangers` (cues of
images that were never written), `confidence` (calibration, right against wrong, stored against
never stored), `bounds` (nats at 1 to 300 images against a VAE) and `speed`. A part has a row for
each kind of damage or each length, and each row is written to the file as soon as it is measured,
by one of --processes. Choices were made on validation drawers (--split valid); the test drawers are
for the report.
"""

import argparse
import functools
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.data.damage import DAMAGES, REPORTED_DAMAGES, Damage, damage
from kanerva.evaluation.calibrate import Readings, collect_readings
from kanerva.evaluation.denoise import measure_denoising
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import load, load_with_card
from kanerva.models.kanerva_machine import KanervaMachine

LENGTHS = (8, 16, 64, 100)
CONFIDENCE_LENGTHS = {32: 30, 8: 15, 100: 250}
"""Items, and which share of the episodes is enough."""
BOUND_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 200, 256, 300)
NUM_BINS = 15


def main() -> None:
    """Measure the parts that were asked for, and save each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="handwriting")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=tuple(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=DAMAGES, default=REPORTED_DAMAGES)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--vae", help="a checkpoint of a VAE, for the bounds")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    rows = [Row(part, key, options) for part in options.parts for key in _keys(part, options)]
    if options.processes == 1:
        for row in rows:
            _save(row, _measured(row))
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes, torch.set_num_threads, (1,)) as pool:
        results = [(row, pool.apply_async(_measured, (row,))) for row in rows]
        for row, result in results:
            _save(row, result.get())


class Row(NamedTuple):
    """One row of one part."""

    part: str
    key: str
    options: argparse.Namespace


def _keys(part: str, options: argparse.Namespace) -> Sequence[str]:
    """The rows of a part."""
    lengths = {
        "lengths": options.lengths,
        "confidence": CONFIDENCE_LENGTHS,
        "bounds": BOUND_LENGTHS,
    }
    if part == "fonts":
        return ["block12"]
    return [str(length) for length in lengths[part]] if part in lengths else options.kinds


def _measured(row: Row) -> dict:
    model, images = _loaded(row.options.model, row.options.split)
    result = PARTS[row.part](model, images, row.key, row.options)
    numbers = (f"{name} {value:.4g}" for name, value in result.items() if isinstance(value, float))
    print(f"{row.part} {row.key}: {', '.join(numbers)}", flush=True)
    return result


@functools.cache
def _loaded(model: str, split: str) -> tuple[KanervaMachine, Dataset]:
    loaded = load(model)
    assert isinstance(loaded, KanervaMachine)
    return loaded, load_dataset("omniglot", split)


def _save(row: Row, result: dict) -> None:
    options = row.options
    report = json.loads(options.out.read_text()) if options.out.exists() else {}
    what = {"model": options.model, "split": options.split, "episodes": options.episodes}
    report.setdefault(row.part, {}).update({"what": what, row.key: result})
    write_atomically(options.out, json.dumps(report, indent=1).encode() + b"\n")


def _damages(
    model: KanervaMachine, images: Dataset, kind: str, options: argparse.Namespace
) -> dict:
    return _row(model, images, kind, options.episodes)


def _readings(
    model: KanervaMachine, images: Dataset, kind: str, options: argparse.Namespace
) -> dict:
    return _row(model, images, kind, options.episodes, readings=20)


def _lengths(
    model: KanervaMachine, images: Dataset, length: str, options: argparse.Namespace
) -> dict:
    return _row(model, images, "block12", options.episodes, length=int(length))


def _fonts(model: KanervaMachine, images: Dataset, kind: str, options: argparse.Namespace) -> dict:
    return _row(model, load_dataset("unseen-fonts", "test"), kind, options.episodes)


def _row(
    model: KanervaMachine,
    images: Dataset,
    kind: str,
    num_episodes: int,
    *,
    length: int = 32,
    readings: int | None = None,
) -> dict:
    row = measure_denoising(
        model,
        images,
        kind=cast(Damage, kind),
        num_episodes=num_episodes,
        episode_length=length,
        num_readings=readings,
    )
    return {"episodes": num_episodes, **row._asdict()}


@torch.no_grad()
def _strangers(
    model: KanervaMachine, images: Dataset, kind: str, options: argparse.Namespace
) -> dict:
    """Cues of 32 images read from a memory of 32 others; own is among the unwritten originals."""
    sampler = EpisodeSampler(images, num_items=64, distinct=True)
    generator = torch.Generator().manual_seed(0)
    found: list[list[float]] = []
    for _ in range(max(4, options.episodes // 50)):
        written, others = sampler.sample(1, generator=generator)[0].chunk(2)
        cues = damage(others, cast(Damage, kind), generator=generator)
        result = model.read(cues, model.write(written))
        distance = torch.cdist(result.images.flatten(1), others.flatten(1), p=1)
        own = (distance.argmin(-1) == torch.arange(len(others))).double().mean().item()
        error = (result.images - others).abs().mean().item()
        cue_error = (cues - others).abs().mean().item()
        found.append([own, error, cue_error, result.confidence.mean().item()])
    names = ("own", "error", "cue_error", "confidence")
    return dict(zip(names, torch.tensor(found).mean(0).tolist(), strict=True))


@torch.no_grad()
def _confidence(
    model: KanervaMachine, images: Dataset, length: str, options: argparse.Namespace
) -> dict:
    """All damages in equal shares; as many cues of images that were never written."""
    readings = collect_readings(
        model,
        images,
        episode_length=int(length),
        num_episodes=max(2, options.episodes // CONFIDENCE_LENGTHS[int(length)]),
        kinds=REPORTED_DAMAGES,
        seed=int(length),
    )
    return _scores(model, readings)


def _scores(model: KanervaMachine, readings: Readings) -> dict[str, object]:
    assert model.calibration is not None
    confidence = model.calibration(readings.signs)
    written, right = readings.is_written, readings.is_right
    of_written, was_right = confidence[written], right[written].double()
    gaps, sizes = [], []
    for part in of_written.argsort().chunk(NUM_BINS):
        gaps.append((of_written[part].double().mean() - was_right[part].mean()).abs().item())
        sizes.append(len(part))
    return {
        "cues": int(written.sum()),
        "right": was_right.mean().item(),
        "confidence": of_written.mean().item(),
        "confidence_never_stored": confidence[~written].mean().item(),
        "auroc_right_wrong": _auroc(of_written[was_right > 0], of_written[was_right == 0]),
        "auroc_stored_never": _auroc(of_written, confidence[~written]),
        "calibration_error": sum(g * n for g, n in zip(gaps, sizes, strict=True)) / sum(sizes),
        "at_threshold": {
            str(threshold): {
                "coverage": (of_written >= threshold).double().mean().item(),
                "right": was_right[of_written >= threshold].mean().item(),
                "never_stored_accepted": (confidence[~written] >= threshold).double().mean().item(),
            }
            for threshold in (0.5, 0.8, 0.9, 0.95, 0.99)
        },
    }


def _auroc(high: Tensor, low: Tensor) -> float:
    """The probability that a number of `high` is above one of `low`; ties count half."""
    both = torch.cat([high, low]).double()
    _, inverse, counts = both.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    ranks = (last - (counts.double() - 1) / 2)[inverse]
    n, m = len(high), len(low)
    return ((ranks[:n].sum() - n * (n + 1) / 2) / max(1, n * m)).item()


def _bounds(
    model: KanervaMachine, images: Dataset, length: str, options: argparse.Namespace
) -> dict:
    """Nats per image given the memory, beside those of a VAE with as many parameters."""
    assert options.vae is not None, "name a VAE with --vae"
    vae, _ = load_with_card(options.vae)
    number = max(4, options.episodes * 32 // (int(length) * 4))
    found: dict[str, float] = {}
    for name, one in (("memory", model), ("vae", vae)):
        row = evaluate(one, images, num_episodes=number, episode_length=int(length), batch_size=4)
        found[name], found[f"{name}_stderr"] = row.bound, row.stderr
        found[f"{name}_parameters"] = sum(parameter.numel() for parameter in one.parameters())
    return found


@torch.no_grad()
def _speed(model: KanervaMachine, images: Dataset, kind: str, options: argparse.Namespace) -> dict:
    """Reading 32 cues, relative to one pass of encoder and decoder: 20 episodes, on two cores."""
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(0)
    pairs = []
    for written in EpisodeSampler(images, num_items=32).sample(20, generator=generator):
        memory = model.write(written)
        cues = damage(written, cast(Damage, kind), generator=generator)
        if not pairs:  # the first calls choose kernels
            _seconds(model.read, cues, memory)
        pairs.append((_seconds(model.read, cues, memory), _seconds(_plain, model, cues)))
    read, plain = (statistics.median(times) for times in zip(*pairs, strict=True))
    return {"ratio": read / plain}


def _plain(model: KanervaMachine, cues: Tensor) -> Tensor:
    return model.coder.decode(model.coder.encode(cues).chunk(2, -1)[0])


def _seconds(call: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


PARTS = {
    "damages": _damages,
    "readings": _readings,
    "lengths": _lengths,
    "fonts": _fonts,
    "strangers": _strangers,
    "confidence": _confidence,
    "bounds": _bounds,
    "speed": _speed,
}


if __name__ == "__main__":
    main()
