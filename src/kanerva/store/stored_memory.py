"""One memory on disk: writing, reading and deleting, each in one transaction."""

import contextlib
import hashlib
import json
import sqlite3
import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from kanerva.errors import KanervaError
from kanerva.memory.write import SufficientStatistics, posterior_from_statistics
from kanerva.store.block_sums import BlockSums, SumsOfBlock
from kanerva.store.database import SCHEMA, Database, damaged
from kanerva.store.item_coder import Block, ItemCoder
from kanerva.store.item_rows import Rows, joined
from kanerva.store.memory_config import MemoryConfig

RECEIPTS_KEPT, DELETED_KEPT = 1000, 10_000
"""So many receipts, and hashes of deleted ids, stay in the file; more would let it grow."""


class StoredMemory:
    """The file of one memory, opened."""

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        timeout: float,
        make_coder: Callable[["MemoryConfig"], ItemCoder],
    ) -> None:
        self.name = name
        self.database = Database(path, timeout=timeout)
        self.config = self._read_config()
        self._make_coder = make_coder
        self._coder: ItemCoder | None = None
        self.sums = BlockSums(
            path,
            grid=self.config.grid,
            num_rows=self.config.num_rows,
            code_size=self.config.code_size,
            ledger=self.config.ledger,
        )
        self._posteriors: dict[int, tuple[tuple[int, int], Block]] = {}

    def _read_config(self) -> MemoryConfig:
        with self.database.reading() as connection:
            facts = dict(connection.execute("SELECT name, value FROM facts"))
        if facts.get("schema") != str(SCHEMA):
            raise KanervaError(
                "memory",
                expected=f"a file of schema {SCHEMA}",
                got=f"{facts.get('schema')!r} in '{self.database.path}'",
                fix="Open it with the version of kanerva that wrote it.",
            )
        config = MemoryConfig.from_facts(facts)
        if config is None:
            raise damaged(self.database.path, "a config that does not match its checksum")
        return config

    @property
    def coder(self) -> ItemCoder:
        """How items become weights and codes; made when it is first needed."""
        if self._coder is None:
            coder = self._make_coder(self.config)
            if coder.fingerprint != self.config.fingerprint:
                raise KanervaError(
                    "model",
                    expected=f"the model with which '{self.name}' was created, with the "
                    f"fingerprint {self.config.fingerprint[:12]}",
                    got=f"one with {coder.fingerprint[:12]}",
                    fix="Open the store with that model: kanerva.open(path, model=...). Codes of "
                    "one model mean nothing to another.",
                )
            self._coder = coder
        return self._coder

    def use(self, coder: ItemCoder) -> None:
        """Take a coder that is there already."""
        self._coder = coder

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of readings."""
        return torch.float64 if self.config.dtype == "float64" else torch.float32

    # -- writing and deleting --------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction. If it fails, this process does not keep what it had changed."""
        try:
            with self.database.writing() as connection:
                yield connection
        except BaseException:
            self.sums.forget_cache()
            raise

    def append(self, rows: Rows) -> None:
        """Write rows; they are on disk when this returns."""
        newest = int(rows.epochs.max()) if len(rows) else 0
        with self.writing() as connection:
            self.sums.append(connection, rows, newest_epoch=newest)

    def subtract(self, connection: sqlite3.Connection, rows: Rows) -> None:
        """Delete items inside a transaction; with a ledger their rows go too."""
        for block in sorted(set(rows.blocks.tolist())):
            sums = self.sums.load(connection, block)
            self.sums.add(sums, rows.select(rows.blocks == block), sign=-1)
            self.sums.save(connection, block)
        if self.config.ledger:
            ids = [(facts.id,) for facts in rows.facts]
            connection.executemany("DELETE FROM items WHERE id = ?", ids)

    def keep_receipt(
        self, connection: sqlite3.Connection, receipt: dict[str, object], ids: Sequence[str]
    ) -> None:
        """Keep a receipt in the file without its ids, of which only hashes stay."""
        text, time = json.dumps(receipt), receipt["time"]
        connection.execute("INSERT INTO receipts (contents) VALUES (?)", (text,))
        hashes = [(id_hash(one), time) for one in ids[-DELETED_KEPT:]]
        connection.executemany("INSERT INTO deleted (hash, time) VALUES (?, ?)", hashes)
        for table, kept in (("receipts", RECEIPTS_KEPT), ("deleted", DELETED_KEPT)):
            last = f"(SELECT MAX(number) FROM {table})"
            connection.execute(f"DELETE FROM {table} WHERE number <= {last} - {kept}")

    def receipts(self) -> list[dict[str, object]]:
        """The newest receipts that are in the file, the oldest first."""
        with self.database.reading() as connection:
            found = connection.execute("SELECT contents FROM receipts ORDER BY number")
            return [json.loads(contents) for (contents,) in found]

    def merge(
        self,
        connection: sqlite3.Connection,
        block: int,
        parts: Iterable[tuple[SumsOfBlock, Rows | None]],
    ) -> None:
        """Add sums of other memories to a block inside a transaction, and rows to the ledger."""
        mine = self.sums.load(connection, block)
        for sums, rows in parts:
            for epoch, others in sums.items():
                mine.setdefault(epoch, self.sums.new_sums()).merge(others)
            if rows is not None and len(rows):
                self.sums.insert_summed(connection, block, rows)
        self.sums.save(connection, block)

    # -- reading ---------------------------------------------------------------------------------

    def rows_by_id(self, connection: sqlite3.Connection, ids: Sequence[str]) -> Rows:
        """The rows of some ids; an error names the first that is not there."""
        found: list[Rows] = []
        for start in range(0, len(ids), 10_000):  # SQLite takes 32,766 values at most
            some = ids[start : start + 10_000]
            marks = ", ".join("?" * len(some))
            found.append(self.sums.rows(connection, f"id IN ({marks})", *some))
        rows = joined(found)
        if len(rows) < len(ids):
            there = {facts.id for facts in rows.facts}
            missing = next(one for one in ids if one not in there)
            raise KanervaError(
                "ids",
                expected=f"ids of items in '{self.name}'",
                got=f"{missing!r}, which {self._fate(connection, missing)}",
                fix="Nothing was deleted. Leave that id out.",
            )
        return rows

    def _fate(self, connection: sqlite3.Connection, id: str) -> str:
        query = "SELECT time FROM deleted WHERE hash = ? ORDER BY number DESC"
        found = connection.execute(query, (id_hash(id),)).fetchone()
        if found is not None:
            when = clock.strftime("%Y-%m-%d %H:%M:%S", clock.localtime(found[0]))
            return f"was deleted on {when}"
        return "was never written or was deleted"

    def block(self, number: int, *, now: float) -> Block:
        """A block, ready to be read."""
        with self.database.reading() as connection:
            state = self.sums.state(connection, number)
            known = self._posteriors.get(number)
            if known is not None and known[0] == state and self.config.half_life is None:
                return known[1]
            block = self.posterior(self.sums.load(connection, number), now=now)
        self._posteriors[number] = (state, block)
        return block

    def posterior(self, sums: SumsOfBlock, *, now: float) -> Block:
        """The exact posterior of section 3.3 from sums."""
        K, C = self.config.num_rows, self.config.code_size
        gram, cross, squares, count = np.zeros((K, K)), np.zeros((K, C)), 0.0, 0.0
        for epoch, part in sorted(sums.items()):
            share = self.config.share_left(epoch, now)
            own_gram, own_cross, own_squares = part.to_float(self.config.grid)
            gram += share * own_gram
            cross += share * own_cross
            squares += share * own_squares
            count += share * part.count
        prior = self.coder.prior
        if count == 0:
            return Block(prior, 0.0, 0.0)
        noise_var = self.config.noise_var
        statistics = SufficientStatistics(
            *(torch.from_numpy(part / noise_var) for part in (gram, cross))
        )
        return Block(posterior_from_statistics(prior, statistics), count, squares / (count * C))

    def state(self, connection: sqlite3.Connection) -> str:
        """SHA-256 of all sums: equal for memories that hold the same items."""
        digest = hashlib.sha256(repr(self.config.merges_with).encode())
        for block, epoch, own in self.sums.digests(connection):
            digest.update(f"{block} {epoch} ".encode() + own)
        return digest.hexdigest()

    def num_items(self, connection: sqlite3.Connection) -> int:
        """How many items are in the memory."""
        if self.config.ledger:
            return connection.execute("SELECT COUNT(*) FROM items").fetchone()[0]
        blocks = (self.sums.load(connection, one) for one in self.sums.numbers(connection))
        return sum(part.count for sums in blocks for part in sums.values())

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def id_hash(id: str) -> bytes:
    """What stays of an id after its deletion."""
    return hashlib.sha256(id.encode(errors="surrogatepass")).digest()[:8]
