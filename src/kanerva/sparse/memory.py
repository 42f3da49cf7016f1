"""`SparseMemory`: a memory on bits with fixed addresses and counters (app:review).

Shapes: K addresses, D bits, C bits of data (the same as D by default).
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
"""How many counters are gathered together: 16 MB."""


class SparseReadResult(NamedTuple):
    """What `SparseMemory.read` returns for cues (..., D).

    Attributes:
        bits: (..., C), bool: one where a sum is positive.
        sums: (..., C), whole numbers: the sums of counters that decided the bits. Larger ones are
            surer.
        num_active: (...): how many addresses answered. If 0, nothing did, and all bits are 0.
        steps: the bits after each reading, including the last; empty unless asked for.

    Example:
        >>> import torch
        >>> from kanerva.sparse import SparseMemory
        >>> memory = SparseMemory(torch.tensor([[0, 0, 0], [1, 1, 1]]), radius=1)
        >>> taken = memory.write(torch.tensor([1, 1, 0]))
        >>> memory.read(torch.tensor([1, 1, 1])).sums
        tensor([ 1,  1, -1])

    """

    bits: Tensor
    sums: Tensor
    num_active: Tensor
    steps: list[Tensor]


class SparseMemory:
    """Kanerva's sparse distributed memory: K fixed addresses, each with a counter for every bit.

    Writing adds a pattern, as +1 and -1, to the counters of every address within `radius` bits of
    it. Reading adds up the counters of the addresses within `radius` bits of a cue (Kanerva 1988;
    appendix B of the paper, app:review). Unlike the Bayesian memory, this one is changed in place,
    because it has many counters and a write changes few of them.

    Args:
        addresses: (K, D) bits: bool, or numbers that are 0 or 1. They are copied.
        radius: the largest Hamming distance between a cue and an address that it activates.
        num_data_bits: C, for data of another size than an address; then `write` needs `at`.

    Raises:
        KanervaError: the addresses are not bits of shape (K, D), or a number is out of range.

    Example:
        >>> import torch
        >>> from kanerva import SparseMemory
        >>> from kanerva.sparse import radius_for
        >>> generator = torch.Generator().manual_seed(0)
        >>> radius = radius_for(256, 0.02)
        >>> memory = SparseMemory.random(1000, 256, radius=radius, generator=generator)
        >>> patterns = torch.rand(10, 256, generator=generator) < 0.5
        >>> num_active = memory.write(patterns)
        >>> cues = patterns ^ (torch.rand(10, 256, generator=generator) < 0.1)
        >>> torch.equal(memory.read(cues, num_readings=4).bits, patterns)
        True

    """

    def __init__(self, addresses: Tensor, *, radius: int, num_data_bits: int | None = None) -> None:
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
        """How many patterns were written so far."""
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
        """Make an empty memory with addresses drawn uniformly, as Kanerva does.

        Args:
            num_addresses: K.
            num_bits: D, the bits of an address.
            radius: the largest Hamming distance between a cue and an address that it activates.
            num_data_bits: C, for data of another size than an address.
            generator: the source of random numbers; with a seed the addresses can be repeated.
            device: where the memory is kept.

        Returns:
            The memory.

        Raises:
            KanervaError: a number is not whole or not in its range.

        Example:
            >>> memory = SparseMemory.random(1000, 64, radius=24)
            >>> memory.addresses.shape
            torch.Size([1000, 64])

        """
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
        """The K fixed addresses as bits, (K, D) of bool; A in the paper.

        Returns:
            (K, D), bool.

        Example:
            >>> SparseMemory(torch.tensor([[0, 1], [1, 1]]), radius=1).addresses
            tensor([[False,  True],
                    [ True,  True]])

        """
        return self._index.bits

    def write(self, patterns: Tensor, *, at: Tensor | None = None) -> Tensor:
        """Add patterns to the memory, each at its own address or at another one.

        For every address k within the radius, M_k <- M_k + w_k x (app:review). More can be written
        at any time. The order does not matter.

        Args:
            patterns: (..., C) bits to store.
            at: (..., D) bits, where to store each one; by default at the pattern itself.

        Returns:
            (...): how many addresses took each pattern. A pattern that no address took is lost,
            which means that the radius is too small.

        Raises:
            KanervaError: a tensor does not hold bits, or has the wrong shape or device.

        Example:
            >>> memory = SparseMemory(torch.tensor([[0, 0, 0], [1, 1, 1]]), radius=1)
            >>> memory.write(torch.tensor([[1, 1, 0], [1, 1, 1]]))
            tensor([1, 1])
            >>> memory.counters
            tensor([[0, 0, 0],
                    [2, 2, 0]], dtype=torch.int32)

        """
        data = check_bits("patterns", patterns, self.num_data_bits, self.counters.device)
        if at is None:
            if self.num_data_bits != self.sizes.num_bits:
                raise KanervaError(
                    "at",
                    expected=f"where to write: {self.sizes.num_bits} bits for each pattern",
                    got=f"None, but patterns of {self.num_data_bits} bits are not addresses",
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
        centres = where.reshape(-1, self.sizes.num_bits)
        for row, active in zip(rows, self._active(centres), strict=True):
            for some in self._parts(active):
                counters[some] += row
            num_active.append(len(active))
        self.num_written += len(rows)
        taken = torch.tensor(num_active, dtype=torch.int64, device=data.device)
        return taken.reshape(data.shape[:-1])

    def read(self, cues: Tensor, *, num_readings: int = 1, steps: bool = False) -> SparseReadResult:
        """Read what the memory holds for cues: x = 1 where sum_k w_k M_k > 0 (app:review).

        With more than one reading, what was read becomes the next cue.

        Args:
            cues: (..., D) bits.
            num_readings: how many times to read. More readings repair more damage.
            steps: also return the bits after each reading.

        Returns:
            The bits, the sums that decided them, how many addresses answered, and the steps.

        Raises:
            KanervaError: nothing was written, the cues are not bits of D, or several readings were
                asked for where data are not addresses.

        Example:
            >>> memory = SparseMemory(torch.tensor([[0, 0, 0], [1, 1, 1]]), radius=1)
            >>> taken = memory.write(torch.tensor([1, 1, 1]))
            >>> memory.read(torch.tensor([0, 1, 1])).bits
            tensor([True, True, True])

        """
        check_integer(
            "num_readings", num_readings, fix="Pass 1 to read once; more readings repair more."
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
            moving = (seen[-1] != asked).any(1)  # where a cue was read as itself, nothing changes
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
        """For cues (N, D): the sums of active counters, in 64 bits, and how many are active."""
        sums = torch.zeros(len(cues), self.num_data_bits, dtype=torch.int64, device=cues.device)
        counters, rows, num_active = as_numpy_on_cpu(self.counters), as_numpy_on_cpu(sums), []
        for row, active in zip(rows, self._active(cues), strict=True):
            for some in self._parts(active):
                row += counters[some].sum(0)
            num_active.append(len(active))
        return sums, torch.tensor(num_active, dtype=torch.int64, device=cues.device)

    def _active(self, cues: Tensor) -> Iterator[Indices]:
        return self._index.indices_within(self.sizes.radius, cues)

    def _parts(self, active: Indices) -> Iterator[Indices]:
        """Cut the active addresses into parts of at most `COUNTERS_AT_ONCE` counters."""
        at_once = max(1, COUNTERS_AT_ONCE // self.num_data_bits)
        return (active[start : start + at_once] for start in range(0, len(active), at_once))
