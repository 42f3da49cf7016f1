"""`BitCounters`: the counters of a sparse memory, which several threads may use at the same time.

Shapes: K addresses, N cues or patterns, D bits of an address, C bits of data.
"""

import threading
from collections.abc import Iterator

import torch
from torch import Tensor

from kanerva.sparse.hamming import HammingIndex, Indices, as_numpy_on_cpu
from kanerva.sparse.large_tensors import empty_counters

COUNTERS_AT_ONCE = 1 << 22
"""How many counters are gathered together: 16 MB."""


class BitCounters:
    """C counters for each of K fixed addresses; those near a cue are added to or summed.

    A lock is held while one pattern is added, and while the counters of one cue are summed. So no
    count is lost, and a sum contains a pattern completely or not at all.
    """

    def __init__(self, addresses: Tensor, *, radius: int, num_data_bits: int) -> None:
        self.counters = empty_counters(len(addresses), num_data_bits, addresses.device)
        self.num_written = 0
        """How many patterns were written so far."""
        self._radius = radius
        self._index = HammingIndex(addresses.clone())  # nobody else may change them
        self._lock = threading.Lock()

    def _add(self, signs: Tensor, centres: Tensor) -> Tensor:
        """Add signs (N, C) where centres (N, D) are; returns how many addresses took each."""
        counters, rows, num_active = as_numpy_on_cpu(self.counters), as_numpy_on_cpu(signs), []
        for row, active in zip(rows, self._active(centres), strict=True):
            with self._lock:
                for some in self._parts(active):
                    counters[some] += row
                self.num_written += 1
            num_active.append(len(active))
        return torch.tensor(num_active, dtype=torch.int64, device=signs.device)

    def _sums(self, cues: Tensor) -> tuple[Tensor, Tensor]:
        """For cues (N, D): the sums of active counters, in 64 bits, and how many are active."""
        shape = len(cues), self.counters.shape[1]
        sums = torch.zeros(shape, dtype=torch.int64, device=cues.device)
        counters, rows, num_active = as_numpy_on_cpu(self.counters), as_numpy_on_cpu(sums), []
        for row, active in zip(rows, self._active(cues), strict=True):
            with self._lock:
                for some in self._parts(active):
                    row += counters[some].sum(0)
            num_active.append(len(active))
        return sums, torch.tensor(num_active, dtype=torch.int64, device=cues.device)

    def _snapshot(self) -> tuple[Tensor, int]:
        """A copy of the counters, and how many patterns are in them."""
        with self._lock:
            return self.counters.clone(), self.num_written

    def _restore(self, counters: Tensor, num_written: int) -> None:
        with self._lock:
            self.counters.copy_(counters)
            self.num_written = num_written

    def _active(self, cues: Tensor) -> Iterator[Indices]:
        return self._index.indices_within(self._radius, cues)

    def _parts(self, active: Indices) -> Iterator[Indices]:
        """Cut the active addresses into parts of at most `COUNTERS_AT_ONCE` counters."""
        at_once = max(1, COUNTERS_AT_ONCE // self.counters.shape[1])
        return (active[start : start + at_once] for start in range(0, len(active), at_once))

    def __getstate__(self) -> dict[str, object]:
        counters, num_written = self._snapshot()
        state = {**vars(self), "counters": counters, "num_written": num_written}
        del state["_lock"]  # which cannot be copied
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=threading.Lock())
