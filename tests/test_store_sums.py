"""Exact sums: against Python's whole numbers, in any order, and back to nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanerva import KanervaError
from kanerva.store.exact_sums import ExactSums, Grid, RoundedItems
from kanerva.store.images import IMAGE_GRID
from store_cases import small_plan

GRIDS = {"vectors": small_plan().grid, "images": IMAGE_GRID}


def items(grid: Grid, num: int, *, K: int = 3, C: int = 2, seed: int = 0) -> RoundedItems:
    """Random items over the whole range of a grid."""
    random = np.random.default_rng(seed)
    limits = (2 ** (grid.weight_bits - 1) - 1, 2 ** (grid.code_bits - 1) - 1)
    parts = [
        random.integers(-limit, limit, (num, size), endpoint=True)
        for limit, size in zip(limits, (K, C), strict=True)
    ]
    return RoundedItems(*parts)


def sums_of(grid: Grid, chosen: RoundedItems) -> ExactSums:
    sums = ExactSums.zeros(grid, chosen.weights.shape[1], chosen.codes.shape[1])
    sums.add(chosen, grid)
    return sums


def as_python(limbs: np.ndarray) -> list[list[int]]:
    """A sum as Python's whole numbers."""
    if len(limbs) == 1:
        return limbs[0].tolist()
    pairs = zip(limbs[0].tolist(), limbs[1].tolist(), strict=True)
    return [[(a << 40) + b for a, b in zip(*pair, strict=True)] for pair in pairs]


@pytest.mark.parametrize("kind", GRIDS)
def test_sums_are_those_of_whole_numbers(kind):
    grid = GRIDS[kind]
    chosen = items(grid, 700)
    sums = sums_of(grid, chosen)
    W, Z = chosen.weights.tolist(), chosen.codes.tolist()
    assert as_python(sums.gram) == [
        [sum(w[i] * w[j] for w in W) for j in range(3)] for i in range(3)
    ]
    assert as_python(sums.cross) == [
        [sum(w[i] * z[c] for w, z in zip(W, Z, strict=True)) for c in range(2)] for i in range(3)
    ]
    assert sums.squares == sum(value**2 for z in Z for value in z)
    gram, _, squares = sums.to_float(grid)
    exact = Fraction(as_python(sums.gram)[0][0]) * Fraction(2) ** (2 * grid.weight_exponent)
    assert abs(Fraction(gram[0, 0]) - exact) <= exact * Fraction(2) ** -52
    assert squares == pytest.approx(
        float(Fraction(sums.squares) * Fraction(4) ** grid.code_exponent)
    )


@pytest.mark.parametrize("kind", GRIDS)
@given(order=st.permutations(range(12)), cut=st.integers(0, 12))
def test_order_merging_and_deleting_leave_no_trace(kind, order, cut):
    grid = GRIDS[kind]
    chosen = items(grid, 12)
    expected = sums_of(grid, chosen.select(slice(cut, None)))
    sums = ExactSums.zeros(grid, 3, 2)
    for position in order:
        sums.add(chosen.select(slice(position, position + 1)), grid)
    sums.merge(sums_of(grid, chosen.select(slice(0, cut))), sign=-1)
    assert sums.equals(expected)
    assert sums.digest() == expected.digest()
    sums.merge(expected, sign=-1)
    assert sums.is_zero()
    assert sums.count == 0


@pytest.mark.parametrize("kind", GRIDS)
def test_bytes_come_back(kind):
    grid = GRIDS[kind]
    sums = sums_of(grid, items(grid, 50))
    again = ExactSums.from_bytes(sums.to_bytes(), grid, 3, 2)
    assert again is not None
    assert again.equals(sums)
    assert ExactSums.from_bytes(sums.to_bytes()[:-8], grid, 3, 2) is None


@pytest.mark.parametrize("kind", GRIDS)
def test_rounding_is_to_the_nearest_step(kind):
    grid = GRIDS[kind]
    random = np.random.default_rng(0)
    weights, codes = 0.1 * random.standard_normal((5, 3)), random.standard_normal((5, 2))
    rounded = grid.rounded(weights, codes)
    assert np.abs(grid.weights(rounded) - weights).max() <= 2.0 ** (grid.weight_exponent - 1)
    assert np.abs(grid.codes(rounded) - codes).max() <= 2.0 ** (grid.code_exponent - 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e9])
def test_numbers_out_of_range_are_refused(bad):
    with pytest.raises(KanervaError, match="codes: expected finite numbers between"):
        GRIDS["vectors"].rounded(np.zeros((1, 3)), np.array([[0.0, bad]]))


def test_sums_that_do_not_fit_are_refused():
    grid = GRIDS["vectors"]
    sums = sums_of(grid, items(grid, 10))

    def double(times: int) -> None:
        for _ in range(times):
            sums.merge(sums.copy())

    double(3)
    with pytest.raises(KanervaError, match="62 bits"):
        double(60)
