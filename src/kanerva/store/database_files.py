"""The files of a memory: how they are made and opened, and what SQLite's errors mean to a user."""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path

from kanerva.errors import KanervaError
from kanerva.store.names import names_in
from kanerva.tensor_file import DamagedFileError

SCHEMA = 2
"""The version of the tables."""
PAGE_SIZE = 8192
"""Bytes of a page: three items of 384 numbers fit into one, where half of 4,096 would be lost."""
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE items (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, time REAL NOT NULL, label TEXT,
    payload BLOB, block INTEGER NOT NULL, epoch INTEGER NOT NULL, weights BLOB NOT NULL,
    codes BLOB NOT NULL, checksum BLOB NOT NULL
);
CREATE INDEX items_of_block ON items (block, number);
CREATE TABLE sums (
    block INTEGER NOT NULL, epoch INTEGER NOT NULL, digest BLOB NOT NULL, contents BLOB NOT NULL,
    PRIMARY KEY (block, epoch)
);
CREATE TABLE blocks (
    block INTEGER PRIMARY KEY, version INTEGER NOT NULL, summed_up_to INTEGER NOT NULL,
    last_row INTEGER NOT NULL, num_sums INTEGER NOT NULL, num_summed INTEGER NOT NULL,
    num_waiting INTEGER NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE receipts (number INTEGER PRIMARY KEY AUTOINCREMENT, contents TEXT NOT NULL);
CREATE TABLE deleted (
    number INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL, time REAL NOT NULL
);
"""


def files_of(path: Path) -> list[Path]:
    """All files in which SQLite keeps a memory."""
    return [path, Path(f"{path}-wal"), Path(f"{path}-shm")]


def make_database(
    path: Path, facts: dict[str, str], fill: Callable[[sqlite3.Connection], None]
) -> None:
    """Make the file of a new memory, whole or not at all; `fill` writes its first rows."""
    temporary = path.with_name(f".new-{secrets.token_hex(4)}")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = connect(temporary, 5)
            try:
                connection.executescript(f"BEGIN; {TABLES}")
                connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
                fill(connection)
                connection.execute("COMMIT")
            finally:
                connection.close()
            os.link(temporary, path)  # fails if another process was faster
        except FileExistsError:
            if path.parent.is_dir():
                raise taken(path) from None
            raise _no_folder(path.parent, "a file where a folder should be") from None
        except OSError as error:
            raise _no_folder(path.parent, (error.strerror or str(error)).lower()) from None
        except sqlite3.Error as error:
            raise in_our_words(path, error, 5) from None
        with contextlib.suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        for file in files_of(temporary):
            with contextlib.suppress(OSError):
                file.unlink()


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection with everything on that makes commits durable and deletions complete."""
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA page_size={PAGE_SIZE}")  # of a new file
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def in_our_words(path: Path, error: sqlite3.Error, timeout: float) -> KanervaError:
    """Our error for one of SQLite's."""
    text = str(error)
    if "locked" in text:
        return KanervaError(
            "memory",
            expected="one writer at a time",
            got=f"'{path}', which another process has been writing for {timeout:g} seconds",
            fix="Try again when it is done, or wait longer: kanerva.open(path, timeout=60).",
        )
    if "full" in text or "I/O" in text:
        return KanervaError(
            "memory",
            expected="space on the disk",
            got=f"'{path}': {text}",
            fix="Free some space and try again. The memory is as it was before.",
        )
    if "readonly" in text or "unable to open" in text:
        return KanervaError(
            "memory",
            expected="a file that can be read and written",
            got=f"'{path}': {text}",
            fix="Change its permissions and those of its folder, or copy it.",
        )
    return damaged(path, text)


def damaged(path: Path, what: str) -> DamagedFileError:
    """The error for a file that was cut short or changed."""
    return DamagedFileError(
        "memory",
        expected="the file of a memory as kanerva wrote it",
        got=f"'{path}': {what}",
        fix="It was cut short or changed: take a copy, or merge an export into a new memory.",
    )


def taken(path: Path) -> KanervaError:
    """The error for a name that is in use."""
    return KanervaError(
        "name",
        expected="a name that no memory has yet",
        got=f"{path.stem!r}, which is there",
        fix="Choose another name, or write to the memory that is there.",
    )


def missing(path: Path) -> KanervaError:
    """The error for a name that no memory has."""
    folder = path.parent
    there = names_in(folder)
    return KanervaError(
        "name",
        expected="a memory of this store",
        got=f"{path.stem!r}, which is not in '{folder}'",
        fix=f"It has {', '.join(there)}." if there else "Create it first: store.create(name, ...).",
    )


def _no_folder(folder: Path, what: str) -> KanervaError:
    return KanervaError(
        "path",
        expected="a folder that can be written",
        got=f"'{folder}': {what}",
        fix="Name another folder.",
    )
