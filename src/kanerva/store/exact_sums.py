"""Sums over items that are exact: whole numbers, so that order and rounding do not matter.

A memory needs W' W and W' Z of its items (section 3.3). In floating point the sum depends on the
order of the items, and adding and subtracting an item leaves a rounding error. Here weights and
codes are rounded once, to multiples of a fixed step, when they are written. From then on all sums
are sums of whole numbers. So forgetting an item, merging, and writing in another order or in
several processes give the same memory, bit for bit.

Shapes: T items, K rows, C code size.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanerva.errors import KanervaError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LOW_BITS = 40
"""Bits of the lower limb of a sum with two limbs."""
MAX_EXACT = 2**53
"""Whole numbers up to here are exact in float64, whatever the order of a sum."""
MAX_SUM = 2**62
"""Larger entries of a sum with one limb are refused."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The steps to which weights and codes are rounded, and how many bits they may have."""

    weight_exponent: int
    """Weights are multiples of 2 to this power."""
    weight_bits: int
    """Bits of a weight, with its sign."""
    code_exponent: int
    """Codes are multiples of 2 to this power."""
    code_bits: int
    """Bits of an entry of a code, with its sign."""

    @property
    def num_limbs(self) -> int:
        """How many whole numbers hold one entry of a sum."""
        return 1 if self.weight_bits + self.code_bits <= 46 else 2

    @property
    def largest_code(self) -> float:
        """The largest entry of a code that can be written at any time, also if it fades."""
        return math.ldexp(1, self.code_exponent + self.code_bits - 1) / 1.5

    def rounded(self, weights: Floats, codes: Floats) -> "RoundedItems":
        """Weights (T, K) and codes (T, C) as multiples of the steps."""
        return RoundedItems(
            _rounded("weights", weights, self.weight_exponent, self.weight_bits),
            _rounded("codes", codes, self.code_exponent, self.code_bits),
        )

    def weights(self, items: "RoundedItems") -> Floats:
        """The weights as they were written, (T, K)."""
        return np.ldexp(items.weights.astype(np.float64), self.weight_exponent)

    def codes(self, items: "RoundedItems") -> Floats:
        """The codes as they were written, (T, C)."""
        return np.ldexp(items.codes.astype(np.float64), self.code_exponent)

    def to_dict(self) -> dict[str, int]:
        """The fields for JSON."""
        return dict(vars(self))


class RoundedItems(NamedTuple):
    """Items as they are written: multiples of the steps of a `Grid`."""

    weights: Integers
    """(T, K)."""
    codes: Integers
    """(T, C)."""

    def select(self, which: NDArray[np.bool_] | slice) -> "RoundedItems":
        """Some of the items."""
        return RoundedItems(self.weights[which], self.codes[which])


def _rounded(argument: str, values: Floats, exponent: int, bits: int) -> Integers:
    largest = np.abs(values).max(initial=0.0)
    limit = math.ldexp(1, exponent + bits - 1) - math.ldexp(1, exponent)
    if not largest <= limit:
        what = "a NaN" if math.isnan(largest) else f"{largest:g}"
        raise KanervaError(
            argument,
            expected=f"finite numbers between -{limit:g} and {limit:g}, the range of this memory",
            got=what,
            fix="Scale them, or create a memory for larger ones: plan_vectors(..., largest=...).",
        )
    steps = values * math.ldexp(1, -exponent)  # exact: a power of two
    return np.rint(steps, out=steps).astype(np.int64)


@dataclass(eq=False)
class ExactSums:
    """W' W, W' Z and the sum of |z|^2 of some items, as whole numbers of steps.

    A sum with two limbs is high * 2^40 + low with 0 <= low < 2^40, which makes it unique.
    """

    gram: Integers
    """(limbs, K, K)."""
    cross: Integers
    """(limbs, K, C)."""
    squares: int
    count: int

    @classmethod
    def zeros(cls, grid: Grid, num_rows: int, code_size: int) -> "ExactSums":
        """The sums of no items."""
        gram = np.zeros((grid.num_limbs, num_rows, num_rows), np.int64)
        return cls(gram, np.zeros((grid.num_limbs, num_rows, code_size), np.int64), 0, 0)

    def add(self, items: RoundedItems, grid: Grid, *, sign: int = 1) -> None:
        """Add items, or subtract them with `sign=-1`."""
        weight_parts, code_parts = _parts(items.weights, grid), _parts(items.codes, grid)
        bits = sum(max(_bits_of(part) for _, part in parts) for parts in (weight_parts, code_parts))
        block = max(1, MAX_EXACT >> max(bits, 2 * max(_bits_of(p) for _, p in weight_parts)))
        for start in range(0, len(items.weights), block):
            rows = slice(start, start + block)
            left = [(shift, part[rows].T) for shift, part in weight_parts]
            _accumulate(self.gram, left, [(s, part[rows]) for s, part in weight_parts], sign)
            _accumulate(self.cross, left, [(s, part[rows]) for s, part in code_parts], sign)
        self.squares += sign * _sum_of_squares(items.codes)
        self.count += sign * len(items.weights)
        self._check_size()

    def merge(self, other: "ExactSums", *, sign: int = 1) -> None:
        """Add the sums of other items, or subtract them with `sign=-1`."""
        for mine, others in ((self.gram, other.gram), (self.cross, other.cross)):
            mine += sign * others
            carry(mine)
        self.squares += sign * other.squares
        self.count += sign * other.count
        self._check_size()

    def copy(self) -> "ExactSums":
        """The same sums in memory of their own."""
        return ExactSums(self.gram.copy(), self.cross.copy(), self.squares, self.count)

    def equals(self, other: "ExactSums") -> bool:
        """Whether both are the same, bit for bit."""
        return (
            (self.count, self.squares) == (other.count, other.squares)
            and np.array_equal(self.gram, other.gram)
            and np.array_equal(self.cross, other.cross)
        )

    def is_zero(self) -> bool:
        """Whether nothing is left."""
        return self.squares == 0 and not (self.gram.any() or self.cross.any())

    def to_float(self, grid: Grid) -> tuple[Floats, Floats, float]:
        """W' W (K, K), W' Z (K, C) and the sum of |z|^2 in float64."""
        gram = np.ldexp(_as_float(self.gram), 2 * grid.weight_exponent)
        cross = np.ldexp(_as_float(self.cross), grid.weight_exponent + grid.code_exponent)
        return gram, cross, math.ldexp(self.squares, 2 * grid.code_exponent)

    def to_bytes(self) -> bytes:
        """Everything in a fixed layout; of the symmetric W' W only one half."""
        head = np.array([self.count, *_split(self.squares)], "<i8")
        lower = self.gram[:, *np.tril_indices(self.gram.shape[-1])]
        return b"".join(part.astype("<i8").tobytes() for part in (head, lower, self.cross))

    @classmethod
    def from_bytes(
        cls, contents: bytes, grid: Grid, num_rows: int, code_size: int
    ) -> "ExactSums | None":
        """What `to_bytes` wrote, or None if the length is wrong."""
        limbs, half = grid.num_limbs, num_rows * (num_rows + 1) // 2
        if len(contents) != 8 * (5 + limbs * (half + num_rows * code_size)):
            return None
        numbers = np.frombuffer(contents, "<i8").astype(np.int64)
        lower = numbers[5 : 5 + limbs * half].reshape(limbs, half)
        gram = np.zeros((limbs, num_rows, num_rows), np.int64)
        rows, columns = np.tril_indices(num_rows)
        gram[:, rows, columns] = lower
        gram[:, columns, rows] = lower
        cross = numbers[5 + limbs * half :].reshape(limbs, num_rows, code_size).copy()
        return cls(gram, cross, _joined(numbers[1:5].tolist()), int(numbers[0]))

    def digest(self) -> bytes:
        """SHA-256 of `to_bytes`."""
        return hashlib.sha256(self.to_bytes()).digest()

    def _check_size(self) -> None:
        """Refuse sums that do not fit into their limbs; |W' Z| is bounded by both diagonals."""
        high = int(np.abs(np.diagonal(self.gram[0])).max(initial=0))
        if len(self.gram) == 1:
            too_large = high * max(self.squares, 1) >= MAX_SUM**2
        else:
            too_large = (high + 1) * max(self.squares, 1) >= MAX_SUM**2 << LOW_BITS
        if too_large or high >= MAX_SUM:
            raise KanervaError(
                "items",
                expected="sums that fit into 62 bits",
                got=f"{self.count:,} items in one part of the memory",
                fix="Create a memory for more items, or with larger steps.",
            )


def carry(limbs: Integers) -> None:
    """Bring the lower limb between 0 and 2^40, in place; sums with one limb need nothing."""
    if len(limbs) == 2:
        limbs[0] += limbs[1] >> LOW_BITS
        limbs[1] &= (1 << LOW_BITS) - 1


def _parts(values: Integers, grid: Grid) -> list[tuple[int, Floats]]:
    """Values as a sum of 2^shift times smaller whole numbers, whose products are exact."""
    if grid.num_limbs == 1:
        return [(0, values.astype(np.float64))]
    shift = 20
    high = (values + (1 << (shift - 1))) >> shift
    return [(shift, high.astype(np.float64)), (0, (values - (high << shift)).astype(np.float64))]


def _bits_of(part: Floats) -> int:
    return int(np.abs(part).max(initial=1)).bit_length()


def _accumulate(
    limbs: Integers,
    left: list[tuple[int, Floats]],
    right: list[tuple[int, Floats]],
    sign: int,
) -> None:
    """Add the products of all parts; each product is a whole number below 2^53."""
    for left_shift, a in left:
        for right_shift, b in right:
            product = sign * (a @ b).astype(np.int64)
            if len(limbs) == 1:
                limbs[0] += product
                continue
            low = LOW_BITS - left_shift - right_shift
            limbs[0] += product >> low
            limbs[1] += (product & ((1 << low) - 1)) << (LOW_BITS - low)
    carry(limbs)


def _as_float(limbs: Integers) -> Floats:
    values = limbs[0].astype(np.float64)
    return values if len(limbs) == 1 else np.ldexp(values, LOW_BITS) + limbs[1]


def _sum_of_squares(codes: Integers) -> int:
    """The exact sum, from parts of 20 bits whose squares can be added in 64 bits."""
    high = codes >> 20
    low = codes - (high << 20)
    rows = ((high * high).sum(1), (high * low).sum(1), (low * low).sum(1))
    hh, hl, ll = (sum(part.tolist()) for part in rows)
    return (hh << 40) + (hl << 21) + ll


def _split(number: int) -> list[int]:
    """A whole number below 2^240 as four parts of 60 bits."""
    return [(number >> (60 * part)) & ((1 << 60) - 1) for part in range(4)]


def _joined(parts: list[int]) -> int:
    return sum(part << (60 * index) for index, part in enumerate(parts))
