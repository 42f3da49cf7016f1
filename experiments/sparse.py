"""Measure Kanerva's sparse distributed memory and compare it with its theory, on one CPU core.

    python experiments/sparse.py --out results/sparse.json

Three things are measured: one reading from damaged cues, the critical distance found by repeated
reading, and recall as more is written. Each memory has its own addresses and patterns and is one
independent measurement. Standard errors are over memories; z is (measured - predicted) / standard
error. It takes about eleven minutes.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kanerva import SparseMemory
from kanerva.sparse import Sizes, radius_for
from kanerva.sparse.readout import first_order_ratio, signal_to_noise
from kanerva.sparse.theory import (
    capacity,
    change_rates,
    critical_distance,
    first_order_capacity,
    new_distances,
)

NUM_BITS = 1000
READINGS = 20
SMALL = Sizes(10_000, NUM_BITS, radius_for(NUM_BITS, 0.004))
LARGE = Sizes(100_000, NUM_BITS, radius_for(NUM_BITS, 0.001))
FLIPPED = [0, 10, 50, 100, 150, 200, 250, 300, 400, 500]
Row = tuple[Sizes, int, int, int]
"""Sizes of the memory, patterns, memories, cues for each memory."""
ONE_READING: list[Row] = [(SMALL, 300, 40, 50), (SMALL, 800, 40, 50), (LARGE, 2000, 12, 50)]
CRITICAL: list[Row] = [(SMALL, num, 10, 40) for num in (100, 200, 300, 500, 700, 800)]
CRITICAL += [(LARGE, 1000, 6, 20), (LARGE, 3000, 6, 20)]
TURNING: list[Row] = [(sizes, num, 2 * many, 100) for sizes, num, many, _ in CRITICAL]
CAPACITY: list[Row] = [
    (SMALL, num, 40, 200) for num in (300, 500, 700, 800, 900, 1000, 1200, 1500, 3000)
]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/sparse.json"))
    parser.add_argument("--quick", action="store_true", help="use few memories and cues, for tests")
    options = parser.parse_args()
    quick: bool = options.quick
    out: Path = options.out
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    start = time.perf_counter()
    parts = {
        "one_reading": [one_reading(*row, generator) for row in _plan(ONE_READING, quick)],
        "turning_point": [turning(*row, generator) for row in _plan(TURNING, quick)],
        "critical_distance": [critical(*row, generator) for row in _plan(CRITICAL, quick)],
        "capacity": [filling(*row, generator) for row in _plan(CAPACITY, quick)],
    }
    result = {
        "what": "sparse distributed memory: measured, and predicted by kanerva.sparse.theory",
        "command": "python experiments/sparse.py --out results/sparse.json"
        + (" --quick" if quick else ""),
        "conditions": {
            "seed": 0,
            "bits": NUM_BITS,
            "patterns": "uniformly random bits, written at themselves",
            "readings": READINGS,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "threads": 1,
            "seconds": round(time.perf_counter() - start),
        },
        "predicted_capacity": {
            f"{sizes.num_addresses} addresses, radius {sizes.radius}": {
                "last_with_a_critical_distance": capacity(sizes),
                "first_order_capacity": round(first_order_capacity(NUM_BITS) * sizes.num_addresses),
            }
            for sizes in ([SMALL] if quick else [SMALL, LARGE])
        },
        "agreement": {name: agreement(rows) for name, rows in parts.items()},
        **parts,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["agreement"], indent=1))


def one_reading(
    sizes: Sizes, num_patterns: int, num_memories: int, num_cues: int, generator: torch.Generator
) -> dict:
    """(a) The distance after one reading, for several numbers of flipped bits."""

    def distances(memory: SparseMemory, patterns: Tensor) -> list[float]:
        order = _order(patterns, generator)
        reads = [memory.read(patterns ^ (order < num)).bits for num in FLIPPED]
        return [_apart(read, patterns).mean().item() for read in reads]

    values = _measure(sizes, num_patterns, num_memories, num_cues, generator, distances)
    exact = new_distances(sizes, num_patterns)[FLIPPED]
    one_rho = _new(signal_to_noise(sizes, num_patterns))[FLIPPED]
    first = _new(first_order_ratio(sizes, num_patterns))[FLIPPED]
    points = [
        {
            "flipped": num,
            **compared(values[:, i], exact[i]),
            "one_rho": one_rho[i],
            "first": first[i],
        }
        for i, num in enumerate(FLIPPED)
    ]
    for point in points:
        say("one reading", sizes, num_patterns, point)
    return {**described(sizes, num_patterns, num_memories, num_cues), "points": points}


def critical(
    sizes: Sizes, num_patterns: int, num_memories: int, num_cues: int, generator: torch.Generator
) -> dict:
    """(b) How many bits of a pattern can be flipped so that repeated reading still finds it.

    Bisection for each pattern. It assumes that a pattern found from far is also found from near.
    """

    def distances(memory: SparseMemory, patterns: Tensor) -> list[float]:
        order = _order(patterns, generator)
        low = torch.zeros(len(patterns), 1)
        high = torch.full_like(low, NUM_BITS / 2)
        while (high - low).max() > 1:
            middle = ((low + high) / 2).floor()
            found = held(memory, patterns ^ (order < middle), patterns)[:, None]
            low, high = torch.where(found, middle, low), torch.where(found, high, middle)
        return [low.mean().item(), low.median().item()]

    values = _measure(sizes, num_patterns, num_memories, num_cues, generator, distances)
    point = compared(values[:, 0], critical_distance(sizes, num_patterns))
    point["median"] = values[:, 1].mean()
    say("critical distance", sizes, num_patterns, point)
    return {**described(sizes, num_patterns, num_memories, num_cues), **point}


def turning(
    sizes: Sizes, num_patterns: int, num_memories: int, num_cues: int, generator: torch.Generator
) -> dict:
    """(c) The distance at which one reading neither repairs nor destroys. The theory finds (b) so.

    Measured by the growth at pairs of distances around the prediction, with one slope for all
    memories.
    """
    predicted = critical_distance(sizes, num_patterns)
    near = [round(predicted) + step for step in (-11, -10, -1, 0, 9, 10)]

    def growth(memory: SparseMemory, patterns: Tensor) -> list[float]:
        order = _order(patterns, generator)
        reads = {num: memory.read(patterns ^ (order < num)).bits for num in near}
        return [_apart(read, patterns).mean().item() - num for num, read in reads.items()]

    grown = _measure(sizes, num_patterns, num_memories, num_cues, generator, growth)
    slope, _ = np.polyfit(near, grown.mean(0), 1)
    point = compared(np.mean(near) - grown.mean(1) / slope, predicted)
    say("turning point", sizes, num_patterns, point)
    return {**described(sizes, num_patterns, num_memories, num_cues), **point}


def filling(
    sizes: Sizes, num_patterns: int, num_memories: int, num_cues: int, generator: torch.Generator
) -> dict:
    """(d) Wrong bits of 1000 if a pattern is its own cue, and whether repeated reading keeps it."""

    def rates(memory: SparseMemory, patterns: Tensor) -> list[float]:
        wrong = _apart(memory.read(patterns).bits, patterns)
        stays = held(memory, patterns, patterns).double().mean().item()
        return [wrong.mean().item(), (wrong == 0).double().mean().item(), stays]

    values = _measure(sizes, num_patterns, num_memories, num_cues, generator, rates)
    point = compared(values[:, 0], NUM_BITS * change_rates(sizes, num_patterns)[0, 0])
    point |= {"fidelity": 1 - point["measured"] / NUM_BITS, "whole": values[:, 1].mean()}
    point |= {"held": values[:, 2].mean(), "held_se": _se(values[:, 2])}
    say("filling", sizes, num_patterns, point)
    return {**described(sizes, num_patterns, num_memories, num_cues), **point}


def held(memory: SparseMemory, cues: Tensor, patterns: Tensor) -> Tensor:
    """Whether repeated reading ends nearer to the pattern than to chance."""
    return _apart(memory.read(cues, num_readings=READINGS).bits, patterns) < NUM_BITS / 4


def compared(values: np.ndarray, predicted: float) -> dict:
    """Measured and predicted values; z is None if nothing varied."""
    se = _se(values)
    measured = float(values.mean())
    z = float(measured - predicted) / se if se > 0 else None
    return {"measured": measured, "se": se, "predicted": float(predicted), "z": z}


def agreement(rows: list[dict]) -> dict:
    """How many of the comparisons agree within the sampling error."""
    points = [point for row in rows for point in row.get("points", [row])]
    sizes = [abs(point["z"]) for point in points if point["z"] is not None]
    within = {f"within_{most}_se": sum(z <= most for z in sizes) for most in (2, 4)}
    return {"comparisons": len(sizes), **within, "largest_z": max(sizes, default=None)}


def described(sizes: Sizes, num_patterns: int, num_memories: int, num_cues: int) -> dict:
    numbers = {"addresses": sizes.num_addresses, "radius": sizes.radius, "patterns": num_patterns}
    return {**numbers, "memories": num_memories, "cues_of_each": num_cues}


def say(name: str, sizes: Sizes, num_patterns: int, point: dict) -> None:
    z = "-" if point["z"] is None else f"{point['z']:.1f}"
    where = f" flipped {point['flipped']}" if "flipped" in point else ""
    print(
        f"{name}, {sizes.num_addresses} addresses, {num_patterns} patterns{where}: "
        f"{point['measured']:.3f} ± {point['se']:.3f}, predicted {point['predicted']:.3f}, z {z}",
        flush=True,
    )


def _measure(
    sizes: Sizes,
    num_patterns: int,
    num_memories: int,
    num_cues: int,
    generator: torch.Generator,
    measure: Callable[[SparseMemory, Tensor], list[float]],
) -> np.ndarray:
    """Make memories, and apply `measure` to each and some of its patterns: (memories, numbers)."""
    rows = []
    for _ in range(num_memories):
        memory = SparseMemory.random(
            sizes.num_addresses, sizes.num_bits, radius=sizes.radius, generator=generator
        )
        shape = (num_patterns, sizes.num_bits)
        patterns = torch.randint(2, shape, dtype=torch.bool, generator=generator)
        memory.write(patterns)
        rows.append(measure(memory, patterns[:num_cues]))
    return np.array(rows)


def _plan(rows: list[Row], quick: bool) -> list[Row]:
    return [(sizes, num, 2, 3) for sizes, num, *_ in rows[:1]] if quick else rows


def _order(patterns: Tensor, generator: torch.Generator) -> Tensor:
    """For each pattern a random order of its bits; those below d are to be flipped."""
    return torch.rand(patterns.shape, generator=generator).argsort(1)


def _apart(bits: Tensor, patterns: Tensor) -> Tensor:
    return (bits ^ patterns).sum(1).double()


def _new(rho: np.ndarray) -> np.ndarray:
    """New distances, from one rho for each kind of bit or from one for all bits."""
    kept, flipped = torch.special.ndtr(
        -torch.from_numpy(np.broadcast_to(rho, (2, NUM_BITS + 1)).copy())
    )
    old = torch.arange(NUM_BITS + 1)
    return ((NUM_BITS - old) * kept + old * flipped).numpy()


def _se(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


if __name__ == "__main__":
    main()
