"""Which addresses are within a Hamming distance of a cue (app:review).

Shapes: K points (the addresses), N cues, D bits.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

PACKED_BLOCK = 1 << 17
"""How many distances are counted at once from packed bits, so that they stay in the CPU's cache."""
PRODUCT_BLOCK = 1 << 22
"""How many entries one factor of a matrix product may have: 16 MB."""
CAN_COUNT = hasattr(np, "bitwise_count")
"""Whether numpy can count bits: version 2 and later."""

Indices = Tensor | np.ndarray
"""An array on a CPU, a tensor on other devices."""


class HammingIndex:
    """K fixed points of D bits, prepared to find those near a cue many times.

    On a CPU, bits are packed into words, and XOR counts the distances. On other devices, and with
    an old numpy, matrix products do. Both are exact.
    """

    def __init__(self, bits: Tensor) -> None:
        self.bits = bits
        packs = CAN_COUNT and bits.device.type == "cpu"
        # One row for each word, so that the loop over words reads memory in order.
        self.words = np.ascontiguousarray(_pack(bits).T) if packs else None

    def indices_within(self, radius: int, cues: Tensor) -> Iterator[Indices]:
        """Yield for each cue (N, D) the indices of the points at most `radius` away."""
        block = PACKED_BLOCK if self.words is not None else PRODUCT_BLOCK
        for some in cues.split(max(1, block // len(self.bits))):
            for row in as_numpy_on_cpu(self.is_within(radius, some)):
                yield np.flatnonzero(row) if isinstance(row, np.ndarray) else row.nonzero()[:, 0]

    def is_within(self, radius: int, cues: Tensor) -> Tensor:
        """Say (N, K) whether a point is at most `radius` away from a cue."""
        if self.words is not None:
            return torch.from_numpy(_count(self.words, _pack(cues)) <= radius)
        return _distances(self.bits, cues) <= radius


def as_numpy_on_cpu(tensor: Tensor) -> Tensor | np.ndarray:
    """Turn a CPU tensor into an array that shares its memory; leave other tensors alone.

    Thousands of small steps follow. torch would divide each one among all cores. Where other work
    keeps these busy, waiting for them costs a hundred times more than the step.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def _count(words: np.ndarray, cues: np.ndarray) -> np.ndarray:
    """Count distances (N, K) between packed points (words, K) and packed cues (N, words)."""
    smallest = np.min_scalar_type(64 * len(words))
    distances = np.zeros((len(cues), words.shape[1]), smallest)
    for points, cue in zip(words, cues.T, strict=True):
        distances += np.bitwise_count(points ^ cue[:, None])
    return distances


def _distances(points: Tensor, cues: Tensor) -> Tensor:
    """Compute distances (N, K) as |q| - s a: q a cue, s the same as +1 and -1, a a point's bits.

    A one of the cue that the point shares takes one from |q|. A one that only the point has adds
    one. Sums of D ones are exact in float32, whatever the precision of the products.
    """
    with torch.autocast(cues.device.type, enabled=False):
        signs = cues.float().mul_(2).sub_(1)
        rows = points.split(max(1, PRODUCT_BLOCK // max(1, points.shape[1])))
        products = torch.cat([signs @ some.float().T for some in rows], dim=1)
        return cues.sum(1, keepdim=True) - products


def _pack(bits: Tensor) -> np.ndarray:
    """Pack bits (N, D) into words (N, words) of 64 bits, with zeros at the end."""
    octets = np.packbits(bits.numpy(), axis=1)
    full = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    full[:, : octets.shape[1]] = octets
    return full.view(np.uint64)
