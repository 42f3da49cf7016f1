"""`SparseMemory`: a memory on bits with fixed addresses and counters (app:review).

Shapes: K addresses, D bits, C bits of data (the same as D by default).
"""

from pathlib import Path

import torch
from torch import Tensor

from kanerva.checks import check_bool, check_device, check_integer, check_path
from kanerva.errors import KanervaError
from kanerva.sparse.bits import check_bits, check_patterns
from kanerva.sparse.counters import BitCounters
from kanerva.sparse.files import SavedMemory, read_memory, write_memory
from kanerva.sparse.large_tensors import draw_addresses
from kanerva.sparse.read_result import SparseReadResult
from kanerva.sparse.sizes import Sizes


class SparseMemory(BitCounters):
    """Kanerva's sparse distributed memory: K given addresses, each with a counter for every bit.

    Writing adds a pattern, as +1 and -1, to the counters of every address within `radius` bits of
    it. Reading adds up the counters of the addresses within `radius` bits of a cue (Kanerva 1988;
    appendix B of the paper, app:review). Unlike the Bayesian memory, this one is changed in place,
    because it has many counters and a write changes few of them. Several threads may write and read
    at the same time: no count is lost, and a reading sees a pattern completely or not at all.

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
        super().__init__(bits, radius=radius, num_data_bits=self.num_data_bits)

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
            KanervaError: a number is not whole or not in its range, there is no such device, or
                the memory is too large for it.

        Example:
            >>> memory = SparseMemory.random(1000, 64, radius=24)
            >>> memory.addresses.shape
            torch.Size([1000, 64])

        """
        Sizes(num_addresses, num_bits, radius)
        where = check_device("device", device)
        drawn = draw_addresses(num_addresses, num_bits, generator)
        return cls(drawn.to(where), radius=radius, num_data_bits=num_data_bits)

    @classmethod
    def load(cls, path: Path | str, *, device: torch.device | str = "cpu") -> "SparseMemory":
        """Read a memory from a file that `save` wrote. Nothing in a file can run code.

        Args:
            path: the file.
            device: where the memory is kept.

        Returns:
            The memory, with the same addresses and counters.

        Raises:
            KanervaError: the file does not exist, is damaged or is something else, or there is no
                such device.

        Example:
            >>> import tempfile
            >>> memory = SparseMemory(torch.tensor([[0, 0, 0], [1, 1, 1]]), radius=1)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     memory.save(f"{folder}/memory.safetensors")
            ...     again = SparseMemory.load(f"{folder}/memory.safetensors")
            >>> again
            SparseMemory(2 addresses of 3 bits, radius 1, 0 patterns written, cpu)

        """
        where = check_device("device", device)
        saved = read_memory(check_path("path", path))
        C = saved.counters.shape[1]
        memory = cls(saved.addresses.to(where), radius=saved.radius, num_data_bits=C)
        memory._restore(saved.counters, saved.num_written)
        return memory

    def save(self, path: Path | str) -> None:
        """Write the memory into a safetensors file with a checksum, whole or not at all.

        Args:
            path: the file. Missing folders are made.

        Raises:
            KanervaError: the file cannot be written.

        Example:
            >>> import tempfile
            >>> memory = SparseMemory.random(100, 16, radius=5)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     memory.save(f"{folder}/memory.safetensors")

        """
        file = check_path("path", path)
        counters, num_written = self._snapshot()
        write_memory(file, SavedMemory(self.addresses, counters, self.sizes.radius, num_written))

    def to(self, device: torch.device | str) -> "SparseMemory":
        """Copy the memory to a device. The copy has counters of its own.

        Args:
            device: where to, for example "cuda".

        Returns:
            A memory with the same addresses and counters.

        Raises:
            KanervaError: there is no such device here.

        Example:
            >>> SparseMemory.random(100, 16, radius=5).to("cpu")
            SparseMemory(100 addresses of 16 bits, radius 5, 0 patterns written, cpu)

        """
        addresses = self.addresses.to(check_device("device", device))
        C = self.num_data_bits
        twin = SparseMemory(addresses, radius=self.sizes.radius, num_data_bits=C)
        twin._restore(*self._snapshot())
        return twin

    @property
    def addresses(self) -> Tensor:
        """The K fixed addresses as bits, (K, D) of bool; A in the paper.

        Returns:
            (K, D), bool. It is the memory's own tensor: do not change it in place.

        Example:
            >>> SparseMemory(torch.tensor([[0, 1], [1, 1]]), radius=1).addresses
            tensor([[False,  True],
                    [ True,  True]])

        """
        return self._index.bits

    def write(self, patterns: Tensor, *, at: Tensor | None = None) -> Tensor:
        """Add patterns to the memory, each at its own address or at another one.

        For every address k within the radius, M_k <- M_k + w_k x (app:review). More can be written
        at any time, from several threads too. The order does not matter.

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
        D, C, device = self.sizes.num_bits, self.num_data_bits, self.counters.device
        data, where = check_patterns(patterns, at, num_bits=D, num_data_bits=C, device=device)
        signs = data.reshape(-1, C).to(torch.int8).mul_(2).sub_(1)
        num_active = self._add(signs, where.reshape(-1, D))
        return num_active.reshape(data.shape[:-1])

    def read(self, cues: Tensor, *, num_readings: int = 1, steps: bool = False) -> SparseReadResult:
        """Read bits for cues, 1 where sum_k w_k M_k > 0 (app:review), and return the sums, too.

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
        check_bool("steps", steps, fix="Pass True to get the bits after each reading.")
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

    def __repr__(self) -> str:
        K, D, C = self.sizes.num_addresses, self.sizes.num_bits, self.num_data_bits
        data = "" if C == D else f"data of {C:,} bits, "
        patterns = "pattern" if self.num_written == 1 else "patterns"
        return (
            f"SparseMemory({K:,} addresses of {D:,} bits, {data}radius {self.sizes.radius}, "
            f"{self.num_written:,} {patterns} written, {self.counters.device})"
        )
