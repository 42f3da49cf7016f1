"""A sparse distributed memory on bits: hard addresses, counters, iterated reading (app:review).

Shapes: K addresses, D bits, C bits of data (D unless said otherwise).
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.errors import KanervaError
from kanerva.sparse.bits import check_bits
from kanerva.sparse.hamming import HammingIndex, Indices, as_numpy_on_cpu
from kanerva.sparse.sizes import Sizes

COUNTERS_AT_ONCE = 1 << 22
"""Counters looked at together: 16 MB."""


class SparseReadResult(NamedTuple):
    """What came back for cues (..., D)."""

    bits: Tensor
    """(..., C), bool: one where a sum is positive."""
    sums: Tensor
    """(..., C), whole numbers: how surely, the counters' sums that decided."""
    num_active: Tensor
    """(...): addresses that answered; where 0, nothing did, and all bits are 0."""
    steps: list[Tensor]
    """The bits after each iteration, the last included; empty unless asked for."""


class SparseMemory:
    """K fixed addresses, each with a whole-number counter for every bit of data.

    A pattern is added to the counters of every address within `radius` bits of it, as +1 and -1;
    reading adds the counters of the addresses within `radius` of the cue (Kanerva 1988; appendix
    app:review of the paper). Unlike the Bayesian memory, this one changes in place: its counters
    are many, and a write touches few of them.
    """

    def __init__(self, addresses: Tensor, *, radius: int, num_data_bits: int | None = None) -> None:
        """Given addresses (K, D) of bits; `num_data_bits` is C where data are not addresses."""
        bits = check_bits("addresses", addresses, None, None)
        if bits.dim() != 2:
            raise KanervaError(
                "addresses",
                expected="shape (K addresses, D bits)",
                got=str(tuple(bits.shape)),
                fix="SparseMemory.random(num_addresses, num_bits, radius=...) draws them.",
            )
        self.sizes = Sizes(bits.shape[0], bits.shape[1], radius)
        self.num_data_bits = self.sizes.num_bits if num_data_bits is None else num_data_bits
        check_integer(
            "num_data_bits",
            self.num_data_bits,
            fix="Pass how many bits a pattern has, or None for as many as an address.",
        )
        self.counters = torch.zeros(
            len(bits), self.num_data_bits, dtype=torch.int32, device=bits.device
        )
        self.num_written = 0
        """Patterns written so far."""
        self._index = HammingIndex(bits.clone())  # nobody else may change them

    @classmethod
    def random(
        cls,
        num_addresses: int,
        num_bits: int,
        *,
        radius: int,
        num_data_bits: int | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> "SparseMemory":
        """Addresses drawn uniformly, as Kanerva has them; `generator` makes them repeatable."""
        Sizes(num_addresses, num_bits, radius)
        drawn = torch.randint(
            2,
            (num_addresses, num_bits),
            dtype=torch.bool,
            generator=generator,
            device=generator.device if generator else "cpu",
        )
        return cls(drawn.to(device), radius=radius, num_data_bits=num_data_bits)

    @property
    def addresses(self) -> Tensor:
        """(K, D), bool."""
        return self._index.bits

    def write(self, patterns: Tensor, *, at: Tensor | None = None) -> Tensor:
        """Add patterns (..., C) at themselves, or at other bits (..., D): M_k <- M_k + w_k x.

        Writing again goes on; the order does not matter. Returns how many addresses took each
        pattern: one that none took is lost, and the radius too small.
        """
        data = check_bits("patterns", patterns, self.num_data_bits, self.counters.device)
        if at is None:
            if self.num_data_bits != self.sizes.num_bits:
                raise KanervaError(
                    "at",
                    expected=f"where to write: {self.sizes.num_bits} bits for each pattern",
                    got=f"None, and patterns of {self.num_data_bits} bits are no addresses",
                    fix="Pass write(patterns, at=bits).",
                )
            at = data
        where = check_bits("at", at, self.sizes.num_bits, self.counters.device)
        if where.shape[:-1] != data.shape[:-1]:
            raise KanervaError(
                "at",
                expected=f"leading dimensions {tuple(data.shape[:-1])} like patterns",
                got=str(tuple(where.shape[:-1])),
                fix="Give one row of bits for each pattern.",
            )
        signs = data.reshape(-1, self.num_data_bits).to(torch.int8).mul_(2).sub_(1)
        counters, rows, num_active = as_numpy_on_cpu(self.counters), as_numpy_on_cpu(signs), []
        places = where.reshape(-1, self.sizes.num_bits)
        for row, active in zip(rows, self._active(places), strict=True):
            for some in self._parts(active):
                counters[some] += row
            num_active.append(len(active))
        self.num_written += len(rows)
        taken = torch.tensor(num_active, dtype=torch.int64, device=data.device)
        return taken.reshape(data.shape[:-1])

    def read(self, cues: Tensor, *, num_readings: int = 1, steps: bool = False) -> SparseReadResult:
        """What the memory holds for cues (..., D): x = 1 where sum_k w_k M_k > 0.

        With more readings, what was read is the next cue. `steps` keeps the bits of each.
        """
        check_integer(
            "num_readings",
            num_readings,
            fix="One reading is num_readings=1; more of them repair more.",
        )
        if self.num_written == 0:
            raise KanervaError(
                "memory",
                expected="something written before it is read",
                got="an empty memory",
                fix="Call memory.write(patterns) first.",
            )
        if num_readings > 1 and self.num_data_bits != self.sizes.num_bits:
            raise KanervaError(
                "num_readings",
                expected="1 where data are not addresses",
                got=f"{num_readings}, with data of {self.num_data_bits} bits",
                fix="Read once, or write data of as many bits as an address has.",
            )
        bits = check_bits("cues", cues, self.sizes.num_bits, self.counters.device)
        asked, shape = bits.reshape(-1, self.sizes.num_bits), bits.shape[:-1]
        sums, num_active = self._sums(asked)
        seen = [sums > 0]
        for _ in range(num_readings - 1):
            moving = (seen[-1] != asked).any(1)  # what is read as it was asked stays so for ever
            asked = seen[-1]
            sums[moving], num_active[moving] = self._sums(asked[moving])
            seen = [*seen, sums > 0] if steps else [sums > 0]
        whole = (*shape, self.num_data_bits)
        return SparseReadResult(
            seen[-1].reshape(whole),
            sums.reshape(whole),
            num_active.reshape(shape),
            [step.reshape(whole) for step in seen] if steps else [],
        )

    def _sums(self, cues: Tensor) -> tuple[Tensor, Tensor]:
        """For cues (Q, D) the sums of active counters, in 64 bits, and how many are active."""
        sums = torch.zeros(len(cues), self.num_data_bits, dtype=torch.int64, device=cues.device)
        counters, rows, num_active = as_numpy_on_cpu(self.counters), as_numpy_on_cpu(sums), []
        for row, active in zip(rows, self._active(cues), strict=True):
            for some in self._parts(active):
                row += counters[some].sum(0)
            num_active.append(len(active))
        return sums, torch.tensor(num_active, dtype=torch.int64, device=cues.device)

    def _active(self, cues: Tensor) -> Iterator[Indices]:
        return self._index.within(self.sizes.radius, cues)

    def _parts(self, active: Indices) -> Iterator[Indices]:
        """Addresses whose counters fit into `COUNTERS_AT_ONCE`."""
        at_once = max(1, COUNTERS_AT_ONCE // self.num_data_bits)
        return (active[start : start + at_once] for start in range(0, len(active), at_once))
