"""Kanerva's (1988) sparse distributed memory on bits: addresses, counters, and its theory."""

from kanerva.sparse.hamming_balls import radius_for
from kanerva.sparse.memory import SparseMemory
from kanerva.sparse.read_result import SparseReadResult
from kanerva.sparse.sizes import Sizes

__all__ = ["Sizes", "SparseMemory", "SparseReadResult", "radius_for"]
