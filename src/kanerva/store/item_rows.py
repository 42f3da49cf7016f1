"""Items as rows of a table: weights and codes as they were written, each row with a checksum."""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanerva.errors import KanervaError
from kanerva.store.exact_sums import Grid, Integers, RoundedItems

Payload = str | bytes | None
COLUMNS = "id, time, label, payload, block, epoch, weights, codes"


class Facts(NamedTuple):
    """What the ledger says about an item beside its weights and codes."""

    id: str | None
    time: float
    label: str | None
    payload: Payload
    """A reference such as a path, or bytes."""


class Place(NamedTuple):
    """Where items are: the block of the memory, and the half-life in which they were written."""

    block: int
    epoch: int


@dataclass(frozen=True, eq=False)
class Rows:
    """T items that were written or are to be written."""

    facts: Sequence[Facts]
    blocks: Integers
    """(T,)."""
    epochs: Integers
    """(T,)."""
    items: RoundedItems

    def __len__(self) -> int:
        return len(self.facts)

    def places(self) -> Iterator[tuple[Place, NDArray[np.bool_]]]:
        """Each place that occurs, and which items are there."""
        both = np.stack([self.blocks, self.epochs], 1)
        for block, epoch in np.unique(both, axis=0).tolist():
            yield Place(block, epoch), (self.blocks == block) & (self.epochs == epoch)

    def select(self, which: NDArray[np.bool_]) -> "Rows":
        """Some of the items."""
        facts = [one for one, chosen in zip(self.facts, which.tolist(), strict=True) if chosen]
        return Rows(facts, self.blocks[which], self.epochs[which], self.items.select(which))


def joined(parts: Sequence[Rows]) -> Rows:
    """Several lots of rows as one; at least one."""
    if len(parts) == 1:
        return parts[0]
    return Rows(
        [facts for part in parts for facts in part.facts],
        np.concatenate([part.blocks for part in parts]),
        np.concatenate([part.epochs for part in parts]),
        RoundedItems(
            np.concatenate([part.items.weights for part in parts]),
            np.concatenate([part.items.codes for part in parts]),
        ),
    )


class RowFormat(NamedTuple):
    """How weights and codes become bytes."""

    weights: str
    codes: str
    num_rows: int
    code_size: int

    @classmethod
    def of(cls, grid: Grid, num_rows: int, code_size: int) -> "RowFormat":
        """Four bytes for a number if they are enough, else eight."""
        weights, codes = (
            "<i4" if bits <= 32 else "<i8" for bits in (grid.weight_bits, grid.code_bits)
        )
        return cls(weights, codes, num_rows, code_size)

    @property
    def row_bytes(self) -> int:
        """Bytes of one item."""
        sizes = np.dtype(self.weights).itemsize, np.dtype(self.codes).itemsize
        return sizes[0] * self.num_rows + sizes[1] * self.code_size

    def insert(self, connection: sqlite3.Connection, rows: Rows) -> int:
        """Append rows to the table; returns the number of the last one."""
        weights, codes = (
            [row.tobytes() for row in part.astype(kind)]
            for part, kind in ((rows.items.weights, self.weights), (rows.items.codes, self.codes))
        )
        places = zip(rows.blocks.tolist(), rows.epochs.tolist(), strict=True)
        values = (
            (*facts, *place, weight, code)
            for facts, place, weight, code in zip(rows.facts, places, weights, codes, strict=True)
        )
        before = connection.total_changes
        try:
            connection.executemany(
                f"INSERT INTO items ({COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((*value, _checksum(value)) for value in values),
            )
        except sqlite3.IntegrityError:
            refused = rows.facts[connection.total_changes - before]
            raise taken_id(refused.id) from None
        return connection.execute("SELECT last_insert_rowid()").fetchone()[0]

    def read(self, found: Sequence[tuple]) -> Rows | None:
        """Rows from what SQLite returned for COLUMNS and checksum; None if they are damaged."""
        for row in found:
            is_whole = isinstance(row[6], bytes) and isinstance(row[7], bytes)
            if not is_whole or _checksum(row[:-1]) != row[-1]:
                return None
        weights = np.frombuffer(b"".join(row[6] for row in found), self.weights)
        codes = np.frombuffer(b"".join(row[7] for row in found), self.codes)
        if weights.size != len(found) * self.num_rows or codes.size != len(found) * self.code_size:
            return None
        items = RoundedItems(
            weights.reshape(-1, self.num_rows).astype(np.int64),
            codes.reshape(-1, self.code_size).astype(np.int64),
        )
        return Rows(
            [Facts(*row[:4]) for row in found],
            np.array([row[4] for row in found], np.int64),
            np.array([row[5] for row in found], np.int64),
            items,
        )


def taken_id(id: str | None) -> KanervaError:
    """The error for an id that is in use."""
    return KanervaError(
        "ids",
        expected="ids that are not in the memory yet, each once",
        got=repr(id),
        fix="Choose another id, or forget that item first.",
    )


def _checksum(row: tuple) -> bytes:
    """CRC-32 of the values of COLUMNS: it notices damage, and costs little in a large write."""
    *facts, weights, codes = row
    value = zlib.crc32(codes, zlib.crc32(weights, zlib.crc32(repr(facts).encode())))
    return value.to_bytes(4, "little")
