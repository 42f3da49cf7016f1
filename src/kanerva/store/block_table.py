"""The table `blocks`: what each block of a memory must contain, so that nothing gets lost unseen.

A lookup in a damaged index finds nothing, and a block of which nothing is found looks like an empty
one. So each block has a row here from the start. It says how much there is, and it changes in the
same transaction as what it counts.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kanerva.store.database_files import damaged

COLUMNS = "version, summed_up_to, last_row, num_sums, num_summed, num_waiting"


class BlockRow(NamedTuple):
    """What a block contains."""

    version: int = 0
    """It changes with the sums of the block."""
    summed_up_to: int = 0
    """The newest row of `items` that is in the sums."""
    last_row: int = 0
    """The newest row of `items` that was written into this block."""
    num_sums: int = 0
    """Rows of `sums`, one for each half-life."""
    num_summed: int = 0
    """Items in those sums."""
    num_waiting: int = 0
    """Items that were written after them."""

    @property
    def num_items(self) -> int:
        """Items in the block."""
        return self.num_summed + self.num_waiting


def insert_empty_blocks(connection: sqlite3.Connection, num_blocks: int) -> None:
    """The rows of a new memory."""
    empty = BlockRow()
    connection.executemany(
        f"INSERT INTO blocks (block, {COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((block, *empty, _checksum(block, empty)) for block in range(num_blocks)),
    )


class BlockTable:
    """Reads and changes the rows of one memory; each must be there and match its checksum."""

    def __init__(self, path: Path, num_blocks: int) -> None:
        self.path, self.num_blocks = path, num_blocks

    def row(self, connection: sqlite3.Connection, block: int) -> BlockRow:
        """The row of one block."""
        query = f"SELECT block, {COLUMNS}, checksum FROM blocks WHERE block = ?"
        return self._checked(connection.execute(query, (block,)).fetchone(), block)

    def all(self, connection: sqlite3.Connection) -> Iterator[tuple[int, BlockRow]]:
        """The blocks in which something is or was, in order."""
        query = f"SELECT block, {COLUMNS}, checksum FROM blocks ORDER BY block"
        found = connection.execute(query).fetchall()
        if len(found) != self.num_blocks:
            raise self._damaged()
        for block, one in enumerate(found):
            row = self._checked(one, block)
            if row != BlockRow():
                yield block, row

    def write(self, connection: sqlite3.Connection, block: int, row: BlockRow) -> None:
        """Change the row of one block."""
        columns = ", ".join(f"{column} = ?" for column in (*row._fields, "checksum"))
        values = (*row, _checksum(block, row), block)
        done = connection.execute(f"UPDATE blocks SET {columns} WHERE block = ?", values)
        if done.rowcount != 1:
            raise self._damaged()

    def _checked(self, found: tuple | None, block: int) -> BlockRow:
        if found is None or found[0] != block:
            raise self._damaged()
        row = BlockRow(*found[1:-1])
        if _checksum(block, row) != found[-1]:
            raise self._damaged()
        return row

    def _damaged(self) -> Exception:
        return damaged(self.path, "a count of its items that does not match its checksum")


def _checksum(block: int, row: BlockRow) -> bytes:
    return zlib.crc32(repr((block, *row)).encode()).to_bytes(4, "little")
