"""Which points of the cube {0, 1}^D are within a Hamming distance of a query (app:review).

Shapes: K points, Q queries, D bits.
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


class Points:
    """K fixed points, made ready for many queries.

    On a CPU bits are packed into words and distances counted by XOR; elsewhere, and with an old
    numpy, they come from matrix products. Both are exact.
    """

    def __init__(self, bits: Tensor) -> None:
        self.bits = bits
        packs = CAN_COUNT and bits.device.type == "cpu"
        # One row for each word: the loop over words then runs along memory.
        self.words = np.ascontiguousarray(_pack(bits).T) if packs else None

    def within(self, radius: int, queries: Tensor) -> Iterator[Indices]:
        """For one query after another, the indices of the points at most `radius` away."""
        block = PACKED_BLOCK if self.words is not None else PRODUCT_BLOCK
        for some in queries.split(max(1, block // len(self.bits))):
            for row in plain(self.near(radius, some)):
                yield np.flatnonzero(row) if isinstance(row, np.ndarray) else row.nonzero()[:, 0]

    def near(self, radius: int, queries: Tensor) -> Tensor:
        """(Q, K): whether a point is at most `radius` away."""
        if self.words is not None:
            return torch.from_numpy(_count(self.words, _pack(queries)) <= radius)
        return _distances(self.bits, queries) <= radius


def plain(tensor: Tensor) -> Tensor | np.ndarray:
    """A CPU tensor as the array that shares its numbers.

    Thousands of small steps follow, which torch would each spread over all cores; where those are
    busy, waiting for them costs a hundred times the step.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _count(words: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """(Q, K) distances from packed points (words, K) and queries (Q, words)."""
    smallest = np.min_scalar_type(64 * len(words))
    distances = np.zeros((len(queries), words.shape[1]), smallest)
    for points, query in zip(words, queries.T, strict=True):
        distances += np.bitwise_count(points ^ query[:, None])
    return distances


def _distances(points: Tensor, queries: Tensor) -> Tensor:
    """(Q, K) distances |q| - s a, where s is the query as +1 and -1, and a is a point's bits.

    A one of the query that the point shares takes one from |q|; a one that only the point has
    adds one. Sums of D ones are exact in float32, whatever the precision of the products.
    """
    with torch.autocast(queries.device.type, enabled=False):
        signs = queries.float().mul_(2).sub_(1)
        rows = points.split(max(1, PRODUCT_BLOCK // max(1, points.shape[1])))
        products = torch.cat([signs @ some.float().T for some in rows], dim=1)
        return queries.sum(1, keepdim=True) - products


def _pack(bits: Tensor) -> np.ndarray:
    """(..., D) bits as (..., words) of 64 bits, filled up with zeros."""
    octets = np.packbits(bits.numpy(), axis=1)
    full = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    full[:, : octets.shape[1]] = octets
    return full.view(np.uint64)
