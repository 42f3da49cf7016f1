"""The folder of a store: its files, how they are opened, and how memories are created."""

import contextlib
import threading
import time as clock
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch

from kanerva.checks import check_bool, check_integer, check_number, check_one_of, check_path
from kanerva.data.paths import FILE, FOLDER, NOTHING, fix_for, from_root, what_is_at
from kanerva.errors import KanervaError
from kanerva.memory import MemoryState
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.store.coders import check_model, coder_of, make_coder, new_config
from kanerva.store.database_files import files_of, taken
from kanerva.store.deleting import distance_to_rebuilt
from kanerva.store.memory_config import DTYPES, check_half_life, checked_time
from kanerva.store.merging import check_alike, open_sources
from kanerva.store.names import ENDING, checked_name, file_of, names_in
from kanerva.store.plan import VectorPlan
from kanerva.store.records import MemoryInfo
from kanerva.store.snapshot import write_snapshot
from kanerva.store.stored_memory import StoredMemory, make_memory
from kanerva.tensor_file import DamagedFileError


class StoreFolder:
    """A folder with one file for each memory. `MemoryStore` adds what is done with memories.

    Args:
        path: the folder. It is made when the first memory is created.
        model: the model of image memories: a `KanervaMachine`, or the name of one. By default the
            one that the memory was created with, by its name.
        timeout: how many seconds to wait while another process writes.

    """

    def __init__(
        self,
        path: str | Path,
        *,
        model: KanervaMachine | str | None = None,
        timeout: float = 5.0,
    ) -> None:
        # The same folder also after the process has moved to another one.
        self.path = from_root(check_path("path", path, what="a folder"))
        check_number("timeout", timeout, at_least=0, at_most=1e6, fix="Pass seconds.")
        found = what_is_at(self.path)
        if found not in (FOLDER, NOTHING):
            raise KanervaError(
                "path",
                expected="a folder of memories, or a name that is free",
                got=f"'{self.path}', {found}",
                fix="Name the folder in which it is." if found == FILE else fix_for(found),
            )
        check_model(model)
        self.timeout = timeout
        self._model = model
        self._open: dict[Path, StoredMemory] = {}
        self._lock = threading.RLock()  # of _open; taken before the lock of a memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files. The store can be used again; it opens them when it needs them."""
        with self._lock:
            for memory in self._open.values():
                memory.close()
            self._open.clear()

    def names(self) -> list[str]:
        """The names of all memories.

        Returns:
            The names in alphabetical order.

        """
        return names_in(self.path)

    def create(
        self,
        name: str,
        *,
        model: KanervaMachine | str | None = None,
        plan: VectorPlan | None = None,
        ledger: bool = False,
        half_life: float | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Create an empty memory, for images or for vectors.

        Args:
            name: its name: letters, digits, dots, dashes and underscores, at most 100.
            model: for images: a `KanervaMachine`, or the name of one ("omniglot", a checkpoint).
            plan: for vectors: what `plan_vectors` returned.
            ledger: keep each item, to delete it by its id and to say what a reading came from.
                Without a ledger the memory has a constant size.
            half_life: seconds after which the evidence of an item counts half.
            dtype: torch.float32 or torch.float64, for readings.

        Raises:
            KanervaError: there is such a memory, or an argument is wrong.

        """
        check_bool("ledger", ledger, fix="Pass True or False.")
        check_half_life(half_life)
        word = str(dtype).removeprefix("torch.")
        check_one_of("dtype", word, DTYPES, fix="Pass torch.float32 or torch.float64.")
        path = self._path(name)
        if path.exists():
            raise taken(path)
        coder = coder_of(model if model is not None or plan is not None else self._model, plan)
        config = new_config(coder, ledger=ledger, half_life=half_life, dtype=word)
        make_memory(path, config)
        self._memory(name).use(coder)

    def create_like(self, name: str, sources: Sequence[str | Path]) -> None:
        """Create an empty memory into which others can be merged.

        Args:
            name: its name.
            sources: the others, as in `merge`. It gets a ledger if all of them have one.

        Raises:
            KanervaError: there is such a memory, or the others cannot be merged.

        """
        path = self._path(name)
        if path.exists():
            raise taken(path)
        found = open_sources(sources, self._memory)
        if not found:
            raise KanervaError(
                "sources", expected="at least one", got="none", fix="Name what to merge."
            )
        check_alike(name, found[0].config, found)
        ledger = all(source.has_ledger for source in found)
        make_memory(path, replace(found[0].config, ledger=ledger))

    def delete(self, name: str) -> None:
        """Delete a whole memory with its ledger, also one whose file is damaged.

        Args:
            name: the memory. Other processes must not have it open.

        Raises:
            KanervaError: there is no such memory.

        """
        with self._lock:
            path = file_of(name, self.path)
            with contextlib.suppress(DamagedFileError), self._memory(name).database.writing():
                pass  # nobody writes it now
            memory = self._open.pop(path, None)
            if memory is not None:
                memory.close()
            for file in files_of(path):
                file.unlink(missing_ok=True)

    def purge(self, name: str) -> bool:
        """Remove every trace of deleted items from all files of a memory, and free their space.

        `forget` does it already, unless `purge=False`. It takes time that grows with the file.

        Args:
            name: the memory.

        Returns:
            Whether it is done; False if another process was reading all the time.

        """
        return self._memory(name).database.purge()

    def info(self, name: str, *, verify: bool = False) -> MemoryInfo:
        """What a memory is and holds.

        Args:
            name: the memory.
            verify: check all checksums, rebuild the memory from its ledger, and report the
                distance.

        Returns:
            Sizes, counts, fingerprint and state.

        Raises:
            KanervaError: the file is damaged.

        """
        check_bool("verify", verify, fix="Pass True or False.")
        memory, config = self._memory(name), self._memory(name).config
        distance = distance_to_rebuilt(memory) if verify else None
        with memory.database.reading() as connection:
            num_items, state = memory.num_items(connection), memory.state(connection)
        model = config.coder.get("model")
        return MemoryInfo(
            name=memory.name,
            kind=config.kind,
            num_items=num_items,
            num_rows=config.num_rows * config.num_blocks,
            num_blocks=config.num_blocks,
            code_size=config.code_size,
            ledger=config.ledger,
            half_life=config.half_life,
            dtype=config.dtype,
            model=model if isinstance(model, str) else None,
            fingerprint=config.fingerprint,
            state=state,
            num_bytes=memory.database.size(),
            distance=distance if config.ledger else None,
        )

    def receipts(self, name: str) -> list[dict[str, object]]:
        """The newest 1,000 receipts of deletions by id, the oldest first, without the ids.

        Args:
            name: the memory.

        Returns:
            How many items were deleted, when, and the states before and after.

        """
        return self._memory(name).receipts()

    def memory(self, name: str, *, block: int = 0, now: float | None = None) -> MemoryState:
        """The memory itself, for `km.read`, `predict` and all other functions.

        Args:
            name: the memory.
            block: which block of a memory of vectors.
            now: the time for a memory that fades; by default now.

        Returns:
            The posterior p(M | W, Z) of everything that is written.

        """
        memory = self._memory(name)
        most = memory.config.num_blocks - 1
        check_integer("block", block, at_least=0, at_most=most, fix="Use 0.")
        state = memory.block(block, now=checked_time(now, clock.time(), "now")).memory
        return state.to(memory.dtype)

    def export(self, name: str, path: str | Path) -> None:
        """Write the sums of a memory to one safetensors file, to move it or to merge it elsewhere.

        Args:
            name: the memory.
            path: the file, which ends in .safetensors. It has a schema version, the fingerprint,
                counts and a checksum, and no single items. An existing one is replaced.

        Raises:
            KanervaError: the file cannot be written.

        """
        target = check_path("path", path)
        if target.suffix != ".safetensors":
            raise KanervaError(
                "path",
                expected="a file name that ends in .safetensors",
                got=f"'{target}'",
                fix=f"Write '{target.stem or 'memory'}.safetensors'.",
            )
        memory = self._memory(name)
        with memory.database.reading() as connection:
            blocks = {
                number: memory.sums.load(connection, number)
                for number in memory.sums.numbers(connection)
            }
            write_snapshot(target, memory.config, blocks, state=memory.state(connection))

    def _path(self, name: str) -> Path:
        return self.path / f"{checked_name(name)}{ENDING}"

    def _memory(self, name: str | Path) -> StoredMemory:
        """A memory of this store by its name, or another one by its path."""
        path = file_of(name, self.path)
        with self._lock:
            memory = self._open.get(path)
            if memory is not None and not memory.database.is_current():  # deleted by another
                memory.close()
                del self._open[path]
                memory = None
            if memory is None:
                memory = StoredMemory(
                    path.name.removesuffix(ENDING),
                    path,
                    timeout=self.timeout,
                    make_coder=lambda config: make_coder(config, self._model),
                )
                self._open[path] = memory
            return memory
