"""Addresses for vectors without training: random features, and blocks of the memory.

Everything is made from a seed with whole numbers only, so that each machine and each version of
every library makes the same addresses.

Shapes: T items, D size of a vector, K rows of a block, P blocks.
"""

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SUMMANDS = 12
"""Uniform numbers in one normal number: their sum has the right variance without a division."""


def normal_numbers(seed: int, purpose: str, shape: tuple[int, ...]) -> Floats:
    """Nearly normal numbers (sums of twelve uniform ones), the same bits on every machine."""
    raw = _random_bytes(seed, purpose, SUMMANDS * math.prod(shape))
    total = raw.reshape(*shape, SUMMANDS).sum(-1, dtype=np.int64)
    return total / 2.0**32 - SUMMANDS / 2


def uniform_numbers(seed: int, purpose: str, shape: tuple[int, ...]) -> Floats:
    """Numbers between 0 and 1, the same bits on every machine."""
    return _random_bytes(seed, purpose, math.prod(shape)).reshape(shape) / 2.0**32


def _random_bytes(seed: int, purpose: str, count: int) -> NDArray[np.uint32]:
    stream = hashlib.shake_256(f"kanerva {purpose} {seed}".encode()).digest(4 * count)
    return np.frombuffer(stream, "<u4")


@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """Weights w = sqrt(2 / K) cos(F' x + b) of vectors x of length 1, and their blocks.

    The inner product of two such weights is about exp(-s^2 |x - x'|^2 / 2) (Rahimi and Recht 2007).
    A large memory is split into P blocks with rows of their own. A vector is written into the block
    whose anchor points most in its direction.
    """

    size: int
    """D."""
    num_rows: int
    """K."""
    num_blocks: int
    """P."""
    scale: float
    """s: larger means that vectors must be closer to count as similar."""
    seed: int
    frequencies: Floats = field(init=False, repr=False)
    """F, (D, K)."""
    phases: Floats = field(init=False, repr=False)
    """b, (K,)."""
    anchors: Floats = field(init=False, repr=False)
    """(D, P), of length 1."""

    def __post_init__(self) -> None:
        frequencies = normal_numbers(self.seed, "frequencies", (self.size, self.num_rows))
        anchors = normal_numbers(self.seed, "anchors", (self.size, self.num_blocks))
        turns = uniform_numbers(self.seed, "phases", (self.num_rows,))
        object.__setattr__(self, "frequencies", self.scale * frequencies)
        object.__setattr__(self, "phases", 2 * math.pi * turns)
        object.__setattr__(self, "anchors", anchors / np.linalg.norm(anchors, axis=0))

    def weights(self, vectors: Floats) -> Floats:
        """Weights (T, K) of vectors (T, D) of length 1."""
        angles = vectors @ self.frequencies
        angles += self.phases
        return math.sqrt(2 / self.num_rows) * np.cos(angles, out=angles)

    def linear_part(self) -> Floats:
        """L (D, K): the mean slope of the weights, so that w is about L' x plus the rest.

        The mean is over vectors x in random directions, whose entries have variance 1 / D.
        """
        damping = np.exp(-(self.frequencies**2).sum(0) / (2 * self.size))
        slopes = -math.sqrt(2 / self.num_rows) * np.sin(self.phases) * damping
        return self.frequencies * slopes

    def blocks(self, vectors: Floats, num_probes: int = 1) -> Integers:
        """The blocks whose anchors are nearest, (T, num_probes), the nearest first."""
        if self.num_blocks == 1:
            return np.zeros((len(vectors), 1), np.int64)
        scores = vectors @ self.anchors
        if num_probes == 1:
            return scores.argmax(1)[:, None]
        best = np.argpartition(-scores, num_probes - 1, axis=1)[:, :num_probes]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable")
        return np.take_along_axis(best, order, 1)
