"""Memories on disk: save them, grow them, merge them, delete from them."""

from kanerva.store.item_coder import Reading
from kanerva.store.memory_store import MemoryStore
from kanerva.store.opening import open_store
from kanerva.store.plan import VectorPlan, plan_vectors
from kanerva.store.processes import reduce_evidence, write_together
from kanerva.store.records import (
    Attribution,
    MemoryInfo,
    PartlyWrittenError,
    Receipt,
    Written,
)

__all__ = [
    "Attribution",
    "MemoryInfo",
    "MemoryStore",
    "PartlyWrittenError",
    "Reading",
    "Receipt",
    "VectorPlan",
    "Written",
    "open_store",
    "plan_vectors",
    "reduce_evidence",
    "write_together",
]
