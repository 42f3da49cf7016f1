"""The sums of a memory's blocks, in its file and in this process.

New items are appended as rows, which is cheap. When the rows of a block need as many bytes as its
sums, they are added to the sums ("summed up"). So a block is its sums plus the rows after the
number `summed_up_to`. A memory without a ledger deletes rows that are summed up, and so keeps a
constant size. The version of a block changes with its sums; from it another process knows what to
load again. What is found is counted: the table `blocks` says how much there must be.
"""

import itertools
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kanerva.store.block_table import BlockRow, BlockTable
from kanerva.store.database_files import damaged
from kanerva.store.exact_sums import ExactSums, Grid
from kanerva.store.item_rows import COLUMNS, RowFormat, Rows

EPOCHS_KEPT = 60
"""Without a ledger, what has faded for so many half-lives is dropped: 2^-60 of it is left."""
COUNT_IDS = "SELECT COUNT(*) FROM items INDEXED BY sqlite_autoindex_items_1 WHERE id >= ''"
"""How many items can be found by their ids."""
SumsOfBlock = dict[int, ExactSums]
"""The sums of each half-life in which something was written; 0 is the only one without fading."""


@dataclass
class _Cached:
    version: int
    last_row: int
    """The newest row that the sums contain."""
    sums: SumsOfBlock
    digests: list[tuple[int, int, bytes]] | None = None
    """Of the sums as they are now, if they were needed already."""


class BlockSums:
    """All blocks of one memory."""

    def __init__(
        self,
        path: Path,
        *,
        grid: Grid,
        num_rows: int,
        code_size: int,
        num_blocks: int,
        ledger: bool,
    ) -> None:
        self.path = path
        self.table = BlockTable(path, num_blocks)
        self.grid, self.num_rows, self.code_size = grid, num_rows, code_size
        self.ledger = ledger
        self.format = RowFormat.of(grid, num_rows, code_size)
        self.block_bytes = len(self.new_sums().to_bytes())
        self._cache: dict[int, _Cached] = {}
        self._counted: dict[int, BlockRow] = {}
        """Blocks as this process left them, after it had counted what their indexes find."""

    def new_sums(self) -> ExactSums:
        """The sums of no items."""
        return ExactSums.zeros(self.grid, self.num_rows, self.code_size)

    def forget_cache(self) -> None:
        """Load everything again when it is needed: a transaction was rolled back."""
        self._cache.clear()
        self._counted.clear()

    def load(self, connection: sqlite3.Connection, block: int) -> SumsOfBlock:
        """The sums of a block as this transaction sees it, its rows included."""
        return self._cached(connection, block).sums

    def state(self, connection: sqlite3.Connection, block: int) -> tuple[int, int]:
        """Two numbers that change when the block changes."""
        cached = self._cached(connection, block)
        return cached.version, cached.last_row

    def append(self, connection: sqlite3.Connection, rows: Rows, *, newest_epoch: int) -> None:
        """Write rows, and sum up the blocks that have enough of them."""
        for block in set(rows.blocks.tolist()):
            self._check_lookups(connection, block)
        direct = rows.blocks < 0
        if not self.ledger:  # large parts need not be rows first
            for block in set(rows.blocks.tolist()):
                which = rows.blocks == block
                if 2 * int(which.sum()) * self.format.row_bytes >= self.block_bytes:
                    direct |= which
                    sums = self.load(connection, block)
                    self.add(sums, rows.select(which))
                    self.save(connection, block, newest_epoch=newest_epoch)
        if direct.all():
            return
        waiting = rows.select(~direct) if direct.any() else rows
        last = self.format.insert(connection, waiting)
        blocks, counts = np.unique(waiting.blocks, return_counts=True)
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
            row = self.table.row(connection, block)
            if last - len(waiting) < row.last_row:
                raise damaged(self.path, "numbers of items that are used again")
            row = row._replace(last_row=last, num_waiting=row.num_waiting + count)
            self._write_row(connection, block, row)
            if row.num_waiting * self.format.row_bytes >= self.block_bytes:
                self.load(connection, block)
                self.save(connection, block, newest_epoch=newest_epoch)

    def _check_lookups(self, connection: sqlite3.Connection, block: int) -> None:
        """Refuse to continue from a block of which the indexes do not find everything."""
        row = self.table.row(connection, block)
        if self._counted.get(block) == row:
            return
        if self.ledger and not self._counted:
            counts = f"SELECT COUNT(*), ({COUNT_IDS}) FROM items"
            count, with_id = connection.execute(counts).fetchone()
            if count != with_id:
                raise self._incomplete()
        counts = "SELECT (SELECT COUNT(*) FROM sums WHERE block = ?1), "
        counts += "(SELECT COUNT(*) FROM items WHERE block = ?1)"
        found = connection.execute(counts, (block,)).fetchone()
        if found != (row.num_sums, row.num_items if self.ledger else row.num_waiting):
            raise self._incomplete()
        self._counted[block] = row

    def _write_row(self, connection: sqlite3.Connection, block: int, row: BlockRow) -> None:
        self.table.write(connection, block, row)
        self._counted[block] = row

    def _incomplete(self) -> Exception:
        return damaged(self.path, "less in it than was counted when it was written")

    def add(self, sums: SumsOfBlock, rows: Rows, *, sign: int = 1) -> None:
        """Add rows of one block to its sums, or subtract them."""
        for place, which in rows.places():
            target = sums.setdefault(place.epoch, self.new_sums())
            target.add(rows.items.select(which), self.grid, sign=sign)

    def save(
        self, connection: sqlite3.Connection, block: int, *, newest_epoch: int | None = None
    ) -> None:
        """Write the sums of a block, with all its rows in them; call `load` before."""
        cached = self._cache[block]
        if not self.ledger and newest_epoch is not None:
            for epoch in [one for one in cached.sums if one < newest_epoch - EPOCHS_KEPT]:
                del cached.sums[epoch]
        for epoch in [one for one, sums in cached.sums.items() if sums.count == 0]:
            del cached.sums[epoch]
        connection.execute("DELETE FROM sums WHERE block = ?", (block,))
        connection.executemany(
            "INSERT INTO sums VALUES (?, ?, ?, ?)",
            ((block, epoch, sums.digest(), sums.to_bytes()) for epoch, sums in cached.sums.items()),
        )
        cached.digests = None
        cached.version += 1
        last, count = cached.last_row, _count(cached.sums)
        row = BlockRow(cached.version, last, last, len(cached.sums), count, 0)
        self._write_row(connection, block, row)
        if not self.ledger:
            connection.execute(
                "DELETE FROM items WHERE block = ? AND number <= ?", (block, cached.last_row)
            )

    def insert_summed(self, connection: sqlite3.Connection, block: int, rows: Rows) -> None:
        """Write rows that are in the sums of their block already; call `save` afterwards."""
        self._cache[block].last_row = self.format.insert(connection, rows)

    def rows(self, connection: sqlite3.Connection, where: str, *values: object) -> Rows:
        """Rows of the ledger, in the order in which they were written."""
        found = connection.execute(
            f"SELECT {COLUMNS}, checksum, number FROM items WHERE {where} ORDER BY number", values
        ).fetchall()
        if any(second[-1] <= first[-1] for first, second in itertools.pairwise(found)):
            raise damaged(self.path, "an index that brings an item twice")
        rows = self.format.read([row[:-1] for row in found])
        if rows is None:
            raise damaged(self.path, "an item that does not match its checksum")
        return rows

    def rows_of(self, connection: sqlite3.Connection, block: int) -> Rows:
        """All rows of one block of a memory with a ledger."""
        rows = self.rows(connection, "block = ?", block)
        if len(rows) != self.table.row(connection, block).num_items:
            raise self._incomplete()
        return rows

    def numbers(self, connection: sqlite3.Connection) -> list[int]:
        """All blocks in which something is or was."""
        return [block for block, _ in self.table.all(connection)]

    def num_items(self, connection: sqlite3.Connection) -> int:
        """How many items are in the memory; without a ledger all sums are loaded and checked."""
        if not self.ledger:
            return sum(_count(self.load(connection, one)) for one in self.numbers(connection))
        count = sum(row.num_items for _, row in self.table.all(connection))
        if (count,) != connection.execute("SELECT COUNT(*) FROM items").fetchone():
            raise self._incomplete()
        return count

    def digests(self, connection: sqlite3.Connection) -> list[tuple[int, int, bytes]]:
        """Block, epoch and digest of all sums that are not empty, in order."""
        found: list[tuple[int, int, bytes]] = []
        for block, row in self.table.all(connection):
            if row.num_waiting:
                cached = self._cached(connection, block)
                if cached.digests is None:
                    cached.digests = [
                        (block, epoch, one.digest())
                        for epoch, one in cached.sums.items()
                        if one.count
                    ]
                found += cached.digests
                continue
            query = "SELECT epoch, digest FROM sums WHERE block = ?"
            own = connection.execute(query, (block,)).fetchall()
            if len(own) != row.num_sums:
                raise self._incomplete()
            for epoch, digest in own:
                if not isinstance(epoch, int) or not isinstance(digest, bytes):
                    raise _wrong_sums(self.path)
                found.append((block, epoch, digest))
        return sorted(found)

    def _cached(self, connection: sqlite3.Connection, block: int) -> _Cached:
        row = self.table.row(connection, block)
        cached = self._cache.get(block)
        if cached is None or cached.version != row.version:
            sums = self._read(connection, block)
            cached = self._cache[block] = _Cached(row.version, row.summed_up_to, sums)
        if row.last_row > cached.last_row:
            rows = self.rows(connection, "block = ? AND number > ?", block, cached.last_row)
            self.add(cached.sums, rows)
            cached.last_row = row.last_row
            cached.digests = None
        if _count(cached.sums) != row.num_items:
            del self._cache[block]
            raise self._incomplete()
        return cached

    def _read(self, connection: sqlite3.Connection, block: int) -> SumsOfBlock:
        query = "SELECT epoch, digest, contents FROM sums WHERE block = ?"
        found: SumsOfBlock = {}
        for epoch, digest, contents in connection.execute(query, (block,)):
            if not isinstance(epoch, int) or not isinstance(contents, bytes):
                raise _wrong_sums(self.path)
            sums = ExactSums.from_bytes(contents, self.grid, self.num_rows, self.code_size)
            if sums is None or sums.digest() != digest:
                raise _wrong_sums(self.path)
            found[epoch] = sums
        return found


def _count(sums: SumsOfBlock) -> int:
    return sum(part.count for part in sums.values())


def _wrong_sums(path: Path) -> Exception:
    return damaged(path, "sums that do not match their checksum")
