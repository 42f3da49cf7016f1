"""What a sparse distributed memory can be expected to recall (Kanerva 1988).

`readout.py` says what sum decides a bit. Here it is taken to be normal, given how many addresses
answer and how loud the others are; from that follow the distance after a reading, the critical
distance and the capacity.
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
from kanerva.sparse.sizes import Sizes, check_num_bits, check_num_patterns

STEPS = np.arange(-14.0, 15.0)[:, None]
"""Of half a standard deviation, or of one where that is less: they reach far into both tails."""
STILL = 1e-6
"""Bits in a reading: less is no movement."""


def change_rates(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """(2, D + 1): probability that a reading loses a kept bit, that it repairs a flipped one.

    Phi(-+rho), averaged over how many addresses answer, a ~ Bin(K, p), and how many of them hold
    the pattern, n ~ Bin(a, o(d) / p). Signal and noise grow together with a: one rho for all, with
    the variance of n in the noise, would make the tails too thick where K p is below some hundreds.
    And over how loud the other patterns are (`noise_levels`). Ties count as half.
    """
    check_num_patterns(num_patterns)
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
    """Phi(rho), (2, D + 1): probability that a bit is read rightly, for kept and flipped bits."""
    lost, repaired = change_rates(sizes, num_patterns)
    return np.stack([1 - lost, repaired])


def distance_changes(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """(D + 1,): how much farther from the pattern a reading leads, for each distance before."""
    old = np.arange(sizes.num_bits + 1)
    lost, repaired = change_rates(sizes, num_patterns)
    return (sizes.num_bits - old) * lost - old * repaired


def new_distances(sizes: Sizes, num_patterns: int) -> np.ndarray:
    """(D + 1,): expected distance from the pattern after one reading, for each distance before."""
    return np.arange(sizes.num_bits + 1) + distance_changes(sizes, num_patterns)


def critical_distance(sizes: Sizes, num_patterns: int) -> float:
    """Where reading again neither repairs nor destroys: the unstable fixed point of the distance.

    From 0, distances settle at the lowest fixed point, the pattern as the memory holds it. The next
    one is critical: nearer cues fall to the pattern, farther ones drift away. D / 2 if there is
    none, so that any cue finds it; 0 if distances settle only beyond D / 4, nearer to chance than
    to the pattern, or stand still. Wrong bits are independent of addresses and patterns in the
    first cue only; that they stay so is an approximation. Circles overlap as much at distance
    2 k as at 2 k - 1, o(2 k) = o(2 k - 1), so distances grow by fits and starts: neighbours are
    taken together.
    """
    old = np.arange(sizes.num_bits // 2)
    grown = distance_changes(sizes, num_patterns)
    grown = (grown[old] + grown[old + 1]) / 2
    repaired = _first(grown < -STILL)
    if repaired is None or repaired > sizes.num_bits / 4:
        return 0.0
    beyond = _first((grown > STILL) & (old > repaired))
    if beyond is None:
        return sizes.num_bits / 2
    before, after = grown[beyond - 1], grown[beyond]
    return float(beyond - 0.5 + before / (before - after))


def capacity(sizes: Sizes) -> int:
    """The largest number of patterns that leaves a critical distance, so that reading repairs."""
    low, high = 0, 1
    while critical_distance(sizes, high) > 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if critical_distance(sizes, middle) > 0 else (low, middle)
    return low


def first_order_capacity(num_bits: int) -> float:
    """Kanerva's capacity as a share of the K addresses, to first order: 0.098 for 1000 bits.

    A pattern comes back whole from its own address in one of two cases, Phi(rho)^D = 1/2, where
    rho^2 = K / T. So T / K = 1 / rho^2 with rho = Phi^-1(2^(-1 / D)); infinite for a single bit.
    """
    check_num_bits(num_bits)
    wrong = -math.expm1(-math.log(2) / num_bits)
    rho = torch.special.ndtri(torch.tensor(wrong, dtype=torch.float64)).item()
    return 1 / rho**2 if rho else math.inf


def binomial_quadrature(n: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and chances (29, ...) that stand for Bin(n, q): all that matter, or evenly spaced."""
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
    """The normal distribution function, in pieces too small for torch to share out among cores."""
    pieces = torch.from_numpy(z).flatten().split(1 << 14)
    return np.concatenate([torch.special.ndtr(piece) for piece in pieces]).reshape(z.shape)


def _first(true: np.ndarray) -> int | None:
    return int(true.argmax()) if true.any() else None
