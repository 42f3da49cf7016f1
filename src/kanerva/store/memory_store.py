"""Named memories on disk: the public face of this package."""

import time as clock
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from kanerva.checks import check_bool, check_integer, check_number
from kanerva.data.progress import progress_bar
from kanerva.errors import KanervaError
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.store.attribution import attributions
from kanerva.store.batches import Batches, ItemSource
from kanerva.store.deleting import forget_ids, forget_items
from kanerva.store.item_coder import Items, Reading, reading_of
from kanerva.store.item_rows import Payload
from kanerva.store.memory_config import checked_time
from kanerva.store.merging import merge_into, open_sources
from kanerva.store.records import Attribution, Receipt, Written
from kanerva.store.store_folder import StoreFolder
from kanerva.store.writing import ItemFacts, novelty_of, write_all


class MemoryStore(StoreFolder):
    """Named memories on disk, in one folder. `kanerva.open(path)` makes one.

    A memory holds images, with a trained model, or vectors, without training. What was written is
    on disk when `write` returns; a crash or `kill -9` loses nothing that returned. Many processes
    read while one writes. A memory can be used from several threads. Sums are exact (whole
    numbers), so deleting, merging and the order of writes leave no trace. A store that is pickled,
    for another process, opens the same folder again there.

    Example:
        >>> import tempfile
        >>> import torch
        >>> import kanerva
        >>> from kanerva.store import plan_vectors
        >>> vectors = torch.randn(12, 64, generator=torch.Generator().manual_seed(0))
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = kanerva.open(folder.name)
        >>> store.create("notes", plan=plan_vectors(20, 64), ledger=True)
        >>> store.names()
        ['notes']
        >>> ids = store.write("notes", vectors[:10], labels=list("abcdefghij")).ids
        >>> store.read("notes", vectors[9:11]).known
        tensor([ True, False])
        >>> store.attribute("notes", vectors[:1])[0].labels[0]
        'a'
        >>> bool(store.novelty("notes", vectors[:1]) < store.novelty("notes", vectors[10:11]))
        True
        >>> store.forget("notes", ids[:3], verify=True).distance
        0.0
        >>> len(store.receipts("notes"))
        1
        >>> store.create_like("more", ["notes"])
        >>> written = store.write("more", vectors[10:])
        >>> state = store.merge("notes", ["more"])
        >>> store.info("notes").num_items
        9
        >>> store.memory("notes").num_rows == plan_vectors(20, 64).num_rows
        True
        >>> store.export("notes", f"{folder.name}/notes.safetensors")
        >>> store.purge("notes")
        True
        >>> store.delete("more")
        >>> store.close()
        >>> folder.cleanup()

    """

    def __reduce__(self):
        return _opened_again, (self.path, self._model, self.timeout)

    def write(
        self,
        name: str,
        items: ItemSource,
        *,
        values: ItemSource | None = None,
        ids: Iterable[str] | None = None,
        labels: Iterable[str | None] | None = None,
        payloads: Iterable[Payload] | None = None,
        time: float | None = None,
        skip_below: float | None = None,
        show_progress: bool = False,
    ) -> Written:
        """Write images or vectors, and return their ids and counts.

        Each batch is on disk, whole or not at all, before the next one is read.

        Args:
            name: the memory.
            items: images (T, channels, H, W) or vectors (T, size): a tensor, an array, the path of
                a .npy file, or an iterable of tensors or arrays, of which each is one batch. An
                array is written in batches of 4,096.
            values: what belongs to the vectors, which are then keys; in the same form.
            ids: ids of the items; by default random ones. Only with a ledger, as `labels` and
                `payloads`.
            labels: words for each item.
            payloads: what belongs to an item: a reference such as a path, or bytes.
            time: when the items were written, in seconds since 1970; by default now.
            skip_below: leave out items from which the memory would learn less than this, in nats
                (see `novelty`): duplicates.
            show_progress: show a progress bar if stderr is a terminal.

        Returns:
            The ids, how many items were written, and which were left out.

        Raises:
            KanervaError: an argument is wrong, another process is writing, or the disk is full. The
                batch is then not written at all. Arrays, tensors and files are checked before
                anything is written. If batches before it were written, as those of an iterator, it
                is a `PartlyWrittenError`, which says how many.

        """
        memory = self._memory(name)
        if skip_below is not None:
            check_number("skip_below", skip_below, at_least=0, fix="Pass nats, as novelty returns.")
        check_bool("show_progress", show_progress, fix="Pass True or False.")
        batches = Batches(items, values)
        facts = ItemFacts(memory, batches.total, ids=ids, labels=labels, payloads=payloads)
        now = checked_time(time, clock.time())
        with progress_bar("writing", total=batches.total, show=show_progress) as advance:
            return write_all(
                memory, batches, facts, time=now, skip_below=skip_below, advance=advance
            )

    def read(
        self,
        name: str,
        cues: Items,
        *,
        threshold: float = 0.5,
        num_readings: int | None = None,
        now: float | None = None,
    ) -> Reading:
        """Read what a memory holds for cues, with a confidence for each.

        Args:
            name: the memory.
            cues: images or vectors, damaged or not; keys, if values are stored.
            threshold: the confidence from which on an answer is given. Cues below it are not in
                memory: `known` is False for them.
            num_readings: how often to read images; by default until nothing moves. Not for
                vectors.
            now: the time of reading for a memory that fades; by default now. Items with a later
                time count in full.

        Returns:
            Items, confidence, and which cues are known.

        Raises:
            KanervaError: an argument is wrong, or the file is damaged.

        """
        memory = self._memory(name)
        check_number("threshold", threshold, at_least=0, at_most=1, fix="0.5 is a good start.")
        if num_readings is not None:
            check_integer("num_readings", num_readings, at_most=1000, fix="Leave it out.")
        when = checked_time(now, clock.time(), "now")
        answer = memory.coder.read(
            cues, lambda number: memory.block(number, now=when), num_readings=num_readings
        )
        return reading_of(answer, threshold=threshold, dtype=memory.dtype)

    def novelty(self, name: str, items: Items, *, now: float | None = None) -> Tensor:
        """How much a memory would learn from each item, in nats, if it were written.

        Args:
            name: the memory.
            items: images or vectors.
            now: the time for a memory that fades; by default now.

        Returns:
            The information gain of each item given the memory and the items before it, (T,), in
            nats: C / 2 ln(1 + w' U w / s2). What was written before has at most C / 2 ln 2.

        """
        memory = self._memory(name)
        encoded = memory.coder.without_values(items)
        return torch.from_numpy(
            novelty_of(memory, encoded, now=checked_time(now, clock.time(), "now"))
        )

    def attribute(
        self, name: str, cues: Items, *, num_readings: int | None = None, now: float | None = None
    ) -> list[Attribution]:
        """Split the reading of each cue into the parts that items and the prior gave to it.

        Needs a ledger.

        Args:
            name: the memory.
            cues: images or vectors.
            num_readings: how often to read images, as in `read`.
            now: the time for a memory that fades; by default now.

        Returns:
            For each cue the signed contributions c_t = (w' U w_t / s2) z_t of all items of its
            block, the strongest first, and the prior's part. Their sum is the reading.

        """
        memory, when = self._memory(name), checked_time(now, clock.time(), "now")
        reading = self.read(name, cues, num_readings=num_readings, now=when)
        return attributions(memory, reading.weights, reading.blocks, now=when)

    def forget(
        self,
        name: str,
        ids: Sequence[str] | None = None,
        *,
        items: Items | None = None,
        values: Items | None = None,
        time: float | None = None,
        verify: bool = False,
        purge: bool = True,
    ) -> Receipt:
        """Delete items of a memory as if they had never been written, and return the receipt.

        Args:
            name: the memory.
            ids: with a ledger: the ids to delete. Their rows and payloads go too.
            items: without a ledger: the items themselves.
            values: the values of those items, if they are keys.
            time: when the items were written; a memory that fades without a ledger needs it.
            verify: rebuild the memory from its ledger and report the distance.
            purge: also remove every trace from all files. This takes time that grows with the
                file; for many single deletions pass False and call `purge` once.

        Returns:
            The receipt.

        Raises:
            KanervaError: an id is unknown or was deleted before, or the items cannot have been
                written. Nothing is deleted then.

        """
        memory = self._memory(name)
        check_bool("verify", verify, fix="Pass True or False.")
        check_bool("purge", purge, fix="Pass True or False.")
        if (ids is None) == (items is None):
            raise KanervaError(
                "ids",
                expected="ids (with a ledger) or items (without one)",
                got="neither" if ids is None else "both",
                fix="Pass store.forget(name, ids) or store.forget(name, items=...).",
            )
        if items is not None:
            if verify:
                raise KanervaError(
                    "verify",
                    expected="a memory with a ledger, from which it can be rebuilt",
                    got=f"'{name}', which has none",
                    fix="Leave verify out.",
                )
            return forget_items(memory, items, values, time=time, purge=purge)
        assert ids is not None
        if values is not None or time is not None:
            raise KanervaError(
                "values" if values is not None else "time",
                expected="ids alone: the ledger knows the rest",
                got="more",
                fix="Leave it out.",
            )
        return forget_ids(memory, ids, verify=verify, purge=purge)

    def merge(self, name: str, sources: Sequence[str | Path]) -> str:
        """Merge other memories into a named one, exactly, and return the checksum of its new state.

        Args:
            name: the memory to merge into.
            sources: memories of this store by name, others by path, and exported .safetensors
                files. They are not changed. All must have the same model or plan.

        Returns:
            The new state, a checksum.

        Raises:
            KanervaError: memories do not fit, or an id occurs twice. Nothing is changed then.

        """
        target = self._memory(name)
        return merge_into(target, open_sources(sources, self._memory))


def _opened_again(path: Path, model: KanervaMachine | str | None, timeout: float) -> MemoryStore:
    return MemoryStore(path, model=model, timeout=timeout)
