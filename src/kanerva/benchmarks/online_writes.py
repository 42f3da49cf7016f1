"""How far a memory drifts from the exact posterior over many writes of one item each."""

import time
from typing import NamedTuple

import torch
from rich.console import Console
from rich.progress import Progress

from kanerva.benchmarks.memory_speed import Sizes, random_items, relative_error
from kanerva.memory import MemoryState, condition


class OnlineWrites(NamedTuple):
    """A float32 memory after many writes, against the float64 posterior of all items at once."""

    items: int
    mean_relative_error: float
    cov_relative_error: float
    positive_definite: bool
    symmetric: bool
    seconds: float


def measure_online_writes(
    sizes: Sizes, generator: torch.Generator, console: Console
) -> dict[str, OnlineWrites]:
    """Write many items on-line: in one call with chunk=1, and with a call for each item."""
    return {
        "one_call": write_online(sizes.online_items, generator, console, separate=False),
        "separate_calls": write_online(sizes.separate_items, generator, console, separate=True),
    }


def write_online(
    num_items: int, generator: torch.Generator, console: Console, *, separate: bool
) -> OnlineWrites:
    """Write float32 items one by one, and compare with the float64 posterior.

    With `separate`, `condition` is called once for each item, as a stream would do it. Otherwise
    it is called with chunk=1.
    """
    K, C = 64, 100
    W, Z = random_items(num_items, K, C, generator)
    memory = MemoryState(torch.zeros(K, C), torch.eye(K))
    exact = condition(memory.to(torch.float64), W.double(), Z.double())
    block = max(1, num_items // 100)
    start = time.perf_counter()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{num_items:,} on-line writes", total=num_items)
        for w, z in zip(W.split(block), Z.split(block), strict=True):
            if separate:
                for one_w, one_z in zip(w.split(1), z.split(1), strict=True):
                    memory = condition(memory, one_w, one_z)
            else:
                memory = condition(memory, w, z, chunk=1)
            progress.advance(task, len(w))
    return OnlineWrites(
        items=num_items,
        mean_relative_error=relative_error(memory.mean, exact.mean),
        cov_relative_error=relative_error(memory.cov, exact.cov),
        positive_definite=not bool(torch.linalg.cholesky_ex(memory.cov).info),
        symmetric=torch.equal(memory.cov, memory.cov.mT),
        seconds=time.perf_counter() - start,
    )
