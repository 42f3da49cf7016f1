"""Small stores for tests."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kanerva.store import MemoryStore, VectorPlan, plan_vectors

SIZE = 24


def vectors(num: int, *, size: int = SIZE, seed: int = 0) -> Tensor:
    """Vectors of length 1 in random directions."""
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(num, size, generator=generator), dim=-1)


def small_plan(**options: object) -> VectorPlan:
    """One block of 40 rows for 20 vectors, unless told otherwise."""
    settings: dict = {"num_items": 20, "size": SIZE, "rows_per_item": 2.0, **options}
    return plan_vectors(settings.pop("num_items"), settings.pop("size"), **settings)


def many_blocks(num_items: int = 600, *, size: int = SIZE) -> VectorPlan:
    """Several small blocks."""
    from dataclasses import replace

    plan = plan_vectors(num_items, size, rows_per_item=0.5)
    return replace(plan, num_rows=30, num_blocks=10, num_probes=3)


def state_of(store: MemoryStore, name: str) -> str:
    return store.info(name).state


def bytes_in(folder: Path, needle: bytes) -> list[str]:
    """The files of a folder that contain some bytes."""
    return [file.name for file in folder.rglob("*") if needle in file.read_bytes()]


def area_under_curve(known: np.ndarray, unknown: np.ndarray) -> float:
    """How often a known one has the higher confidence; ties count half."""
    joined = np.concatenate([known, unknown])
    _, ranks, counts = np.unique(joined, return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    middle = (upper - (counts - 1) / 2)[ranks]
    n = len(known)
    return float((middle[:n].sum() - n * (n + 1) / 2) / (n * len(unknown)))
