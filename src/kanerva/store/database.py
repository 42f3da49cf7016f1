"""The file of a memory: SQLite with a write-ahead log, and what its errors mean to a user.

What is durable: a transaction that has returned. `synchronous=FULL` flushes the write-ahead log to
disk at every commit, and after a crash SQLite keeps all committed transactions and no part of
another one. All that a memory consists of is in this one file, so there is no moment at which two
files could disagree. Many connections read while one writes; SQLite's own lock keeps the writers
apart, and the operating system releases it when a process ends, even by `kill -9`.
"""

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

from kanerva.store.database_files import connect, damaged, files_of, in_our_words, missing


class Database:
    """The connection of this process to the file of one memory."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        _DATABASES.add(self)

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection of this process."""
        if self._connection is None:
            if not self.path.is_file():
                raise missing(self.path)
            with self.errors():
                self._connection = connect(self.path, self.timeout)
            self._file = _identity(self.path)
        return self._connection

    def is_current(self) -> bool:
        """Whether the file that is open is the one at the path: not deleted, not replaced."""
        return self._connection is None or _identity(self.path) == self._file

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that writes: all of it is on disk when the block ends, or nothing."""
        with self.lock, self.errors():
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state, whatever others write meanwhile."""
        with self.lock, self.errors():
            connection = self.connection
            if connection.in_transaction:  # inside a transaction that writes
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def purge(self) -> bool:
        """Remove every trace of deleted rows from all files; False if a reader is in the way.

        `VACUUM` copies what is left into new pages: SQLite may keep copies of old rows in the free
        space of its pages even with `secure_delete`. The write-ahead log is then emptied.
        """
        with self.lock, self.errors():
            self.connection.execute("VACUUM")
            (busy, _, _) = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def check(self) -> None:
        """Look at every page of the file; raise if SQLite finds damage."""
        with self.reading() as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise damaged(self.path, found)

    def is_same_file(self, other: "Database") -> bool:
        """Whether both are one file, also if it has several names."""
        return self.path == other.path or _identity(self.path) == _identity(other.path)

    def size(self) -> int:
        """Bytes of all files of this memory."""
        return sum(os.path.getsize(file) for file in files_of(self.path) if os.path.exists(file))

    def close(self) -> None:
        """Close the connection; the last one empties the write-ahead log."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise in_our_words(self.path, error, self.timeout) from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Two numbers that tell files apart; None if there is nothing at the path."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_DATABASES: "weakref.WeakSet[Database]" = weakref.WeakSet()
_FORKING = threading.Lock()
_HELD: list[Database] = []
_ABANDONED: list[sqlite3.Connection] = []
"""Connections that were in the middle of something; closing them would disturb the parent."""


def _before_fork() -> None:
    """Wait until no thread is in a transaction, in the order in which merging takes the locks."""
    _FORKING.acquire()
    _HELD[:] = in_order(_DATABASES)
    for database in _HELD:
        database.lock.acquire()


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """Close what the parent had opened: a child has none of its locks on the file.

    SQLite would believe that it has them, and the parent could then remove the write-ahead log to
    which the child writes. Only after all are closed does a new connection take locks of its own.
    """
    for database in _HELD:
        connection, database._connection = database._connection, None
        if connection is not None and connection.in_transaction:
            _ABANDONED.append(connection)
        elif connection is not None:
            connection.close()
    _after_fork()


def in_order(databases: Iterable[Database]) -> list[Database]:
    """Databases in the order in which a thread takes their locks; all threads use the same."""
    return sorted(set(databases), key=lambda database: (str(database.path), id(database)))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
