"""All memories of the server: those of sessions, which are bounded, and those of a folder."""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kanerva.errors import KanervaError
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.memory_model import MemoryModel
from kanerva.store.images import model_fingerprint
from kanerva.store.memory_store import MemoryStore
from kanerva.store.names import checked_name
from kanerva.web.limits import (
    MAX_MEMORIES,
    MAX_MEMORIES_OF_SESSION,
    MAX_STORED_MEMORIES,
    MAX_WAITING_S,
)
from kanerva.web.refusals import RefusedError, busy, no_memory
from kanerva.web.served_memory import ServedMemory

PREFIX = "kanerva-sessions-"
AT_ONCE = 2
"""How many requests compute at the same time."""


@dataclass(eq=False)
class Session:
    """The memories of one visitor, by name."""

    memories: dict[str, ServedMemory] = field(default_factory=dict)


class Memories:
    """Finds, creates and deletes memories. Safe in several threads.

    Sessions live in a temporary folder, under random names, and go with it. No text of a request
    becomes part of a path there. In the server's own folder (`store`) a name that was checked does.

    Args:
        recall: the model that writes and reads.
        samples: the model that makes new images.
        reference: the name by which stored memories find `recall` again.
        store: the folder of stored memories, if there is one.

    """

    def __init__(
        self,
        recall: KanervaMachine,
        samples: MemoryModel,
        *,
        reference: str,
        store: MemoryStore | None,
    ) -> None:
        self.recall, self.samples, self.reference = recall, samples, reference
        self.store = store
        self._fingerprint = model_fingerprint(recall)
        _remove_left_over()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._own = MemoryStore(self._folder, model=recall)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.RLock()
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    def close(self) -> None:
        """Close all files; what is stored stays, what belonged to sessions goes."""
        with self._lock:
            self._sessions.clear()
            self._own.close()
            if self.store is not None:
                self.store.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Wait until few others compute; a request that waits too long is refused."""
        if not self._slots.acquire(timeout=MAX_WAITING_S):
            raise busy()
        try:
            yield
        finally:
            self._slots.release()

    def names(self, session: str | None) -> list[ServedMemory]:
        """All memories that a session can use, its own first."""
        with self._lock:
            own = self._session(session)
            found = list(own.memories.values()) if own else []
            taken = set(own.memories) if own else set()
            return found + [one for one in self._stored() if one.name not in taken]

    def find(self, session: str | None, name: str) -> ServedMemory:
        """A memory by its name; 404 if there is none."""
        with self._lock:
            own = self._session(session)
            if own is not None and name in own.memories:
                return own.memories[name]
            for one in self._stored():
                if one.name == name:
                    return one
        raise no_memory(name)

    def create(
        self, session: str | None, name: str, *, stored: bool | None
    ) -> tuple[str | None, ServedMemory]:
        """Create a memory; the session to which it belongs, which may be new, and the memory."""
        checked_name(name)
        with self._lock:
            if any(one.name == name for one in self.names(session)):
                raise RefusedError(
                    409, "name", expected="a name that no memory has yet", got=f"'{name}'",
                    fix="Choose another name, or use the memory that is there.",
                )  # fmt: skip
            if stored is None:
                stored = self.store is not None
            if stored:
                return session, self._create_stored(name)
            return self._create_own(session, name)

    def delete(self, session: str | None, name: str) -> None:
        """Delete a memory with all its items."""
        with self._lock:
            memory = self.find(session, name)
            memory.store.delete(memory.file)
            own = self._session(session)
            if own is not None and not memory.stored:
                del own.memories[name]

    def _session(self, session: str | None) -> Session | None:
        """The session of a cookie, which counts as used now."""
        if session is None or session not in self._sessions:
            return None
        self._sessions.move_to_end(session)
        return self._sessions[session]

    def _create_own(self, session: str | None, name: str) -> tuple[str, ServedMemory]:
        own = self._session(session)
        if own is None or session is None:
            session, own = secrets.token_urlsafe(32), Session()
            self._sessions[session] = own
        if len(own.memories) >= MAX_MEMORIES_OF_SESSION:
            raise RefusedError(
                409, "name", expected=f"at most {MAX_MEMORIES_OF_SESSION} memories of a session",
                got="one more", fix="Delete one first.",
            )  # fmt: skip
        self._make_room()
        file = secrets.token_hex(16)
        self._own.create(file, model=self.recall, ledger=True)
        # It ends with the server, so no write need wait until it is really on the disk.
        database = self._own._memory(file).database
        with database.lock:
            database.connection.execute("PRAGMA synchronous=OFF")
        memory = self._served(name, file, secrets.token_hex(8), self._own, stored=False)
        own.memories[name] = memory
        return session, memory

    def _make_room(self) -> None:
        """Let the sessions that were not used for the longest time lose their memories."""
        while sum(len(one.memories) for one in self._sessions.values()) >= MAX_MEMORIES:
            _, oldest = self._sessions.popitem(last=False)
            for memory in oldest.memories.values():
                self._own.delete(memory.file)

    def _create_stored(self, name: str) -> ServedMemory:
        if self.store is None:
            raise RefusedError(
                409, "stored", expected="false: this server keeps no memories on disk", got="true",
                fix="Start it with: kanerva serve --store FOLDER.",
            )  # fmt: skip
        if len(self.store.names()) >= MAX_STORED_MEMORIES:
            raise RefusedError(
                409, "name", expected=f"at most {MAX_STORED_MEMORIES} memories in the folder",
                got="one more", fix="Delete one first.",
            )  # fmt: skip
        if name in self.store.names():  # of another model, so it was not listed
            raise RefusedError(
                409, "name", expected="a name that no memory has yet", got=f"'{name}'",
                fix="Choose another name: this one belongs to a memory of another model.",
            )  # fmt: skip
        self.store.create(name, model=self.reference, ledger=True)
        return self._served(name, name, _key_of(name), self.store, stored=True)

    def _stored(self) -> list[ServedMemory]:
        """The memories of the folder that belong to the model of this server."""
        if self.store is None:
            return []
        found = []
        for name in self.store.names():
            with contextlib.suppress(KanervaError):  # a damaged file must not hide the others
                if self.store._memory(name).config.fingerprint == self._fingerprint:
                    found.append(self._served(name, name, _key_of(name), self.store, stored=True))
        return found

    def _served(
        self, name: str, file: str, key: str, store: MemoryStore, *, stored: bool
    ) -> ServedMemory:
        return ServedMemory(
            name=name,
            file=file,
            key=key,
            store=store,
            stored=stored,
            recall=self.recall,
            samples=self.samples,
        )


def _key_of(name: str) -> str:
    return hashlib.sha256(f"stored {name}".encode()).hexdigest()[:16]


def _remove_left_over() -> None:
    """Remove the sessions of servers that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        match = re.fullmatch(rf"{PREFIX}(\d+)-.*", folder.name)
        with contextlib.suppress(OSError):
            if match and folder.stat().st_uid == os.getuid() and not _runs(int(match[1])):
                shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
