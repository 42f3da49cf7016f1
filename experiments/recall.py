"""Everything that is reported about recall, next to what a user would pick instead.

    python experiments/recall.py results/recall_report.json --split test

Parts: `damages` (every kind of damage), `readings` (20 readings with stopping disabled), `lengths`
(a block on 8 to 100 written images), `fonts` (letterforms never trained on), `strangers` (cues of
images that were never written), `confidence` (calibration, right against wrong, stored against
never stored), `bounds` (nats at 1 to 300 images against a VAE) and `speed`. Each part is written to
the file as soon as it is measured. Choices were made on validation drawers (--split valid); the
test drawers are for the report.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.data.damage import DAMAGES, Damage, damage
from kanerva.evaluation.calibrate import Readings, collect_readings
from kanerva.evaluation.denoise import measure_denoising
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import load, load_with_card
from kanerva.models.kanerva_machine import KanervaMachine

TABLE: tuple[Damage, ...] = tuple(kind for kind in DAMAGES if kind != "salt")
"""The kinds of the table: salt is a weaker salt20."""
LENGTHS = (8, 16, 64, 100)
BOUND_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 200, 256, 300)
NUM_BINS = 15


def main() -> None:
    """Measure the parts that were asked for, and save each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="handwriting")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=tuple(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=DAMAGES, default=TABLE)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--vae", help="a checkpoint of a VAE, for the bounds")
    arguments = parser.parse_args()
    model = load(arguments.model)
    assert isinstance(model, KanervaMachine)
    images = load_dataset("omniglot", arguments.split)
    for part in arguments.parts:
        # Several of these may run at once, with different parts or kinds.
        result = PARTS[part](model, images, arguments)
        report = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        what = {"model": arguments.model, "split": arguments.split, "episodes": arguments.episodes}
        report.setdefault(part, {"what": what}).update(result)
        write_atomically(arguments.out, json.dumps(report, indent=1).encode() + b"\n")


def _damages(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    return {kind: _row(model, images, kind, options.episodes) for kind in options.kinds}


def _readings(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    return {
        kind: _row(model, images, kind, options.episodes, readings=20) for kind in options.kinds
    }


def _lengths(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    return {
        str(length): _row(model, images, "block12", options.episodes, length=length)
        for length in options.lengths
    }


def _fonts(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    fonts = load_dataset("unseen-fonts", "test")
    return {"block12": _row(model, fonts, "block12", options.episodes)}


def _row(
    model: KanervaMachine,
    images: Dataset,
    kind: Damage,
    num_episodes: int,
    *,
    length: int = 32,
    readings: int | None = None,
) -> dict:
    row = measure_denoising(
        model,
        images,
        kind=kind,
        num_episodes=num_episodes,
        episode_length=length,
        num_readings=readings,
    )
    print(
        f"{kind:9s} {length:3d} items  cue {row.cue_error:.4f}  read {row.errors[-1]:.4f} "
        f"{row.recognised:.2%}  nearest {row.nearest_error:.4f} {row.nearest_recognised:.2%}  "
        f"confidence {row.confidence:.2f}",
        flush=True,
    )
    return {"episodes": num_episodes, **row._asdict()}


@torch.no_grad()
def _strangers(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    """Cues of 32 images read from a memory of 32 others; own is among the unwritten originals."""
    sampler = EpisodeSampler(images, num_items=64, distinct=True)
    generator = torch.Generator().manual_seed(0)
    rows: dict[str, list[list[float]]] = {kind: [] for kind in options.kinds}
    for _ in range(max(4, options.episodes // 50)):
        written, others = sampler.sample(1, generator=generator)[0].chunk(2)
        memory = model.write(written)
        for kind in options.kinds:
            cues = damage(others, kind, generator=generator)
            result = model.read(cues, memory)
            distance = torch.cdist(result.images.flatten(1), others.flatten(1), p=1)
            own = (distance.argmin(-1) == torch.arange(len(others))).double().mean().item()
            error = (result.images - others).abs().mean().item()
            cue_error = (cues - others).abs().mean().item()
            rows[kind].append([own, error, cue_error, result.confidence.mean().item()])
    names = ("own", "error", "cue_error", "confidence")
    return {
        kind: dict(zip(names, torch.tensor(row).mean(0).tolist(), strict=True))
        for kind, row in rows.items()
    }


@torch.no_grad()
def _confidence(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    """All damages in equal shares; as many cues of images that were never written."""
    found = {}
    for length, share in ((32, 30), (8, 15), (100, 250)):
        readings = collect_readings(
            model,
            images,
            episode_length=length,
            num_episodes=max(2, options.episodes // share),
            kinds=TABLE,
            seed=length,
        )
        found[f"{length} items"] = _scores(model, readings)
        print(length, "items", json.dumps(found[f"{length} items"]), flush=True)
    return found


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


def _bounds(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    """Nats per image given the memory, beside those of a VAE with as many parameters."""
    assert options.vae is not None, "name a VAE with --vae"
    vae, _ = load_with_card(options.vae)
    found: dict[str, object] = {"vae_parameters": sum(p.numel() for p in vae.parameters())}
    found["parameters"] = sum(p.numel() for p in model.parameters())
    for length in BOUND_LENGTHS:
        number = max(4, options.episodes * 32 // (length * 4))
        rows = {}
        for name, one in (("memory", model), ("vae", vae)):
            row = evaluate(one, images, num_episodes=number, episode_length=length, batch_size=4)
            rows[name], rows[f"{name}_stderr"] = row.bound, row.stderr
        print(length, rows, flush=True)
        found[str(length)] = rows
    return found


@torch.no_grad()
def _speed(model: KanervaMachine, images: Dataset, options: argparse.Namespace) -> dict:
    """Reading 32 cues, relative to one pass of encoder and decoder: 20 episodes, on two cores."""
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(0)
    episodes = EpisodeSampler(images, num_items=32).sample(20, generator=generator)
    memories, ratios = [model.write(written) for written in episodes], {}
    for kind in options.kinds:
        pairs = []
        for written, memory in zip(episodes, memories, strict=True):
            cues = damage(written, kind, generator=generator)
            if not pairs:  # the first calls choose kernels
                _seconds(model.read, cues, memory)
            pairs.append((_seconds(model.read, cues, memory), _seconds(_plain, model, cues)))
        read, plain = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratios[kind] = read / plain
        print(kind, f"{ratios[kind]:.1f}", flush=True)
    return {"ratios": ratios, "mean": statistics.mean(ratios.values())}


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
