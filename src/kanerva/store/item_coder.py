"""What a memory needs to know about its items: how they become weights and codes, and come back.

Shapes: T items, K rows, C code size.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanerva.memory import MemoryState
from kanerva.store.exact_sums import Floats, Grid, Integers

Items = Tensor | NDArray[np.floating]
"""Images or vectors, one item after another."""


class EncodedItems(NamedTuple):
    """Items as the memory sees them."""

    blocks: Integers
    """(T,): the block of each item."""
    weights: Floats
    """(T, K)."""
    codes: Floats
    """(T, C)."""


class Age(NamedTuple):
    """The items of one half-life in a block."""

    left: float
    """What is left of their evidence; 1 without fading."""
    count: int
    """How many they are."""


class Block(NamedTuple):
    """One block of a memory, ready to be read."""

    memory: MemoryState
    """The posterior, in float64."""
    ages: tuple[Age, ...]
    """What is in it; nothing if it is empty or has faded away."""
    mean_square: float
    """Mean of the squared entries of its codes."""
    rows_used: float
    """tr(U W' W / s2): how many of its rows the items use."""
    squared_gram: Floats | None
    """sum f^2 w w' with what is left, f, of each item, (K, K); None without fading: W' W."""


class Answer(NamedTuple):
    """What a coder found for some cues, in the precision it computes in. `Reading` explains it."""

    items: Tensor
    confidence: Tensor
    codes: Tensor
    weights: Tensor
    blocks: Tensor


class Reading(NamedTuple):
    """What a memory returned for some cues, and how sure it is. See `MemoryStore.read`.

    Example:
        >>> import tempfile
        >>> import torch
        >>> import kanerva
        >>> from kanerva.store import plan_vectors
        >>> vectors = torch.randn(20, 64, generator=torch.Generator().manual_seed(0))
        >>> with tempfile.TemporaryDirectory() as folder, kanerva.open(folder) as store:
        ...     store.create("notes", plan=plan_vectors(20, 64))
        ...     written = store.write("notes", vectors[:10])
        ...     store.read("notes", vectors[8:12]).known
        tensor([ True,  True, False, False])

    """

    items: Tensor
    """(T, ...): images, vectors, or the values of keys. Only those that are `known` mean much."""
    confidence: Tensor
    """(T,) between 0 and 1: how sure it is that this was written. See the coder of the items."""
    known: Tensor
    """(T,): whether the confidence reaches the threshold; the others are not in memory."""
    codes: Tensor
    """(T, C): what the memory itself holds at these addresses."""
    weights: Tensor
    """(T, K): the weights of the last reading."""
    blocks: Tensor
    """(T,): the block that was read."""


def reading_of(answer: Answer, *, threshold: float, dtype: torch.dtype) -> Reading:
    """The answer in the dtype of the memory; cues below the threshold are not known."""
    return Reading(
        items=answer.items.to(dtype),
        confidence=answer.confidence.to(dtype),
        known=answer.confidence >= threshold,
        codes=answer.codes.to(dtype),
        weights=answer.weights.to(dtype),
        blocks=answer.blocks,
    )


class ItemCoder(ABC):
    """Turns items into weights and codes, and readings into items."""

    kind: str
    """"images" or "vectors"."""
    num_rows: int
    code_size: int
    num_blocks: int
    noise_var: float
    grid: Grid
    prior: MemoryState
    """The memory before anything was written, of each block."""
    code_centre: Tensor
    """(C,): what is subtracted from codes before they are written, in float64."""
    fingerprint: str
    """Memories with the same one can be merged."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """All that is needed to make this coder again, as JSON."""

    @abstractmethod
    def check(self, items: Items, values: Items | None, *, first: int = 0) -> None:
        """Refuse what `encode` would refuse; `first` is the number of the first item."""

    @abstractmethod
    def encode(self, items: Items, values: Items | None, *, first: int = 0) -> EncodedItems:
        """Weights, codes and blocks of items, which are checked."""

    def without_values(self, items: Items) -> EncodedItems:
        """The same without the values that belong to keys."""
        return self.encode(items, None)

    @abstractmethod
    def read(
        self, cues: Items, block: Callable[[int], Block], *, num_readings: int | None
    ) -> Answer:
        """What the blocks hold for cues; `num_readings` is for images."""
