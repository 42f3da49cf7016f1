"""Fourier keys: weights whose products fall with the distance of two address codes.

Shapes: T items, K rows, Y address code size; leading dimensions are free.
"""

import math

import torch
from torch import Tensor, nn

from kanerva import linalg

SEED = 0
"""The seed of the directions. They are part of every checkpoint as well."""


class FourierKeys(nn.Module):
    """w = sqrt(2 / K) [cos(F y), sin(F y)] with K / 2 random frequencies F (eq:cosine).

    Weights have length 1, and w(y)' w(y') is about exp(-|y - y'|^2 / (2 width^2)) (random Fourier
    features; Rahimi & Recht 2007). So items with distant address codes hardly touch each other, the
    variance w' U w of a memory is lowest where something was written, and a reader can find such a
    place (see `address_search`). Each entry of a key belongs to one row: A is the identity, whose
    rows have length 1.
    """

    cue_std = 0.5
    """How far damage moves address codes, besides what q(y|x) says. Chosen on drawers 14 and 15."""
    num_starts = 208
    """Searches for an item: 4 from the cue's own address and, where that leaves a doubt, one from
    each of 12 other views of the cue, and then 192 around these."""
    usable_share = 0.75
    """With K items a memory is filled this much (0.69 for K = 256). A search fails from there on:
    of 200, 256, 300 and 400 drawings under a block, 92, 86, 75 and 38 % are found."""
    frequencies: Tensor

    def __init__(self, *, num_rows: int, address_code_size: int, width: float) -> None:
        super().__init__()
        self.width = width
        generator = torch.Generator().manual_seed(SEED)
        directions = torch.randn(num_rows // 2, address_code_size, generator=generator)
        self.register_buffer("frequencies", directions / width)

    def forward(self, address_codes: Tensor) -> Tensor:
        """Weights (..., T, K) for address codes (..., T, Y)."""
        phases = address_codes @ self.frequencies.mT
        return self._scale * torch.cat([phases.cos(), phases.sin()], dim=-1)

    def jacobian(self, address_codes: Tensor) -> Tensor:
        """The derivatives dw / dy (..., T, K, Y) at address codes (..., T, Y)."""
        frequencies = self.frequencies.to(address_codes.dtype)
        phases = (address_codes @ frequencies.mT)[..., None]
        parts = [-phases.sin() * frequencies, phases.cos() * frequencies]
        return self._scale * torch.cat(parts, dim=-2)

    def slope(self, weights: Tensor, vectors: Tensor) -> Tensor:
        """J' v (..., Y) where the weights are w (..., K), for vectors v (..., K)."""
        cos, sin = weights.chunk(2, -1)
        first, second = vectors.chunk(2, -1)
        return (second * cos - first * sin) @ self.frequencies.to(weights.dtype)

    def curvature(self) -> tuple[Tensor, Tensor]:
        """The eigenvalues (Y,) and eigenvectors (Y, Y) of J' J, which is the same everywhere."""
        gram = self._scale**2 * self.frequencies.mT @ self.frequencies
        return linalg.eigenvectors(gram)

    @property
    def _scale(self) -> float:
        return 1 / math.sqrt(len(self.frequencies))
