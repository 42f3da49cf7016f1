"""Memories with parameters. `Memory` is their common interface: initial state, write, read."""

from kanerva.models.memories.base import Memory
from kanerva.models.memories.bayesian import BayesianMemory
from kanerva.models.memories.dnc import DNC
from kanerva.models.memories.lrua import LRUA

__all__ = ["DNC", "LRUA", "BayesianMemory", "Memory"]
