"""Memories with parameters, all behind one protocol: initial state, write, read."""

from kanerva.models.config import ModelConfig
from kanerva.models.memories.base import Memory
from kanerva.models.memories.bayesian import BayesianMemory, WeightMemory
from kanerva.models.memories.dnc import DNC
from kanerva.models.memories.lrua import LRUA

MEMORIES: dict[str, type[Memory]] = {
    "kanerva": BayesianMemory,
    "dynamic": WeightMemory,
    "dnc": DNC,
    "lrua": LRUA,
}


def build_memory(config: ModelConfig) -> Memory:
    """The memory of this kind of model: K x C numbers, whatever else it keeps beside them."""
    return MEMORIES[config.kind](config)
