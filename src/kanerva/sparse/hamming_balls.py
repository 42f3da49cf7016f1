"""Hamming balls in the cube {0, 1}^D: how many points they contain, and how many two of them share.

The Hamming ball of a cue is the set of all points at most a radius away; Kanerva (1988) calls it a
circle. Everything here is an exact sum over binomial distributions, in float64.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from kanerva.checks import check_integer, check_number
from kanerva.sparse.sizes import Sizes, check_num_bits

EXACT_BITS = 20_000
"""Up to this many bits a radius is found with whole numbers; for more of them, in float64."""


def active_share(num_bits: int, radius: int) -> float:
    """The share p of all addresses that a cue activates: P(Bin(D, 1/2) <= radius).

    A random address differs from a cue in each bit with probability 1/2, independently.

    Args:
        num_bits: D.
        radius: the largest Hamming distance of an active address, from 0 to D.

    Returns:
        A number between 0 and 1.

    Raises:
        KanervaError: a number is not whole or not in its range.

    Example:
        >>> round(active_share(4, 1), 4)  # 5 of 16 points differ in at most one bit
        0.3125

    """
    return overlap(num_bits, radius, 0)


def active_share_normal(num_bits: int, radius: int) -> float:
    """The share p by the normal approximation: mean D / 2, variance D / 4, continuity correction.

    Args:
        num_bits: D.
        radius: the largest Hamming distance of an active address, from 0 to D.

    Returns:
        A number between 0 and 1.

    Raises:
        KanervaError: a number is not whole or not in its range.

    Example:
        >>> round(active_share(1000, 451), 5), round(active_share_normal(1000, 451), 5)
        (0.00107, 0.00108)

    """
    Sizes(1, num_bits, radius)
    z = (radius + 0.5 - num_bits / 2) / math.sqrt(num_bits / 4)
    return 0.5 * math.erfc(-z / math.sqrt(2))


def radius_for(num_bits: int, share: float) -> int:
    """Find the smallest radius with which a cue activates at least this share of all addresses.

    Args:
        num_bits: D, the bits of an address.
        share: the wanted share, above 0 and at most 1. For K addresses and T patterns a share of
            about 1 / (2 K T)^(1/3) is best.

    Returns:
        The radius, from 0 to D. Up to 20,000 bits it is exact: nothing is rounded. With more bits
        it may be off by one where the share of a radius is `share` up to the last digits.

    Raises:
        KanervaError: `num_bits` is below 1, or `share` is out of range.

    Example:
        >>> from kanerva.sparse import radius_for
        >>> radius_for(1000, 0.001)
        451

    """
    check_num_bits(num_bits)
    check_number(
        "share",
        share,
        above=0,
        at_most=1,
        fix="For K addresses and T patterns a share of about 1 / (2 K T)^(1/3) is best.",
    )
    if num_bits > EXACT_BITS:
        return _radius_in_float64(num_bits, share)
    wanted = Fraction(share) * 2**num_bits  # in points, which are whole numbers
    points, radius = 1, 0
    inside = points
    while inside < wanted:
        points = points * (num_bits - radius) // (radius + 1)
        radius += 1
        inside += points
    return radius


def _radius_in_float64(num_bits: int, share: float) -> int:
    """The same in float64, for many bits: whole numbers of so many digits take too long.

    The ratios P(Bin = k) / P(Bin = k - 1) = (D - k + 1) / k give all probabilities relative to the
    middle one, and by symmetry their sum. A share above one half is found from the other end, by
    P(Bin <= r) = 1 - P(Bin <= D - r - 1), where the sums are of small numbers.
    """
    half = num_bits // 2
    k = np.arange(half, 0, -1, dtype=np.float64)
    relative = np.append(0.0, np.cumsum(np.log(k) - np.log(num_bits - k + 1)))[::-1]
    inside = np.logaddexp.accumulate(relative)
    lower = inside[-1]  # ln of the sum over 0 ... half, in which the middle one is 1
    whole = math.log(2) + lower
    if num_bits % 2 == 0:
        whole += math.log1p(-math.exp(-whole))  # the middle one is there once
    inside -= whole  # ln P(Bin <= k)
    if math.log(share) <= inside[-1]:
        return int(np.searchsorted(inside, math.log(share)))
    if share == 1:
        return num_bits
    outside = int(np.searchsorted(inside, math.log1p(-share), side="right"))
    return num_bits - outside


def overlap(num_bits: int, radius: int, distance: int) -> float:
    """The share of all addresses that two cues both activate.

    Args:
        num_bits: D.
        radius: the largest Hamming distance of an active address, from 0 to D.
        distance: the Hamming distance between the two cues, from 0 to D.

    Returns:
        A number between 0 and 1.

    Raises:
        KanervaError: a number is not whole or not in its range.

    Example:
        >>> round(overlap(4, 1, 1), 4)  # of 16 points, only the two cues themselves
        0.125

    """
    Sizes(1, num_bits, radius)
    check_integer(
        "distance",
        distance,
        at_least=0,
        at_most=num_bits,
        fix="Two points cannot differ in more bits than they have.",
    )
    return intersection(num_bits, distance, radius, radius)


def intersection(num_bits: int, distance: int, radius: int, other_radius: int) -> float:
    """P(h(a, x) <= radius and h(a, y) <= other_radius) for a random a, with h(x, y) = distance.

    Let a differ from x in i of the d bits where x and y differ, and in m of the other D - d. Then
    h(a, x) = i + m and h(a, y) = d - i + m, so a is in both balls if m is at most
    min(radius - i, other_radius - d + i). Sum over i; i and m are independent binomials.
    """
    i = np.arange(distance + 1)
    most = np.minimum(radius - i, other_radius - distance + i)
    below = np.append(0.0, binomial_probabilities(num_bits - distance).cumsum())
    share = binomial_probabilities(distance) @ below[(most + 1).clip(0, len(below) - 1)]
    return min(float(share), 1.0)  # rounding can give a little more


def binomial_probabilities(n: int) -> np.ndarray:
    """P(Bin(n, 1/2) = k) for k = 0 ... n."""
    log = log_factorials(n)[: n + 1]
    return np.exp(log[n] - log - log[::-1] - n * math.log(2))


def log_factorials(n: int) -> np.ndarray:
    """log k! for k = 0 ... n, and some more."""
    return _log_factorials(1 << n.bit_length())


@lru_cache(maxsize=32)
def _log_factorials(n: int) -> np.ndarray:
    return np.fromiter(map(math.lgamma, range(1, n + 2)), np.float64, n + 1)
