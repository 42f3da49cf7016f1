"""A sparse distributed memory on bits: hard addresses, counters, iterated reading (app:review).

Shapes: K addresses, D bits, C bits of data (D unless said otherwise).
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.sparse.bits import check_bits
from kanerva.sparse.hamming import Indices, Points, plain
from kanerva.sparse.sizes import Sizes, check_count

GATHERED = 1 << 22
"""Counters looked at together: 16 MB."""


class SparseReading(NamedTuple):
    """What came back for queries (..., D)."""

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
    reading adds the counters of the addresses within `radius` of the query (Kanerva 1988; appendix
    app:review of the paper). Unlike the Bayesian memory, this one changes in place: its counters
    are many, and a write touches few of them.
    """

    def __init__(self, addresses: Tensor, *, radius: int, data_bits: int | None = None) -> None:
        """Given addresses (K, D) of bits; `data_bits` is C where data are not addresses."""
        bits = check_bits("addresses", addresses, None, None)
        if bits.dim() != 2:
            raise KanervaError(
                "addresses",
                expected="shape (K addresses, D bits)",
                got=str(tuple(bits.shape)),
                fix="SparseMemory.random(num_addresses, num_bits, radius=...) draws them.",
            )
        self.sizes = Sizes(bits.shape[0], bits.shape[1], radius)
        self.data_bits = self.sizes.num_bits if data_bits is None else data_bits
        check_count("data_bits", self.data_bits)
        self.counters = torch.zeros(
            len(bits), self.data_bits, dtype=torch.int32, device=bits.device
        )
        self.count = 0
        """Patterns written so far."""
        self._points = Points(bits.clone())  # nobody else may change them

    @classmethod
    def random(
        cls,
        num_addresses: int,
        num_bits: int,
        *,
        radius: int,
        data_bits: int | None = None,
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
        return cls(drawn.to(device), radius=radius, data_bits=data_bits)

    @property
    def addresses(self) -> Tensor:
        """(K, D), bool."""
        return self._points.bits

    def write(self, patterns: Tensor, *, at: Tensor | None = None) -> Tensor:
        """Add patterns (..., C) at themselves, or at other bits (..., D): M_k <- M_k + w_k x.

        Writing again goes on; the order does not matter. Returns how many addresses took each
        pattern: one that none took is lost, and the radius too small.
        """
        data = check_bits("patterns", patterns, self.data_bits, self.counters.device)
        if at is None:
            if self.data_bits != self.sizes.num_bits:
                raise KanervaError(
                    "at",
                    expected=f"where to write: {self.sizes.num_bits} bits for each pattern",
                    got=f"None, and patterns of {self.data_bits} bits are no addresses",
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
        signs = data.reshape(-1, self.data_bits).to(torch.int8).mul_(2).sub_(1)
        counters, rows, num_active = plain(self.counters), plain(signs), []
        places = where.reshape(-1, self.sizes.num_bits)
        for row, active in zip(rows, self._active(places), strict=True):
            for some in self._parts(active):
                counters[some] += row
            num_active.append(len(active))
        self.count += len(rows)
        taken = torch.tensor(num_active, dtype=torch.int64, device=data.device)
        return taken.reshape(data.shape[:-1])

    def read(self, queries: Tensor, *, iterations: int = 1, steps: bool = False) -> SparseReading:
        """What the memory holds for queries (..., D): x = 1 where sum_k w_k M_k > 0.

        With more iterations, what was read is the next query. `steps` keeps the bits of each.
        """
        check_count(
            "iterations", iterations, fix="One reading is iterations=1; more of them repair more."
        )
        if self.count == 0:
            raise KanervaError(
                "memory",
                expected="something written before it is read",
                got="an empty memory",
                fix="Call memory.write(patterns) first.",
            )
        if iterations > 1 and self.data_bits != self.sizes.num_bits:
            raise KanervaError(
                "iterations",
                expected="1 where data are not addresses",
                got=f"{iterations}, with data of {self.data_bits} bits",
                fix="Read once, or write data of as many bits as an address has.",
            )
        bits = check_bits("queries", queries, self.sizes.num_bits, self.counters.device)
        asked, shape = bits.reshape(-1, self.sizes.num_bits), bits.shape[:-1]
        sums, num_active = self._sums(asked)
        seen = [sums > 0]
        for _ in range(iterations - 1):
            moving = (seen[-1] != asked).any(1)  # what is read as it was asked stays so for ever
            asked = seen[-1]
            sums[moving], num_active[moving] = self._sums(asked[moving])
            seen = [*seen, sums > 0] if steps else [sums > 0]
        whole = (*shape, self.data_bits)
        return SparseReading(
            seen[-1].reshape(whole),
            sums.reshape(whole),
            num_active.reshape(shape),
            [step.reshape(whole) for step in seen] if steps else [],
        )

    def _sums(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """For queries (Q, D) the sums of active counters, in 64 bits, and how many are active."""
        sums = torch.zeros(len(queries), self.data_bits, dtype=torch.int64, device=queries.device)
        counters, rows, num_active = plain(self.counters), plain(sums), []
        for row, active in zip(rows, self._active(queries), strict=True):
            for some in self._parts(active):
                row += counters[some].sum(0)
            num_active.append(len(active))
        return sums, torch.tensor(num_active, dtype=torch.int64, device=queries.device)

    def _active(self, queries: Tensor) -> Iterator[Indices]:
        return self._points.within(self.sizes.radius, queries)

    def _parts(self, active: Indices) -> Iterator[Indices]:
        """Addresses whose counters fit into `GATHERED`."""
        at_once = max(1, GATHERED // self.data_bits)
        return (active[start : start + at_once] for start in range(0, len(active), at_once))
