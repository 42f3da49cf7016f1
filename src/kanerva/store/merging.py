"""Merging memories: their sums add, and so do their ledgers."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.store.block_sums import SumsOfBlock
from kanerva.store.database import in_order
from kanerva.store.item_rows import Rows
from kanerva.store.memory_config import MemoryConfig, different
from kanerva.store.snapshot import read_snapshot
from kanerva.store.stored_memory import StoredMemory

Named = TypeVar("Named")


class Source(Protocol):
    """A memory that is merged into another one."""

    name: str
    config: MemoryConfig
    has_ledger: bool

    @property
    def memory(self) -> StoredMemory | None:
        """None for an exported file."""
        ...

    def held(self) -> contextlib.AbstractContextManager[object]:
        """See one state, whatever others write meanwhile."""
        ...

    def blocks(self) -> list[int]: ...

    def part(self, block: int) -> tuple[SumsOfBlock, Rows | None]: ...


class _FromMemory:
    """Another memory."""

    def __init__(self, memory: StoredMemory) -> None:
        self.name, self.config, self.memory = memory.name, memory.config, memory
        self.has_ledger = memory.config.ledger

    def held(self) -> contextlib.AbstractContextManager[object]:
        return self.memory.database.reading()

    def blocks(self) -> list[int]:
        with self.memory.database.reading() as connection:
            return self.memory.sums.numbers(connection)

    def part(self, block: int) -> tuple[SumsOfBlock, Rows | None]:
        sums = self.memory.sums
        with self.memory.database.reading() as connection:
            rows = sums.rows_of(connection, block) if self.config.ledger else None
            return sums.load(connection, block), rows


class _FromSnapshot:
    """An exported file."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.has_ledger, self.memory = False, None
        self.config, self._blocks = read_snapshot(path)

    def held(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def blocks(self) -> list[int]:
        return sorted(self._blocks)

    def part(self, block: int) -> tuple[SumsOfBlock, Rows | None]:
        return self._blocks[block], None


def open_sources(
    names: Sequence[str | Path], open_memory: Callable[[str | Path], StoredMemory]
) -> list[Source]:
    """Memories of the store by name, and others or exported files by path."""
    return [
        _FromSnapshot(Path(name)) if str(name).endswith(".safetensors")
        else _FromMemory(open_memory(name))
        for name in checked_sources(names)
    ]  # fmt: skip


def checked_sources(names: Iterable[Named]) -> list[Named]:
    """Several names or paths; one alone would be taken for its letters."""
    if not isinstance(names, Iterable) or isinstance(names, str | bytes | np.ndarray | Tensor):
        raise KanervaError(
            "sources",
            expected="a list of memories",
            got=f"{names!r}"[:80],
            fix="Pass a list of names or paths: [name].",
        )
    return list(names)


def check_alike(name: str, config: MemoryConfig, sources: Sequence[Source]) -> None:
    """Refuse sources that are not made like the memory that they go into."""
    for source in sources:
        if source.config.merges_with != config.merges_with:
            raise different(name, config, source.config, source.name)


def merge_into(target: StoredMemory, sources: Sequence[Source]) -> str:
    """Add sources to a memory in one transaction; returns its new state."""
    memories = [source.memory for source in sources if source.memory is not None]
    for memory in memories:
        if memory.database.is_same_file(target.database):
            raise KanervaError(
                "sources",
                expected="other memories than the one to merge into",
                got=f"'{memory.database.path}', the memory itself",
                fix="Leave it out.",
            )
    check_alike(target.name, target.config, sources)
    for source in sources:
        if target.config.ledger and not source.has_ledger:
            raise KanervaError(
                "sources",
                expected=f"memories with a ledger, like '{target.name}'",
                got=f"'{source.name}', which has none",
                fix="Merge into a memory that was created with ledger=False.",
            )
    with contextlib.ExitStack() as stack:
        # Two threads may merge the same memories into each other.
        for database in in_order(one.database for one in (target, *memories)):
            stack.enter_context(database.lock)
        for source in sources:
            stack.enter_context(source.held())
        connection = stack.enter_context(target.writing())
        blocks_of = [(source, set(source.blocks())) for source in sources]
        for block in sorted(set().union(*(blocks for _, blocks in blocks_of))):
            parts = [source.part(block) for source, blocks in blocks_of if block in blocks]
            if not target.config.ledger:
                parts = [(sums, None) for sums, _ in parts]
            target.merge(connection, block, parts)
        return target.state(connection)
