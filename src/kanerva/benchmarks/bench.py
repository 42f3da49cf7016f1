"""Everything that `kanerva bench` measures, as one JSON file and as tables."""

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from kanerva.atomic import write_atomically
from kanerva.benchmarks.approximations import Approximation, measure_approximations
from kanerva.benchmarks.memory_speed import FULL, QUICK, Ratio, measure_speed
from kanerva.benchmarks.online_writes import OnlineWrites, measure_online_writes


def run_bench(*, out: Path, quick: bool, seed: int, show: bool) -> dict[str, object]:
    """Measure speed, approximations and stability; write them to `out`; with `show`, print tables.

    `quick` uses small sizes, whose ratios mean nothing.
    """
    sizes = QUICK if quick else FULL
    console = Console(stderr=not show, quiet=not show)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        ratios = measure_speed(sizes, generator)
        approximations = measure_approximations(generator)
        online_writes = measure_online_writes(sizes, generator, console)
    result = {
        "command": "kanerva bench" + (" --quick" if quick else ""),
        "seed": seed,
        "conditions": {
            "sizes": sizes._asdict(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "machine": platform.machine(),
        },
        "ratios": [ratio._asdict() for ratio in ratios],
        "online_writes_float32": {
            name: numbers._asdict() for name, numbers in online_writes.items()
        },
        "approximations": [row._asdict() for row in approximations],
    }
    write_atomically(out, (json.dumps(result, indent=2) + "\n").encode())
    _print_tables(console, ratios, approximations, online_writes)
    console.print(f"written to {out}")
    return result


def _print_tables(
    console: Console,
    ratios: Sequence[Ratio],
    approximations: Sequence[Approximation],
    online_writes: Mapping[str, OnlineWrites],
) -> None:
    table = Table("ratio, side by side in one run", "measured", "wanted", "")
    for row in ratios:
        verdict = "" if row.holds is None else "yes" if row.holds else "NO"
        table.add_row(row.what, f"{row.ratio:.2f}", row.limit, verdict)
    console.print(table)
    table = Table("covariance", "written", "items", "mean off by", "variance off by", "nats/item")
    for line in approximations:
        errors = (f"{line.mean_error:.3f}", f"{line.var_error:.3f}", f"{line.nats_per_item:.3f}")
        table.add_row(line.covariance, line.writing, str(line.num_items), *errors)
    console.print(table)
    for name, numbers in online_writes.items():
        console.print(
            f"{numbers.items:,} on-line float32 writes, {name.replace('_', ' ')}: "
            f"mean off by {numbers.mean_relative_error:.1e}, covariance by "
            f"{numbers.cov_relative_error:.1e}; positive definite: {numbers.positive_definite}"
        )
