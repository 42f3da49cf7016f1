"""Speed of the memory, as ratios to the bare matrix products that it needs.

The memory works in float64 (see `kanerva.linalg`), so it is compared with float64 products. The
ratio to float32 products, which would not be accurate enough, is given as well.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.benchmarks.timing import fastest_ratio, time_in_turn
from kanerva.memory import Evidence, MemoryState, condition, predict, recall


class Sizes(NamedTuple):
    """How much work a benchmark does."""

    evidence_items: int
    cues: int
    repeats: int
    online_items: int
    separate_items: int


FULL = Sizes(1_000_000, 200_000, 7, 1_000_000, 1_000_000)
QUICK = Sizes(20_000, 10_000, 3, 2_000, 500)


class Ratio(NamedTuple):
    """The time of one thing over that of another."""

    what: str
    ratio: float
    limit: str
    """What we want of the ratio, for example "<= 1.5"; empty where we want nothing."""
    holds: bool | None
    """Whether the ratio is within the limit; None without a limit."""


def measure_speed(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    """Time evidence, writing and reading."""
    return [
        *evidence_ratios(sizes, generator),
        *condition_ratios(sizes, generator),
        *reading_ratios(sizes, generator),
    ]


def evidence_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    """`Evidence.of` many items, over the products W'W and W'Z."""
    K = C = 256
    W, Z = random_items(sizes.evidence_items, K, C, generator)
    W64, Z64 = W.double(), Z.double()
    ours, bare, bare32 = time_in_turn(
        max(3, sizes.repeats // 2),
        lambda: Evidence.of(W, Z),
        lambda: (W64.mT @ W64, W64.mT @ Z64),
        lambda: (W.mT @ W, W.mT @ Z),
    )
    what = f"evidence of {sizes.evidence_items:,} items (K 256, C 256)"
    return _ratios(what, "bare products", ours, bare, bare32, at_most=1.5)


def condition_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    """The paper's loop over the items of an episode, over `condition` of a whole episode."""
    B, T, K, C = 16, 32, 64, 100
    W, Z = random_items(B * T, K, C, generator)
    W, Z = W.reshape(B, T, K), Z.reshape(B, T, C)
    prior = MemoryState(torch.zeros(K, C), torch.eye(K))
    start = torch.zeros(B, K, C), torch.eye(K).expand(B, K, K), W, Z
    start64 = [tensor.double() for tensor in start]
    ours, loop64, loop32 = time_in_turn(
        20 * sizes.repeats,
        lambda: condition(prior, W, Z),
        lambda: paper_loop(*start64),
        lambda: paper_loop(*start),
    )
    assert relative_error(condition(prior, W, Z).mean, paper_loop(*start64)[0]) < 1e-6
    speedup, speedup32 = fastest_ratio(loop64, ours), fastest_ratio(loop32, ours)
    what = "batch condition, times faster than the on-line loop"
    return [
        Ratio(f"{what} in float64 (B 16, T 32, K 64, C 100)", speedup, ">= 4", speedup >= 4),
        Ratio(f"{what} in float32", speedup32, "", None),
    ]


def paper_loop(R: Tensor, U: Tensor, W: Tensor, Z: Tensor) -> tuple[Tensor, Tensor]:
    """Write as in appendix G: one item at a time, with noise 1, so that Sigma_z is a scalar."""
    for t in range(W.shape[-2]):
        w, z = W[..., t : t + 1, :], Z[..., t : t + 1, :]
        Delta = z - w @ R
        Sigma_c = w @ U
        Sigma_z = Sigma_c @ w.mT + 1
        R = R + Sigma_c.mT @ (Delta / Sigma_z)
        U = U - Sigma_c.mT @ (Sigma_c / Sigma_z)
    return R, U


def reading_ratios(sizes: Sizes, generator: torch.Generator) -> list[Ratio]:
    """`recall` and `predict` of many cues, over the products W R and W U."""
    K = C = 256
    W, _ = random_items(sizes.cues, K, C, generator)
    memory = MemoryState(torch.randn(K, C, generator=generator), torch.eye(K))
    R, U = memory.mean, memory.cov
    W64, R64, U64 = W.double(), R.double(), U.double()
    ours, bare, bare32 = time_in_turn(
        sizes.repeats, lambda: recall(memory, W), lambda: W64 @ R64, lambda: W @ R
    )
    what = f"recall of {sizes.cues:,} cues (K 256, C 256)"
    ratios = _ratios(what, "bare product W R", ours, bare, bare32, at_most=1.3)
    ours, bare, bare32 = time_in_turn(
        sizes.repeats,
        lambda: predict(memory, W),
        lambda: (W64 @ R64, W64 @ U64),
        lambda: (W @ R, W @ U),
    )
    what = "the same with variances (predict)"
    return ratios + _ratios(what, "bare products W R, W U", ours, bare, bare32, at_most=1.3)


def random_items(num: int, K: int, C: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Standard normal weights (num, K) and codes (num, C), in float32."""
    return torch.randn(num, K, generator=generator), torch.randn(num, C, generator=generator)


def relative_error(value: Tensor, truth: Tensor) -> float:
    """The Frobenius norm of the difference, over that of the truth."""
    return ((value.double() - truth).norm() / truth.norm()).item()


def _ratios(
    what: str,
    against: str,
    ours: list[float],
    bare: list[float],
    bare32: list[float],
    *,
    at_most: float,
) -> list[Ratio]:
    ratio = fastest_ratio(ours, bare)
    return [
        Ratio(f"{what} over {against} in float64", ratio, f"<= {at_most}", ratio <= at_most),
        Ratio(f"{what} over {against} in float32", fastest_ratio(ours, bare32), "", None),
    ]
