"""The sum that decides a bit that is read: its signal and its noise (Kanerva 1988).

There are K random addresses a_k of D bits and T random patterns, each written at itself. A cue y is
at Hamming distance d from one of them, x. All bits are signs here. Let w_k(u) = 1 where u activates
address k, else 0. Let n(u) = sum_k w_k(y) w_k(u) count the addresses that u shares with the cue.
Then one bit of what is read has the sign of

    S = n(x) x + sum_t n(x_t) x_t          over the N = T - 1 other patterns.

We look at x S, which is positive where the bit is read correctly. Means and variances are over
random addresses and patterns, and they are exact.

Signal. An address is active for both y and x with probability o(d), the overlap of two Hamming
balls, so n(x) is binomial with mean K o(d).

The cue's own bits. A pattern that agrees with an active address in this bit is a little nearer to
it, and was more probably written there: E[w_k(u) u | a_k] = c a_k, c = P(Bin(D - 1, 1/2) = r) / 2.
So each other pattern adds m = c sum_k w_k(y) a_k x on average. Active addresses lean towards the
cue in the same way, so that E m = K c^2 where the cue kept the bit of x, and - K c^2 where the bit
was flipped. A full memory tends to answer with the cue. First-order formulas leave this out.

Noise. Given the addresses, the other patterns are independent:

    var(x S) = var n(x) + 2 N cov(n(x), m) + N (E n(u)^2 - E m^2) + N^2 var m
    E n(u)^2 = K p^2 + K (K - 1) E o(h)^2,   h ~ Bin(D, 1/2)
    var m    = K c^2 (p - c^2)
    cov      = K c (e(d) - o(d) (+-c)),      e(d) = E[w_k(y) w_k(x) a_k x]

Tails. The N terms n(u) u have the same distribution, which is symmetric except for m. So their sum
has the fourth cumulant N (E n^4 - 3 (E n^2)^2): patterns near the cue weigh more than others, and
the tails are thicker than those of a normal distribution. `noise_levels` expresses this as a
variance that itself varies.

For a kept bit, e(d) is half the difference of two overlaps in the other D - 1 bits, because this
bit agrees with both centres or with neither. For a flipped bit it is 0, by symmetry.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kanerva.sparse.hamming_balls import binomial_probabilities, intersection
from kanerva.sparse.sizes import Sizes, check_sizes_and_patterns

SIGNS = np.array([[1.0], [-1.0]])
"""The two rows of all results here: bits that the cue kept, and bits that are flipped in it."""
GAUSS_HERMITE = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Points and weights that replace a normal distribution, exact for polynomials up to degree 5."""
TINY = 1e-300
"""Divisors are at least this, because the share of a very small ball may be 0 in float64."""


class Readout(NamedTuple):
    """Mean and variance of x S, in two rows: kept bits and flipped bits."""

    mean: np.ndarray
    var: np.ndarray


def readout(sizes: Sizes, num_patterns: int) -> Readout:
    """Mean and variance (2, D + 1) of x S for a cue at every distance d = 0 ... D.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        Two arrays (2, D + 1): the first row for kept bits, the second for flipped bits.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> mean, var = readout(Sizes(1000, 64, 24), 10)
        >>> mean.shape
        (2, 65)

    """
    check_sizes_and_patterns(sizes, num_patterns)
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
    """The same (..., 2, D + 1) if `active` addresses answer, of which `shared` also hold x.

    `shared` has shape (..., 1, D + 1). Shared addresses lean towards x by e / o each, the others by
    (+-c - e) / (p - o). Both numbers change E n(u)^2; only the change by `active` is counted.
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
    """What to add to the variance given `active`, with weights, so that the tails are right.

    A normal sum whose variance V is log-normal has the fourth cumulant 3 var V. Where nearly every
    address answers, the tails are thinner than normal; they are not corrected.
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
    """The ratio rho of mean to standard deviation of x S, for a cue at every distance d = 0 ... D.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (2, D + 1): the first row for kept bits, the second for flipped bits.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> rho = signal_to_noise(Sizes(1000, 64, 24), 10)
        >>> bool(rho[0, 0] > rho[0, 20])
        True

    """
    return mean_over_std(readout(sizes, num_patterns))


def mean_over_std(sums: Readout) -> np.ndarray:
    """Mean over standard deviation; 0 where nothing is read and nothing can vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sums.mean / np.sqrt(np.maximum(sums.var, 0))
    return np.where(np.isnan(ratio), 0.0, ratio)


def first_order_ratio(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """The ratio rho to first order, sqrt(K / T) o(d) / p, at every distance d = 0 ... D.

    This is the signal K o(d) over the noise T K p^2 of T patterns. It assumes that a pattern rarely
    shares addresses with another (K p^2 << 1), that the signal itself does not vary, and that the
    cue's own bits do not matter.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (D + 1,), the same for kept and flipped bits.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> float(first_order_ratio(Sizes(1000, 64, 24), 10)[0])  # sqrt(1000 / 10)
        10.0

    """
    check_sizes_and_patterns(sizes, num_patterns)
    known = address_statistics(sizes)
    return math.sqrt(sizes.num_addresses / num_patterns) * known.overlap / known.active


class AddressStatistics(NamedTuple):
    """Probabilities and means of one random address, for every distance d = 0 ... D."""

    active: float
    """p: the probability that it is active for a cue."""
    agreeing: float
    """c: E[w a u] for a pattern u."""
    overlap: np.ndarray
    """o(d), (D + 1,): the probability that it is active for both of two cues at distance d."""
    leaning: np.ndarray
    """e(d), (2, D + 1)."""
    overlap_powers: tuple[float, ...]
    """E o(h)^k for two random patterns, k = 1 ... 4."""


@lru_cache(maxsize=32)
def address_statistics(sizes: Sizes) -> AddressStatistics:
    """Compute them by exact sums over binomials; this takes about a second for 2000 bits."""
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
    """A mean of signs; 0 where there are no signs."""
    return np.where(whole > 0, part / np.maximum(whole, TINY), 0.0).clip(-1, 1)
