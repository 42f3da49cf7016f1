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
from kanerva.store.block_sums import EPOCHS_KEPT, BlockSums, SumsOfBlock
from kanerva.store.block_table import insert_empty_blocks
from kanerva.store.database import Database
from kanerva.store.database_files import SCHEMA, damaged, make_database
from kanerva.store.item_coder import Age, Block, ItemCoder
from kanerva.store.item_rows import Rows, joined, taken_id
from kanerva.store.memory_config import MemoryConfig

FADED_AWAY = 2.0**-EPOCHS_KEPT
"""Less of an item than this counts as nothing."""
RECEIPTS_KEPT, DELETED_KEPT = 1000, 10_000
"""So many receipts, and hashes of deleted ids, stay in the file; more would let it grow."""


def make_memory(path: Path, config: MemoryConfig) -> None:
    """Make the file of an empty memory."""
    make_database(
        path,
        config.to_facts(),
        lambda connection: insert_empty_blocks(connection, config.num_blocks),
    )


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
            num_blocks=self.config.num_blocks,
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
        with self.database.lock:  # no other thread may see what is taken back
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
            try:
                return [json.loads(contents) for (contents,) in found]
            except (TypeError, ValueError):
                raise damaged(self.database.path, "a receipt that is no JSON") from None

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
        for some in _lots(ids):
            marks = ", ".join("?" * len(some))
            found.append(self.sums.rows(connection, f"id IN ({marks})", *some))
        rows = joined(found)
        if len(rows) < len(ids):
            there = {facts.id for facts in rows.facts}
            missing = next(one for one in ids if one not in there)
            query = "SELECT 1 FROM items NOT INDEXED WHERE id = ?"
            if connection.execute(query, (missing,)).fetchone() is not None:
                raise damaged(self.database.path, "an id that its index does not find")
            raise KanervaError(
                "ids",
                expected=f"ids of items in '{self.name}'",
                got=f"{missing!r}, which {self._fate(connection, missing)}",
                fix="Nothing was deleted. Leave that id out.",
            )
        return rows

    def check_new_ids(self, ids: Sequence[str]) -> None:
        """Refuse ids that occur twice or are in the memory."""
        seen: set[str] = set()
        for one in ids:
            if one in seen:
                raise taken_id(one)
            seen.add(one)
        with self.database.reading() as connection:
            for some in _lots(ids):
                marks = ", ".join("?" * len(some))
                query = f"SELECT id FROM items WHERE id IN ({marks}) LIMIT 1"
                found = connection.execute(query, some).fetchone()
                if found is not None:
                    raise taken_id(found[0])

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
        gram, cross, squares = np.zeros((K, K)), np.zeros((K, C)), 0.0
        squared_gram = None if self.config.half_life is None else np.zeros((K, K))
        ages: list[Age] = []
        for epoch, part in sorted(sums.items()):
            share = self.config.share_left(epoch, now)
            if part.count == 0 or share < FADED_AWAY:
                continue
            own_gram, own_cross, own_squares = part.to_float(self.config.grid)
            gram += share * own_gram
            cross += share * own_cross
            squares += share * own_squares
            left = 1.0
            if squared_gram is not None:
                # Weights of vectors have length 1, and grow with the time within a half-life.
                left = share * min(max(np.trace(own_gram) / part.count, 1.0), 2.0)
                squared_gram += share * left * own_gram
            ages.append(Age(left, part.count))
        prior = self.coder.prior
        if not ages:
            return Block(prior, (), 0.0, 0.0, squared_gram)
        G, H = (torch.from_numpy(part / self.config.noise_var) for part in (gram, cross))
        memory = posterior_from_statistics(prior, SufficientStatistics(G, H))
        rows_used = (memory.row_cov.dense() * G).sum().item()
        mean_square = squares / (C * sum(age.left * age.count for age in ages))
        return Block(memory, tuple(ages), mean_square, rows_used, squared_gram)

    def state(self, connection: sqlite3.Connection) -> str:
        """SHA-256 of all sums: equal for memories that hold the same items."""
        digest = hashlib.sha256(repr(self.config.merges_with).encode())
        for block, epoch, own in self.sums.digests(connection):
            digest.update(f"{block} {epoch} ".encode() + own)
        return digest.hexdigest()

    def num_items(self, connection: sqlite3.Connection) -> int:
        """How many items are in the memory."""
        return self.sums.num_items(connection)

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _lots(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Ids in lots of 10,000: SQLite takes 32,766 values at most."""
    for start in range(0, max(len(ids), 1), 10_000):
        yield ids[start : start + 10_000]


def id_hash(id: str) -> bytes:
    """What stays of an id after its deletion."""
    return hashlib.sha256(id.encode(errors="surrogatepass")).digest()[:8]
