"""A generative distributed memory for PyTorch: the Kanerva Machine (Wu et al., ICLR 2018).

Names are imported when first used, so that `kanerva --help` need not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanerva.data.user_images import read_images
    from kanerva.errors import (
        FullMemoryWarning,
        JitterWarning,
        KanervaError,
        NotPositiveDefiniteError,
        PrecisionWarning,
    )
    from kanerva.memory import (
        DiagonalCovariance,
        Evidence,
        FullCovariance,
        LowRankCovariance,
        MemoryState,
        Prediction,
        condition,
        condition_prefixes,
        energy,
        fill,
        infer_weights,
        load_memory,
        log_evidence,
        log_prob,
        memory_kl,
        predict,
        recall,
        sample_memory,
    )
    from kanerva.models.bound import Bound
    from kanerva.models.checkpoint import load
    from kanerva.models.config import ModelConfig
    from kanerva.models.kanerva_machine import KanervaMachine
    from kanerva.models.vae import VAE
    from kanerva.sparse import SparseMemory
    from kanerva.store import MemoryStore, open_store
    from kanerva.web.client import Client

    open = open_store  # not an import: type checkers must take it as public

__version__ = "0.2.0"

_HOMES = {
    "kanerva.data.user_images": ("read_images",),
    "kanerva.errors": (
        "FullMemoryWarning",
        "JitterWarning",
        "KanervaError",
        "NotPositiveDefiniteError",
        "PrecisionWarning",
    ),
    "kanerva.memory": (
        "DiagonalCovariance",
        "Evidence",
        "FullCovariance",
        "LowRankCovariance",
        "MemoryState",
        "Prediction",
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
    ),
    "kanerva.models.bound": ("Bound",),
    "kanerva.models.checkpoint": ("load",),
    "kanerva.models.config": ("ModelConfig",),
    "kanerva.models.kanerva_machine": ("KanervaMachine",),
    "kanerva.models.vae": ("VAE",),
    "kanerva.sparse": ("SparseMemory",),
    "kanerva.store": ("MemoryStore",),
    "kanerva.web.client": ("Client",),
}
_OTHER_NAMES = {"open": ("kanerva.store", "open_store")}
"""Public names that would hide a built-in function: not in `__all__`, so `import *` leaves it."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "VAE",
    "Bound",
    "Client",
    "DiagonalCovariance",
    "Evidence",
    "FullCovariance",
    "FullMemoryWarning",
    "JitterWarning",
    "KanervaError",
    "KanervaMachine",
    "LowRankCovariance",
    "MemoryState",
    "MemoryStore",
    "ModelConfig",
    "NotPositiveDefiniteError",
    "PrecisionWarning",
    "Prediction",
    "SparseMemory",
    "condition",
    "condition_prefixes",
    "energy",
    "fill",
    "infer_weights",
    "load",
    "load_memory",
    "log_evidence",
    "log_prob",
    "memory_kl",
    "predict",
    "read_images",
    "recall",
    "sample_memory",
]


def __getattr__(name: str) -> object:
    if name in _OTHER_NAMES:
        home, own_name = _OTHER_NAMES[name]
        return getattr(import_module(home), own_name)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kanerva' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_OTHER_NAMES])
