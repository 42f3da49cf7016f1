"""Which points of the cube {0, 1}^D are within a Hamming distance of a cue (app:review).

Shapes: K points, Q cues, D bits.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

PACKED_BLOCK = 1 << 17
"""Distances counted at once from packed bits: what stays near the processor."""
PRODUCT_BLOCK = 1 << 22
"""Entries of one factor of a matrix product: 16 MB."""
CAN_COUNT = hasattr(np, "bitwise_count")
"""Since numpy 2."""

Indices = Tensor | np.ndarray
"""An array on a CPU, a tensor elsewhere."""


class HammingIndex:
    """K fixed points, made ready for many cues.

    On a CPU bits are packed into words and distances counted by XOR; elsewhere, and with an old
    numpy, they come from matrix products. Both are exact.
    """

    def __init__(self, bits: Tensor) -> None:
        self.bits = bits
        packs = CAN_COUNT and bits.device.type == "cpu"
        # One row for each word: the loop over words then runs along memory.
        self.words = np.ascontiguousarray(_pack(bits).T) if packs else None

    def within(self, radius: int, cues: Tensor) -> Iterator[Indices]:
        """For one cue after another, the indices of the points at most `radius` away."""
        block = PACKED_BLOCK if self.words is not None else PRODUCT_BLOCK
        for some in cues.split(max(1, block // len(self.bits))):
            for row in as_numpy_on_cpu(self.near(radius, some)):
                yield np.flatnonzero(row) if isinstance(row, np.ndarray) else row.nonzero()[:, 0]

    def near(self, radius: int, cues: Tensor) -> Tensor:
        """(Q, K): whether a point is at most `radius` away."""
        if self.words is not None:
            return torch.from_numpy(_count(self.words, _pack(cues)) <= radius)
        return _distances(self.bits, cues) <= radius


def as_numpy_on_cpu(tensor: Tensor) -> Tensor | np.ndarray:
    """A CPU tensor as the array that shares its numbers.

    Thousands of small steps follow, which torch would each spread over all cores; where those are
    busy, waiting for them costs a hundred times the step.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _count(words: np.ndarray, cues: np.ndarray) -> np.ndarray:
    """(Q, K) distances from packed points (words, K) and cues (Q, words)."""
    smallest = np.min_scalar_type(64 * len(words))
    distances = np.zeros((len(cues), words.shape[1]), smallest)
    for points, cue in zip(words, cues.T, strict=True):
        distances += np.bitwise_count(points ^ cue[:, None])
    return distances


def _distances(points: Tensor, cues: Tensor) -> Tensor:
    """(Q, K) distances |q| - s a, where s is the cue as +1 and -1, and a is a point's bits.

    A one of the cue that the point shares takes one from |q|; a one that only the point has
    adds one. Sums of D ones are exact in float32, whatever the precision of the products.
    """
    with torch.autocast(cues.device.type, enabled=False):
        signs = cues.float().mul_(2).sub_(1)
        rows = points.split(max(1, PRODUCT_BLOCK // max(1, points.shape[1])))
        products = torch.cat([signs @ some.float().T for some in rows], dim=1)
        return cues.sum(1, keepdim=True) - products


def _pack(bits: Tensor) -> np.ndarray:
    """(..., D) bits as (..., words) of 64 bits, filled up with zeros."""
    octets = np.packbits(bits.numpy(), axis=1)
    full = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    full[:, : octets.shape[1]] = octets
    return full.view(np.uint64)
