"""What a sparse distributed memory will recall, in theory (Kanerva 1988).

`readout.py` describes the sum that decides a bit. Here this sum is taken as normal, given how many
addresses answer and how strong the noise of the other patterns is. The distance after a reading,
the critical distance and the capacity follow from that.
"""

import math

import numpy as np
import torch

from kanerva.sparse.hamming_balls import log_factorials
from kanerva.sparse.readout import (
    SIGNS,
    TINY,
    address_statistics,
    mean_over_std,
    noise_levels,
    readout_given,
)
from kanerva.sparse.sizes import Sizes, check_num_bits, check_sizes, check_sizes_and_patterns

STEPS = np.arange(-14.0, 15.0)[:, None]
"""Steps of half a standard deviation, or of one where that is less; they reach into both tails."""
MIN_CHANGE = 1e-6
"""If a reading changes fewer bits than this on average, the distance does not change."""


def change_rates(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """The probabilities that one reading loses a kept bit and that it repairs a flipped one.

    They are Phi(-+rho), averaged over how many addresses answer, a ~ Bin(K, p), over how many of
    these hold the pattern, n ~ Bin(a, o(d) / p), and over how strong the noise of the other
    patterns is (`noise_levels`). Signal and noise grow together with a. One rho for all, with the
    variance of n in the noise, would make the tails too thick where K p is below some hundreds.
    Ties count as half.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (2, D + 1), for a cue at every distance d = 0 ... D: lost bits in the first row, repaired
        bits in the second.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import change_rates
        >>> lost, repaired = change_rates(Sizes(1000, 64, 24), 10)
        >>> round(float(lost[10]), 2), round(float(repaired[10]), 2)
        (0.02, 0.97)

    """
    check_sizes_and_patterns(sizes, num_patterns)
    known = address_statistics(sizes)
    held = np.minimum(known.overlap / max(known.active, TINY), 1)
    rates = np.zeros((2, sizes.num_bits + 1))
    numbers, chances = binomial_quadrature(sizes.num_addresses, np.array([known.active]))
    for active, chance in zip(numbers[:, 0], chances[:, 0], strict=True):
        if chance > 0:
            shared, shared_chance = binomial_quadrature(int(active), held)
            sums = readout_given(sizes, num_patterns, active, shared[:, None])
            for extra, weight in noise_levels(sizes, num_patterns, active):
                ratio = mean_over_std(sums._replace(var=sums.var + extra))
                lost = (_phi(-SIGNS * ratio) * shared_chance[:, None]).sum(0)
                rates += chance * weight * lost
    return rates


def fidelity(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """The probability Phi(rho) that one reading gets a bit right.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (2, D + 1), for a cue at every distance d = 0 ... D: bits that the cue kept in the first
        row, bits that are flipped in it in the second.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import fidelity
        >>> bool(fidelity(Sizes(1000, 64, 24), 10)[0, 0] > 0.99)
        True

    """
    lost, repaired = change_rates(sizes, num_patterns)
    return np.stack([1 - lost, repaired])


def distance_changes(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """How much one reading changes the distance to the pattern; below 0 it repairs.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (D + 1,), the expected change in bits, for a cue at every distance d = 0 ... D.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import distance_changes
        >>> bool(distance_changes(Sizes(1000, 64, 24), 10)[5] < 0)
        True

    """
    check_sizes_and_patterns(sizes, num_patterns)
    old = np.arange(sizes.num_bits + 1)
    lost, repaired = change_rates(sizes, num_patterns)
    return (sizes.num_bits - old) * lost - old * repaired


def new_distances(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """The expected distance from the pattern after one reading.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        (D + 1,), in bits, for a cue at every distance d = 0 ... D.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import new_distances
        >>> new_distances(Sizes(1000, 64, 24), 10)[[5, 10, 15, 20]].round(1)
        array([ 0.2,  1.2,  6. , 11.4])

    """
    changes = distance_changes(sizes, num_patterns)
    return np.arange(len(changes)) + changes


def critical_distance(sizes: Sizes, num_patterns: int) -> float:
    """The distance up to which repeated reading finds a pattern.

    It is the unstable fixed point of the distance, where a reading neither repairs nor destroys.
    Starting from 0, distances settle at the lowest fixed point, the pattern as the memory holds
    it. The next fixed point is critical: nearer cues are drawn to the pattern, farther ones drift
    away. Wrong bits are independent of addresses and patterns in the first cue only; that they
    stay so is an approximation. Two Hamming balls overlap as much at distance 2 k as at 2 k - 1,
    o(2 k) = o(2 k - 1), so distances grow unevenly. Therefore neighbouring distances are averaged.

    Args:
        sizes: the memory's addresses, bits and radius.
        num_patterns: T, how many patterns were written.

    Returns:
        The distance in bits. D / 2 if there is no such fixed point, so that any cue finds the
        pattern. 0 if distances settle only beyond D / 4, nearer to chance than to the pattern, or
        do not move.

    Raises:
        KanervaError: `num_patterns` is below 1.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import critical_distance
        >>> [round(critical_distance(Sizes(1000, 64, 24), num)) for num in (1, 60, 200)]
        [32, 14, 0]

    """
    grown = distance_changes(sizes, num_patterns)
    old = np.arange(sizes.num_bits // 2)
    grown = (grown[old] + grown[old + 1]) / 2
    repaired = _first(grown < -MIN_CHANGE)
    if repaired is None or repaired > sizes.num_bits / 4:
        return 0.0
    beyond = _first((grown > MIN_CHANGE) & (old > repaired))
    if beyond is None:
        return sizes.num_bits / 2
    before, after = grown[beyond - 1], grown[beyond]
    return float(beyond - 0.5 + before / (before - after))


def capacity(sizes: Sizes) -> int:
    """The largest number of patterns with which there is a critical distance: reading repairs.

    Args:
        sizes: the memory's addresses, bits and radius.

    Returns:
        A number of patterns, T.

    Example:
        >>> from kanerva.sparse import Sizes
        >>> from kanerva.sparse.theory import capacity
        >>> capacity(Sizes(1000, 64, 24))
        83

    """
    check_sizes(sizes)
    low, high = 0, 1
    while critical_distance(sizes, high) > 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if critical_distance(sizes, middle) > 0 else (low, middle)
    return low


def first_order_capacity(num_bits: int) -> float:
    """Kanerva's first-order capacity, as a share of the K addresses: 0.098 for 1000 bits.

    At this number of patterns T, one in two patterns is read without a wrong bit from its own
    address: Phi(rho)^D = 1/2, where rho^2 = K / T. So T / K = 1 / rho^2 with
    rho = Phi^-1(2^(-1 / D)).

    Args:
        num_bits: D.

    Returns:
        T / K; infinite for a single bit.

    Raises:
        KanervaError: `num_bits` is below 1.

    Example:
        >>> from kanerva.sparse.theory import first_order_capacity
        >>> round(first_order_capacity(1000), 3)
        0.098

    """
    check_num_bits(num_bits)
    wrong = -math.expm1(-math.log(2) / num_bits)
    rho = torch.special.ndtri(torch.tensor(wrong, dtype=torch.float64)).item()
    return 1 / rho**2 if rho else math.inf


def binomial_quadrature(n: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and their probabilities that replace the distribution Bin(n, q).

    They are all numbers that matter, or evenly spaced ones if those are too many.

    Args:
        n: the number of draws.
        q: (...), the probability of each draw.

    Returns:
        Two arrays (29, ...): numbers from 0 to n, and probabilities that sum to 1.

    Example:
        >>> from kanerva.sparse.theory import binomial_quadrature
        >>> numbers, probabilities = binomial_quadrature(1000, np.array([0.25]))
        >>> float((numbers * probabilities).sum().round(3))
        250.0

    """
    step = np.maximum(np.floor(np.sqrt(n * q * (1 - q)) / 2), 1)
    k = np.round(n * q) + STEPS * step
    possible = (k >= 0) & (k <= n)
    k = k.clip(0, n)
    log, i = log_factorials(n), k.astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 log 0 = 0
        of_ones = np.where(k > 0, k * np.log(q), 0.0)
        of_zeros = np.where(k < n, (n - k) * np.log1p(-q), 0.0)
    chance = np.exp(log[n] - log[i] - log[n - i] + of_ones + of_zeros) * possible
    return k, chance / chance.sum(0)


def _phi(z: np.ndarray) -> np.ndarray:
    """The normal distribution function, in pieces too small for torch to divide among cores."""
    pieces = torch.from_numpy(z).flatten().split(1 << 14)
    return np.concatenate([torch.special.ndtr(piece) for piece in pieces]).reshape(z.shape)


def _first(true: np.ndarray) -> int | None:
    return int(true.argmax()) if true.any() else None
