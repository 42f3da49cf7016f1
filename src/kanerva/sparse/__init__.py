"""Kanerva's (1988) sparse distributed memory: bits, hard addresses, counters; and its theory."""

from kanerva.sparse.circles import radius_for
from kanerva.sparse.memory import SparseMemory, SparseReading
from kanerva.sparse.sizes import Sizes

__all__ = ["Sizes", "SparseMemory", "SparseReading", "radius_for"]
