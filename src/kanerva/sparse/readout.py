"""The sum that decides a bit: its signal and its noise (Kanerva 1988).

K random addresses a_k of D bits; T random patterns, each written at itself; a cue y at Hamming
distance d from one of them, x. All bits are signs here. With w_k(u) = 1 where u activates address
k, else 0, and n(u) = sum_k w_k(y) w_k(u) the addresses that u shares with the cue, one bit of
what is read has the sign of

    S = n(x) x + sum_t n(x_t) x_t          over the N = T - 1 other patterns.

What follows is about x S, which is positive where the bit is read rightly. Means and variances are
over random addresses and patterns, and exact.

Signal. An address is active for both y and x with probability o(d), the overlap of two circles,
so n(x) is binomial with mean K o(d).

The cue's own bits. A pattern that agrees with an active address in this bit is a little nearer
to it, and was more likely written there: E[w_k(u) u | a_k] = c a_k, c = P(Bin(D - 1, 1/2) = r) / 2.
So each other pattern adds m = c sum_k w_k(y) a_k x on average; and since active addresses lean
towards the cue in the same way, E m = K c^2 where the cue kept the bit of x, and - K c^2 where
it was flipped. A full memory tends to say what it was asked. First-order formulas leave this out.

Noise. Given the addresses, the others are independent:

    var(x S) = var n(x) + 2 N cov(n(x), m) + N (E n(u)^2 - E m^2) + N^2 var m
    E n(u)^2 = K p^2 + K (K - 1) E o(h)^2,   h ~ Bin(D, 1/2)
    var m    = K c^2 (p - c^2)
    cov      = K c (e(d) - o(d) (+-c)),      e(d) = E[w_k(y) w_k(x) a_k x]

Tails. The N terms n(u) u are alike and, but for m, symmetric, so their sum has the fourth cumulant
N (E n^4 - 3 (E n^2)^2): patterns near the cue weigh more than others, and the tails are thicker
than normal. `noise_levels` says so as a variance that itself varies.

For a kept bit e(d) is half the difference of two overlaps in the other D - 1 bits (this one agrees
with both centres or with neither); for a flipped one it is 0, by symmetry.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kanerva.sparse.hamming_balls import binomial_probabilities, intersection
from kanerva.sparse.sizes import Sizes, check_num_patterns

SIGNS = np.array([[1.0], [-1.0]])
"""Rows of all results here: bits that the cue kept, bits that are flipped in it."""
GAUSS_HERMITE = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Places and weights that stand for a normal distribution, exact for polynomials to degree 5."""
TINY = 1e-300
"""Circles of fewer points than float64 can say are as good as empty."""


class Readout(NamedTuple):
    """x S, in two rows (kept bits, flipped bits)."""

    mean: np.ndarray
    var: np.ndarray


def readout(sizes: Sizes, num_patterns: int) -> Readout:
    """(2, D + 1): mean and variance of x S for every distance d = 0 ... D of the cue."""
    check_num_patterns(num_patterns)
    K, N = sizes.num_addresses, num_patterns - 1
    p, c, o, e, o_powers = address_statistics(sizes)
    mean_m = K * c**2 * SIGNS
    var_m = K * c**2 * (p - c**2)
    square = K * p**2 + K * (K - 1) * o_powers[1]
    cov = K * c * (e - o * c * SIGNS)
    noise = N * (square - var_m - mean_m**2) + N**2 * var_m
    return Readout(K * o + N * mean_m, K * o * (1 - o) + 2 * N * cov + noise)


def readout_given(
    sizes: Sizes, num_patterns: int, active: np.ndarray, shared: np.ndarray
) -> Readout:
    """(..., 2, D + 1): the same where `active` addresses answer, `shared` (..., 1, D + 1) by x too.

    Shared addresses lean towards x by e / o each, the rest by (+-c - e) / (p - o). That these
    numbers are given changes E n(u)^2; of that only what `active` changes is counted.
    """
    N = num_patterns - 1
    p, c, o, e, _ = address_statistics(sizes)
    lean = _ratio(e, o)
    lean_of_rest = _ratio(c * SIGNS - e, p - o)
    rest = active - shared
    mean_m = c * (shared * lean + rest * lean_of_rest)
    var_m = c**2 * (shared * (1 - lean**2) + rest * (1 - lean_of_rest**2))
    square, _ = _moments(sizes, active)
    return Readout(shared + N * mean_m, N * (square - var_m - mean_m**2) + N**2 * var_m)


def noise_levels(
    sizes: Sizes, num_patterns: int, active: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """What to add to the variance given `active`, and weights: tails as thick as they are.

    A normal sum whose variance V is log-normal has the fourth cumulant 3 var V. Thinner tails than
    normal, where nearly every address answers, are left alone.
    """
    N = num_patterns - 1
    square, fourth = _moments(sizes, active)
    mean = N * square
    if N == 0 or not square > 0:
        return [(np.zeros_like(mean), 1.0)]
    var = N * np.maximum(fourth - 3 * square**2, 0) / 3
    scale = np.sqrt(np.log1p(var / mean**2))
    return [(mean * np.expm1(scale * x - scale**2 / 2), weight) for x, weight in GAUSS_HERMITE]


def _moments(sizes: Sizes, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E n(u)^2 and E n(u)^4, where n(u) is Bin(active, o(h) / p) for a pattern at distance h."""
    p, *_, o_powers = address_statistics(sizes)
    falling, product = [], np.ones_like(active)
    for k, o_power in enumerate(o_powers):
        product = product * (active - k)
        falling.append(product * o_power / max(p ** (k + 1), TINY))
    one, two, three, four = falling
    return one + two, one + 7 * two + 6 * three + four


def signal_to_noise(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """rho, (2, D + 1): mean over standard deviation of x S."""
    return mean_over_std(readout(sizes, num_patterns))


def mean_over_std(sums: Readout) -> np.ndarray:
    """Mean over standard deviation; 0 where nothing is read and nothing can vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sums.mean / np.sqrt(np.maximum(sums.var, 0))
    return np.where(np.isnan(ratio), 0.0, ratio)


def first_order_ratio(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """(D + 1,): rho to first order, sqrt(K / T) o(d) / p.

    The signal K o(d) over the noise T K p^2 of T patterns: as if addresses shared with one of them
    were rare (K p^2 << 1), the signal itself did not vary, and the cue's own bits did not matter.
    """
    check_num_patterns(num_patterns)
    known = address_statistics(sizes)
    return math.sqrt(sizes.num_addresses / num_patterns) * known.overlap / known.active


class AddressStatistics(NamedTuple):
    """What one random address does, for every distance d = 0 ... D."""

    active: float
    """p: it is active for a cue."""
    agreeing: float
    """c: E[w a u] for a pattern u."""
    overlap: np.ndarray
    """o(d), (D + 1,): it is active for both of two that are d apart."""
    leaning: np.ndarray
    """e(d), (2, D + 1)."""
    overlap_powers: tuple[float, ...]
    """E o(h)^k for two random patterns, k = 1 ... 4."""


@lru_cache(maxsize=32)
def address_statistics(sizes: Sizes) -> AddressStatistics:
    """All from exact sums over binomials; a second or so for 2000 bits."""
    D, r = sizes.num_bits, sizes.radius
    overlap = np.array([intersection(D, d, r, r) for d in range(D + 1)])
    kept = [
        (intersection(D - 1, d, r, r) - intersection(D - 1, d, r - 1, r - 1)) / 2 for d in range(D)
    ]
    return AddressStatistics(
        active=float(overlap[0]),
        agreeing=float(binomial_probabilities(D - 1)[r] / 2) if r < D else 0.0,
        overlap=overlap,
        leaning=np.array([[*kept, 0.0], [0.0] * (D + 1)]),
        overlap_powers=tuple(float(binomial_probabilities(D) @ overlap**k) for k in (1, 2, 3, 4)),
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A mean of signs, 0 where there is nothing to take a mean of."""
    return np.where(whole > 0, part / np.maximum(whole, TINY), 0.0).clip(-1, 1)
