"""A Bayesian memory: exact algebra as pure functions on immutable states. It needs no network."""

from kanerva.memory import tree as _tree  # noqa: F401  tells torch.func about memories
from kanerva.memory.address import energy, infer_weights
from kanerva.memory.compare import fill, memory_kl
from kanerva.memory.covariance import (
    DiagonalCovariance,
    FullCovariance,
    LowRankCovariance,
    RowCovariance,
)
from kanerva.memory.evidence import Evidence
from kanerva.memory.load import load_memory
from kanerva.memory.measure import log_evidence, log_prob, sample_memory
from kanerva.memory.prefixes import condition_prefixes
from kanerva.memory.read import Prediction, predict, recall
from kanerva.memory.state import MemoryState
from kanerva.memory.write import condition

__all__ = [
    "DiagonalCovariance",
    "Evidence",
    "FullCovariance",
    "LowRankCovariance",
    "MemoryState",
    "Prediction",
    "RowCovariance",
    "condition",
    "condition_prefixes",
    "energy",
    "fill",
    "infer_weights",
    "load_memory",
    "log_evidence",
    "log_prob",
    "memory_kl",
    "predict",
    "recall",
    "sample_memory",
]
