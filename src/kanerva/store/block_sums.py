"""The sums of a memory's blocks, in its file and in this process.

New items are appended as rows, which is cheap. When the rows of a block need as many bytes as its
sums, they are added to the sums ("summed up"). So a block is its sums plus the rows after the
number `summed_up_to`. A memory without a ledger deletes rows that are summed up, and so keeps a
constant size. The version of a block changes with its sums; from it another process knows what to
load again.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from kanerva.store.database_files import damaged
from kanerva.store.exact_sums import ExactSums, Grid
from kanerva.store.item_rows import COLUMNS, RowFormat, Rows

EPOCHS_KEPT = 60
"""Without a ledger, what has faded for so many half-lives is dropped: 2^-60 of it is left."""
LOOKS = 8
"""How often to count the waiting rows of a block until they are as large as its sums."""
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
        self, path: Path, *, grid: Grid, num_rows: int, code_size: int, ledger: bool
    ) -> None:
        self.path = path
        self.grid, self.num_rows, self.code_size = grid, num_rows, code_size
        self.ledger = ledger
        self.format = RowFormat.of(grid, num_rows, code_size)
        self.block_bytes = len(self.new_sums().to_bytes())
        self._cache: dict[int, _Cached] = {}
        self._since_looked: dict[int, int] = {}

    def new_sums(self) -> ExactSums:
        """The sums of no items."""
        return ExactSums.zeros(self.grid, self.num_rows, self.code_size)

    def forget_cache(self) -> None:
        """Load everything again when it is needed: a transaction was rolled back."""
        self._cache.clear()

    def load(self, connection: sqlite3.Connection, block: int) -> SumsOfBlock:
        """The sums of a block as this transaction sees it, its rows included."""
        return self._cached(connection, block).sums

    def state(self, connection: sqlite3.Connection, block: int) -> tuple[int, int]:
        """Two numbers that change when the block changes."""
        cached = self._cached(connection, block)
        return cached.version, cached.last_row

    def append(self, connection: sqlite3.Connection, rows: Rows, *, newest_epoch: int) -> None:
        """Write rows, and sum up the blocks that have enough of them."""
        direct = rows.blocks < 0
        if not self.ledger:  # large parts need not be rows first
            for block in set(rows.blocks.tolist()):
                which = rows.blocks == block
                if 2 * int(which.sum()) * self.format.row_bytes >= self.block_bytes:
                    direct |= which
                    sums = self.load(connection, block)
                    self.add(sums, rows.select(which))
                    self.save(connection, block, newest_epoch=newest_epoch)
        if not direct.all():
            self.format.insert(connection, rows.select(~direct) if direct.any() else rows)
        if not self._may_be_due(rows.blocks[~direct].tolist()):
            return
        for block in sorted(set(rows.blocks[~direct].tolist())):
            self._since_looked[block] = 0
            if self._pending_bytes(connection, block) >= self.block_bytes:
                self.load(connection, block)
                self.save(connection, block, newest_epoch=newest_epoch)

    def _may_be_due(self, blocks: list[int]) -> bool:
        """Whether enough was written since the last look at how many rows wait in these blocks."""
        touched = set(blocks)
        first = not touched <= self._since_looked.keys()
        for block in blocks:
            self._since_looked[block] = self._since_looked.get(block, 0) + self.format.row_bytes
        return first or any(LOOKS * self._since_looked[one] >= self.block_bytes for one in touched)

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
        connection.execute(
            "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?)",
            (block, cached.version, cached.last_row),
        )
        if not self.ledger:
            connection.execute(
                "DELETE FROM items WHERE block = ? AND number <= ?", (block, cached.last_row)
            )

    def insert_summed(self, connection: sqlite3.Connection, block: int, rows: Rows) -> None:
        """Write rows that are in the sums of their block already; call `save` afterwards."""
        self.format.insert(connection, rows)
        last = "SELECT COALESCE(MAX(number), 0) FROM items"
        (self._cache[block].last_row,) = connection.execute(last).fetchone()

    def rows(self, connection: sqlite3.Connection, where: str, *values: object) -> Rows:
        """Rows of the ledger, in the order in which they were written."""
        found = connection.execute(
            f"SELECT {COLUMNS}, checksum FROM items WHERE {where} ORDER BY number", values
        ).fetchall()
        rows = self.format.read(found)
        if rows is None:
            raise damaged(self.path, "an item that does not match its checksum")
        return rows

    def numbers(self, connection: sqlite3.Connection) -> list[int]:
        """All blocks in which something is or was."""
        query = "SELECT block FROM blocks UNION SELECT DISTINCT block FROM items ORDER BY 1"
        return [block for (block,) in connection.execute(query)]

    def digests(self, connection: sqlite3.Connection) -> list[tuple[int, int, bytes]]:
        """Block, epoch and digest of all sums that are not empty, in order."""
        found: list[tuple[int, int, bytes]] = []
        for block in self.numbers(connection):
            if self._pending_bytes(connection, block):
                cached = self._cached(connection, block)
                if cached.digests is None:
                    cached.digests = [
                        (block, epoch, one.digest())
                        for epoch, one in cached.sums.items()
                        if one.count
                    ]
                found += cached.digests
            else:
                query = "SELECT block, epoch, digest FROM sums WHERE block = ?"
                found += connection.execute(query, (block,))
        return sorted(found)

    def _pending_bytes(self, connection: sqlite3.Connection, block: int) -> int:
        query = "SELECT COUNT(*) FROM items WHERE block = ? AND number > ?"
        (count,) = connection.execute(query, (block, self._saved(connection, block)[1])).fetchone()
        return count * self.format.row_bytes

    @staticmethod
    def _saved(connection: sqlite3.Connection, block: int) -> tuple[int, int]:
        """The version of a block and its last row that is summed up."""
        query = "SELECT version, summed_up_to FROM blocks WHERE block = ?"
        return connection.execute(query, (block,)).fetchone() or (0, 0)

    def _cached(self, connection: sqlite3.Connection, block: int) -> _Cached:
        version, summed_up_to = self._saved(connection, block)
        cached = self._cache.get(block)
        if cached is None or cached.version != version:
            sums = self._read(connection, block)
            cached = self._cache[block] = _Cached(version, summed_up_to, sums)
        (last,) = connection.execute("SELECT COALESCE(MAX(number), 0) FROM items").fetchone()
        if last > cached.last_row:
            rows = self.rows(connection, "block = ? AND number > ?", block, cached.last_row)
            self.add(cached.sums, rows)
            cached.last_row = last
            if len(rows):
                cached.digests = None
        return cached

    def _read(self, connection: sqlite3.Connection, block: int) -> SumsOfBlock:
        query = "SELECT epoch, digest, contents FROM sums WHERE block = ?"
        found: SumsOfBlock = {}
        for epoch, digest, contents in connection.execute(query, (block,)):
            sums = ExactSums.from_bytes(contents, self.grid, self.num_rows, self.code_size)
            if sums is None or sums.digest() != digest:
                raise damaged(self.path, "sums that do not match their checksum")
            found[epoch] = sums
        return found
