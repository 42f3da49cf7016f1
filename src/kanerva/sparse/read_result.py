"""`SparseReadResult`: what reading a sparse distributed memory returns."""

from typing import NamedTuple

from torch import Tensor


class SparseReadResult(NamedTuple):
    """The bits that a sparse memory returned for cues (..., D), and the sums that decided them.

    Attributes:
        bits: (..., C), bool: one where a sum is positive.
        sums: (..., C), whole numbers: the sums of counters that decided the bits. Larger ones are
            surer.
        num_active: (...): how many addresses answered. If 0, nothing did, and all bits are 0.
        steps: the bits after each reading, including the last; empty unless asked for.

    Example:
        >>> import torch
        >>> from kanerva.sparse import SparseMemory
        >>> memory = SparseMemory(torch.tensor([[0, 0, 0], [1, 1, 1]]), radius=1)
        >>> taken = memory.write(torch.tensor([1, 1, 0]))
        >>> memory.read(torch.tensor([1, 1, 1])).sums
        tensor([ 1,  1, -1])

    """

    bits: Tensor
    sums: Tensor
    num_active: Tensor
    steps: list[Tensor]
