"""A plan for a memory of vectors: how many rows and blocks, and how much noise."""

import hashlib
import json
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanerva.checks import check_integer, check_number
from kanerva.errors import KanervaError
from kanerva.store.arrays import checked_vectors
from kanerva.store.exact_sums import Grid
from kanerva.store.plan_checks import check_features, check_plan
from kanerva.store.recall_theory import best_noise_var, cue_similarity, expected_recall

ROWS_PER_BLOCK = 256
"""Time and size of a write grow with the rows of a block; 256 keep both small."""
MAX_ROWS_PER_ITEM, MIN_ROWS_PER_ITEM = 64.0, 1 / 256
MAX_PROBES = 16
SCALE = 2.0
"""Scale of the random features; see the lab notes for what other scales do."""
WEIGHT_BITS, CODE_BITS = 20, 26


@dataclass(frozen=True, kw_only=True)
class VectorPlan:
    """All that defines a memory of vectors. `plan_vectors` makes one.

    Example:
        >>> from kanerva.store import plan_vectors
        >>> plan = plan_vectors(1000, 384, error=0.5)
        >>> plan.num_rows * plan.num_blocks, round(plan.predicted_error, 2)
        (873, 0.5)

    """

    num_items: int
    """Items for which the memory is planned."""
    size: int
    """Entries of a vector; of a key, if values are stored."""
    value_size: int
    """Entries of a value; 0 if vectors are stored by themselves."""
    num_rows: int
    """Rows K of each block."""
    num_blocks: int
    """Blocks P: each item is written into one of them."""
    num_probes: int
    """Blocks that a cue looks at."""
    scale: float
    """Scale of the random features."""
    noise_var: float
    """Noise variance of the memory, relative to the variance of its prior."""
    cue_noise: float
    """Expected length of the noise on a cue, relative to its vector."""
    code_exponent: int
    """Entries of vectors are rounded to multiples of 2 to this power."""
    effective_size: float
    """How many independent entries a vector is worth."""
    centre: tuple[float, ...] | None
    """What is subtracted from vectors before anything else."""
    seed: int
    """Seed of the random features and anchors."""

    def __post_init__(self) -> None:
        check_plan(vars(self))

    @property
    def code_size(self) -> int:
        """Entries of what is stored: the vector itself, and its value."""
        return self.size + self.value_size

    @property
    def predicted_error(self) -> float:
        """Expected error of a reading, relative to the length of the vector, when full."""
        return self.error_with(self.num_items)

    def error_with(self, num_items: int) -> float:
        """Expected relative error of readings once this many items are written.

        Args:
            num_items: items in the memory.

        Returns:
            Root of the mean squared error, relative to the length of the vectors. It holds for
            vectors in random directions.

        Example:
            >>> from kanerva.store import plan_vectors
            >>> plan = plan_vectors(1000, 384, error=0.5)
            >>> plan.error_with(500) < plan.error_with(1000)
            True

        """
        check_number("num_items", num_items, at_least=0, at_most=1e12, fix="Pass len(vectors).")
        similarity = cue_similarity(self.scale, self.cue_noise)
        ratio = num_items / (self.num_rows * self.num_blocks)
        return math.sqrt(expected_recall(ratio, self.noise_var).squared_error(similarity))

    @property
    def num_bytes(self) -> int:
        """Bytes of the sums of this memory on disk, without a ledger."""
        half = self.num_rows * (self.num_rows + 1) // 2
        return 8 * self.num_blocks * (5 + half + self.num_rows * self.code_size)

    @property
    def grid(self) -> Grid:
        """The steps of weights and codes; weights are at most sqrt(2 / K), twice that if fading."""
        largest = math.ceil(math.log2(2 / math.sqrt(self.num_rows)))
        return Grid(
            weight_exponent=largest + 1 - WEIGHT_BITS,
            weight_bits=WEIGHT_BITS,
            code_exponent=self.code_exponent,
            code_bits=CODE_BITS,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the plan: memories can be merged if it is the same."""
        return hashlib.sha256(json.dumps(vars(self), sort_keys=True).encode()).hexdigest()


def plan_vectors(
    num_items: int,
    size: int,
    *,
    value_size: int = 0,
    error: float | None = None,
    rows_per_item: float | None = None,
    cue_noise: float = 0.1,
    largest: float | None = None,
    sample: Tensor | NDArray[np.floating] | None = None,
    seed: int = 0,
) -> VectorPlan:
    """Choose rows, blocks and noise of a memory for vectors. Nothing is trained.

    Args:
        num_items: how many items the memory will hold.
        size: entries of a vector, or of a key.
        value_size: entries of the value that belongs to a key; 0 stores vectors by themselves.
        error: wanted error of a reading, relative to the length of the vector, when the memory is
            full; by default 0.5. Smaller errors need more rows.
        rows_per_item: rows for each item, in place of `error`.
        cue_noise: expected length of the noise on a cue, relative to the length of its vector.
        largest: the largest entry of vectors, or of values; by default four times that of `sample`
            for vectors, else 32. Entries are rounded to about 2^-24 of it.
        sample: some vectors (N, size), to learn their mean, their range and how much their entries
            depend on each other. Without it they should have mean 0.
        seed: seed of the random features.

    Returns:
        The plan. Pass it to `MemoryStore.create`.

    Raises:
        KanervaError: a number is out of range, or no memory reaches this error.

    Example:
        >>> from kanerva.store import plan_vectors
        >>> plan = plan_vectors(100_000, 384, rows_per_item=0.5)
        >>> plan.num_rows, plan.num_blocks, plan.num_bytes // 10**6
        (256, 195, 204)

    """
    check_integer("num_items", num_items, at_most=10**9, fix="Say how many items you expect.")
    check_integer("size", size, at_most=10**6, fix="Pass vectors.shape[1].")
    check_integer("value_size", value_size, at_least=0, at_most=10**6, fix="Pass values.shape[1].")
    check_integer("seed", seed, at_least=0, at_most=2**63 - 1, fix="Use 0.")
    check_number("cue_noise", cue_noise, at_least=0, at_most=2, fix="0.1 is a good start.")
    similarity = cue_similarity(SCALE, max(cue_noise, 0.01))
    rounded = math.floor
    if rows_per_item is None:
        rows_per_item = _rows_for(0.5 if error is None else error, similarity)
        rounded = math.ceil
    elif error is not None:
        raise KanervaError(
            "rows_per_item",
            expected="error or rows_per_item, not both",
            got="both",
            fix="Leave one of them out.",
        )
    check_number(
        "rows_per_item",
        rows_per_item,
        at_least=MIN_ROWS_PER_ITEM,
        at_most=MAX_ROWS_PER_ITEM,
        fix="0.5 is a small memory, 2 one with small errors.",
    )
    total = max(1, rounded(rows_per_item * num_items + 1e-9))
    num_blocks = max(1, round(total / ROWS_PER_BLOCK))
    num_rows = max(1, rounded(total / num_blocks))
    check_features(size, num_rows, num_blocks)
    centre, range_seen, effective = _learned_from(sample, size)
    if largest is None:
        largest = 32.0 if value_size else range_seen
    check_number("largest", largest, above=1e-100, at_most=1e100, fix="32 is the default.")
    if value_size:
        largest = max(largest, 1.0)  # keys are stored with length 1
    return VectorPlan(
        num_items=num_items,
        size=size,
        value_size=value_size,
        num_rows=num_rows,
        num_blocks=num_blocks,
        num_probes=_probes(num_blocks, cue_noise),
        scale=SCALE,
        noise_var=best_noise_var(num_items / (num_rows * num_blocks), similarity),
        cue_noise=float(cue_noise),
        # Codes of a memory that fades grow by up to the root of 2 within a half-life.
        code_exponent=math.ceil(math.log2(1.5 * largest)) - (CODE_BITS - 1),
        effective_size=effective,
        centre=centre,
        seed=seed,
    )


def _rows_for(error: float, similarity: float) -> float:
    """The smallest number of rows per item with this expected error."""
    check_number("error", error, above=0, at_most=1, fix="0.5 is a good start; 1 is no memory.")

    def reached(rows: float) -> float:
        noise_var = best_noise_var(1 / rows, similarity)
        return math.sqrt(expected_recall(1 / rows, noise_var).squared_error(similarity))

    low, high = math.log(MIN_ROWS_PER_ITEM), math.log(MAX_ROWS_PER_ITEM)
    if reached(MAX_ROWS_PER_ITEM) > error:
        raise KanervaError(
            "error",
            expected=f"at least {reached(MAX_ROWS_PER_ITEM):.3f} with this cue_noise",
            got=f"{error:g}",
            fix="Ask for a larger error, or plan for less noise on the cues.",
        )
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(math.exp(middle)) <= error else (middle, high)
    return math.exp(high)


def _probes(num_blocks: int, cue_noise: float) -> int:
    """Blocks to look at so that 995 of 1,000 cues find the one in which their vector is."""
    if num_blocks == 1:
        return 1
    random = np.random.default_rng(0)
    ranks = np.empty(2000 if num_blocks < 10_000 else 400, np.int64)
    for number in range(len(ranks)):
        scores = random.standard_normal(num_blocks)
        noisy = scores + cue_noise * random.standard_normal(num_blocks)
        ranks[number] = (noisy > noisy[scores.argmax()]).sum()
    ranks.sort()
    return int(min(ranks[int(0.995 * len(ranks))] + 1, num_blocks, MAX_PROBES))


def _learned_from(sample: object, size: int) -> tuple[tuple[float, ...] | None, float, float]:
    """Centre, largest entry to expect, and effective size."""
    if sample is None:
        return None, 32.0, float(size)
    vectors = checked_vectors("sample", sample, size)
    if len(vectors) < 2:
        raise KanervaError(
            "sample",
            expected="at least two vectors",
            got=f"{len(vectors)}",
            fix="Pass a few hundred vectors like those to be written.",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        centre = torch.from_numpy(vectors.mean(0)).float().double().numpy()
        rest = vectors - centre
        largest = 4 * float(np.abs(rest).max())
    if not 1e-90 <= largest <= 1e90:
        raise KanervaError(
            "sample",
            expected="vectors that differ, of ordinary size",
            got=f"differences of up to {largest / 4:.3g}",
            fix="Pass vectors like those to be written, and scale them if they are very large.",
        )
    singular = np.linalg.svd(rest / largest, compute_uv=False) ** 2
    # The sum of squared eigenvalues of a sample's covariance is too large by (trace)^2 / N.
    concentration = (singular**2).sum() / singular.sum() ** 2 - 1 / len(rest)
    effective = min(float(size), 1 / max(concentration, 1 / size))
    return tuple(centre.tolist()), largest, effective
