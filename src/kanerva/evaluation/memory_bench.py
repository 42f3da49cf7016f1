"""Speed of the memory as ratios measured side by side, and a million on-line writes.

Timings are interleaved, and a ratio is that of the fastest repeat of each side: disturbances
(another process, fresh pages from the kernel) only ever add time. The memory works in float64 (see
`kanerva.linalg`), so the bare products it is held against are float64 too; the ratio to float32
products, which would not be accurate enough, is given beside it.
"""

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.evaluation import approximations
from kanerva.memory import Evidence, MemoryState, condition, predict, recall


class Sizes(NamedTuple):
    """How much work."""

    evidence_items: int
    queries: int
    repeats: int
    online_items: int
    separate_items: int


FULL = Sizes(1_000_000, 200_000, 7, 1_000_000, 1_000_000)
QUICK = Sizes(20_000, 10_000, 3, 2_000, 500)


class Ratio(NamedTuple):
    """One line of the table."""

    what: str
    ratio: float
    limit: str
    holds: bool | None


def run_bench(*, out: Path, quick: bool, seed: int, show: bool) -> dict[str, object]:
    """Measure, print a table, write `out`."""
    sizes = QUICK if quick else FULL
    console = Console(stderr=not show, quiet=not show)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        ratios = [
            *evidence_ratios(sizes, generator),
            *condition_ratios(sizes, generator),
            *reading_ratios(sizes, generator),
        ]
        approximate = approximations.measure(generator)
        stability = {
            "one_call": million_writes(sizes.online_items, generator, console, separate=False),
            "separate_calls": million_writes(
                sizes.separate_items, generator, console, separate=True
            ),
        }
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
        "online_writes_float32": stability,
        "approximations": [row._asdict() for row in approximate],
    }
    write_atomically(out, (json.dumps(result, indent=2) + "\n").encode())
    report(console, ratios, stability, approximate, out)
    return result


def evidence_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    K = C = 256
    W, Z = items(sizes.evidence_items, K, C, generator)
    W64, Z64 = W.double(), Z.double()
    ours, bare, bare32 = side_by_side(
        max(3, sizes.repeats // 2),
        lambda: Evidence.of(W, Z),
        lambda: (W64.mT @ W64, W64.mT @ Z64),
        lambda: (W.mT @ W, W.mT @ Z),
    )
    what = f"evidence of {sizes.evidence_items:,} items (K 256, C 256)"
    return compare(what, "bare products", ours, bare, bare32, at_most=1.5)


def condition_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    B, T, K, C = 16, 32, 64, 100
    W, Z = items(B * T, K, C, generator)
    W, Z = W.reshape(B, T, K), Z.reshape(B, T, C)
    prior = MemoryState(torch.zeros(K, C), torch.eye(K))
    start = torch.zeros(B, K, C), torch.eye(K).expand(B, K, K), W, Z
    start64 = [tensor.double() for tensor in start]
    ours, loop64, loop32 = side_by_side(
        20 * sizes.repeats,
        lambda: condition(prior, W, Z),
        lambda: paper_loop(*start64),
        lambda: paper_loop(*start),
    )
    assert relative(condition(prior, W, Z).mean, paper_loop(*start64)[0]) < 1e-6
    speedup, speedup32 = best_ratio(loop64, ours), best_ratio(loop32, ours)
    what = "batch condition, times faster than the on-line loop"
    return [
        Ratio(f"{what} in float64 (B 16, T 32, K 64, C 100)", speedup, ">= 4", speedup >= 4),
        Ratio(f"{what} in float32", speedup32, "", None),
    ]


def paper_loop(R: Tensor, U: Tensor, W: Tensor, Z: Tensor) -> tuple[Tensor, Tensor]:
    """Writing as in appendix G: one item at a time, noise 1, so that Sigma_z is a scalar."""
    for t in range(W.shape[-2]):
        w, z = W[..., t : t + 1, :], Z[..., t : t + 1, :]
        Delta = z - w @ R
        Sigma_c = w @ U
        Sigma_z = Sigma_c @ w.mT + 1
        R = R + Sigma_c.mT @ (Delta / Sigma_z)
        U = U - Sigma_c.mT @ (Sigma_c / Sigma_z)
    return R, U


def reading_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    K = C = 256
    W, _ = items(sizes.queries, K, C, generator)
    memory = MemoryState(torch.randn(K, C, generator=generator), torch.eye(K))
    R, U = memory.mean, memory.cov
    W64, R64, U64 = W.double(), R.double(), U.double()
    ours, bare, bare32 = side_by_side(
        sizes.repeats, lambda: recall(memory, W), lambda: W64 @ R64, lambda: W @ R
    )
    rows = compare(
        f"recall of {sizes.queries:,} queries (K 256, C 256)",
        "bare product W R",
        ours,
        bare,
        bare32,
        at_most=1.3,
    )
    ours, bare, bare32 = side_by_side(
        sizes.repeats,
        lambda: predict(memory, W),
        lambda: (W64 @ R64, W64 @ U64),
        lambda: (W @ R, W @ U),
    )
    what = "the same with variances (predict)"
    return rows + compare(what, "bare products W R, W U", ours, bare, bare32, at_most=1.3)


def million_writes(
    num_items: int, generator: torch.Generator, console: Console, *, separate: bool
) -> dict[str, object]:
    """Write float32 items one by one; compare with the float64 batch posterior.

    `separate` calls `condition` once an item, as a stream would; else one call with chunk=1.
    """
    K, C = 64, 100
    W, Z = items(num_items, K, C, generator)
    memory = MemoryState(torch.zeros(K, C), torch.eye(K))
    exact = condition(memory.to(torch.float64), W.double(), Z.double())
    block = max(1, num_items // 100)
    start = time.perf_counter()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{num_items:,} on-line writes", total=num_items)
        for w, z in zip(W.split(block), Z.split(block), strict=True):
            if separate:
                for one_w, one_z in zip(w.split(1), z.split(1), strict=True):
                    memory = condition(memory, one_w, one_z)
            else:
                memory = condition(memory, w, z, chunk=1)
            progress.advance(task, len(w))
    return {
        "items": num_items,
        "mean_relative_error": relative(memory.mean, exact.mean),
        "cov_relative_error": relative(memory.cov, exact.cov),
        "positive_definite": not bool(torch.linalg.cholesky_ex(memory.cov).info),
        "symmetric": torch.equal(memory.cov, memory.cov.mT),
        "seconds": time.perf_counter() - start,
    }


def items(num: int, K: int, C: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.randn(num, K, generator=generator), torch.randn(num, C, generator=generator)


def relative(value: Tensor, truth: Tensor) -> float:
    return ((value.double() - truth).norm() / truth.norm()).item()


def side_by_side(repeats: int, *functions: Callable[[], object]) -> list[list[float]]:
    """Seconds of each function in each repeat, interleaved; one warm-up."""
    times: list[list[float]] = [[] for _ in functions]
    for repeat in range(repeats + 1):
        for function, seconds in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            if repeat:
                seconds.append(time.perf_counter() - start)
    return times


def best_ratio(above: list[float], below: list[float]) -> float:
    return min(above) / min(below)


def compare(
    what: str,
    against: str,
    ours: list[float],
    bare: list[float],
    bare32: list[float],
    *,
    at_most: float,
) -> list[Ratio]:
    ratio = best_ratio(ours, bare)
    return [
        Ratio(f"{what} over {against} in float64", ratio, f"<= {at_most}", ratio <= at_most),
        Ratio(f"{what} over {against} in float32", best_ratio(ours, bare32), "", None),
    ]


def report(
    console: Console,
    ratios: list[Ratio],
    stability: dict[str, dict[str, object]],
    approximate: list[approximations.Approximation],
    out: Path,
) -> None:
    table = Table("ratio, side by side in one run", "measured", "wanted", "")
    for row in ratios:
        verdict = "" if row.holds is None else "yes" if row.holds else "NO"
        table.add_row(row.what, f"{row.ratio:.2f}", row.limit, verdict)
    console.print(table)
    table = Table("covariance", "written", "items", "mean off by", "variance off by", "nats/item")
    for line in approximate:
        errors = (f"{line.mean_error:.3f}", f"{line.var_error:.3f}", f"{line.nats_per_item:.3f}")
        table.add_row(line.covariance, line.writing, str(line.num_items), *errors)
    console.print(table)
    for name, numbers in stability.items():
        console.print(
            f"{numbers['items']:,} on-line float32 writes, {name.replace('_', ' ')}: "
            f"mean off by {numbers['mean_relative_error']:.1e}, covariance by "
            f"{numbers['cov_relative_error']:.1e}; positive definite: "
            f"{numbers['positive_definite']}"
        )
    console.print(f"written to {out}")
