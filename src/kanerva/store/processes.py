"""More than one process: each adds up its own items, and all sums are added at the end.

Sums are exact, so the result is the memory that one process would have made, bit for bit.
"""

import contextlib
import time as clock
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from kanerva.data.progress import progress_bar
from kanerva.errors import KanervaError
from kanerva.memory import Evidence
from kanerva.store.batches import Batches, ItemSource
from kanerva.store.block_sums import SumsOfBlock
from kanerva.store.exact_sums import ExactSums, RoundedItems, carry
from kanerva.store.item_rows import Facts, Rows, joined
from kanerva.store.memory_config import checked_time
from kanerva.store.memory_store import MemoryStore
from kanerva.store.stored_memory import StoredMemory
from kanerva.store.writing import rounded_rows

ROWS_AT_ONCE = 16_384
"""Rows that are collected before they are added to the sums."""
SQUARE_PARTS, PART_BITS = 6, 40
"""The sum of squares travels in parts, so that many processes can add them in 64 bits."""


def reduce_evidence(evidence: Evidence) -> Evidence:
    """Add the evidence of all processes of a `torchrun` job.

    Every process calls it with its own evidence and gets the sum. With the gloo backend evidence is
    on the CPU, with nccl on a GPU. Without `torch.distributed` the evidence comes back as it is.

    Args:
        evidence: what this process wrote.

    Returns:
        What all processes wrote.

    Example:
        >>> import torch
        >>> from kanerva import Evidence
        >>> from kanerva.store import reduce_evidence
        >>> reduce_evidence(Evidence.of(torch.eye(2), torch.ones(2, 1))).count
        2

    """
    if not isinstance(evidence, Evidence):
        raise KanervaError(
            "evidence",
            expected="evidence",
            got=type(evidence).__name__,
            fix="Pass what Evidence.of or km.evidence returned.",
        )
    if not dist.is_initialized():
        return evidence
    squares = evidence.squares
    known = torch.tensor([evidence.count, squares is not None], device=evidence.gram.device)
    dist.all_reduce(known)
    everywhere = int(known[1]) == dist.get_world_size()
    gram, cross = evidence.gram.clone(), evidence.cross.clone()
    for part in (gram, cross):
        dist.all_reduce(part)
    if squares is not None and everywhere:
        squares = squares.clone()
        dist.all_reduce(squares)
    return Evidence(gram, cross, int(known[0]), squares=squares if everywhere else None)


def write_together(
    store: MemoryStore,
    name: str,
    items: ItemSource,
    *,
    values: ItemSource | None = None,
    time: float | None = None,
    show_progress: bool = False,
) -> str:
    """Write items from all processes of a `torchrun` job into one memory without a ledger.

    Every process calls it with items of its own. It keeps only sums in memory, however many items
    there are. At the end all sums are added, and the process with rank 0 writes them in one
    transaction.

    Args:
        store: the store, opened in every process.
        name: a memory without a ledger, which exists before the call.
        items: the items of this process, as in `MemoryStore.write`.
        values: their values, if they are keys.
        time: when they were written; by default now, by the clock of rank 0.
        show_progress: show a progress bar if stderr is a terminal.

    Returns:
        The new state of the memory, the same in every process.

    Raises:
        KanervaError: the memory has a ledger, or an item is wrong.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import kanerva
        >>> from kanerva.store import plan_vectors, write_together
        >>> with tempfile.TemporaryDirectory() as folder, kanerva.open(folder) as store:
        ...     store.create("notes", plan=plan_vectors(20, 8))
        ...     state = write_together(store, "notes", np.eye(8))
        ...     store.info("notes").num_items
        8

    """
    with _all_or_none():
        memory = _checked_memory(store, name)
        batches = Batches(items, values)
        when = checked_time(time, clock.time())
    when, config = _shared((when, memory.config.merges_with))
    with _all_or_none():
        if config != memory.config.merges_with:
            raise KanervaError(
                "store",
                expected=f"the same memory '{name}' in every process",
                got="another model, plan or half-life than in the first process",
                fix="Create it once, in a folder that all processes see.",
            )
    epoch = memory.config.epoch_of(when)
    blocks: dict[int, SumsOfBlock] = {}
    with _all_or_none():
        _add_up(memory, batches, blocks, when, show_progress=show_progress)
    return _merge_all(memory, blocks, epoch)


def _checked_memory(store: MemoryStore, name: str) -> StoredMemory:
    if not isinstance(store, MemoryStore):
        raise KanervaError(
            "store",
            expected="a store",
            got=type(store).__name__,
            fix="Pass what kanerva.open(path) returned.",
        )
    memory = store._memory(name)
    if memory.config.ledger:
        raise KanervaError(
            "name",
            expected="a memory without a ledger: only sums travel between processes",
            got=f"'{name}', which has one",
            fix="Let each process write a memory of its own, and merge them: store.merge.",
        )
    return memory


def _add_up(
    memory: StoredMemory,
    batches: Batches,
    blocks: dict[int, SumsOfBlock],
    when: float,
    *,
    show_progress: bool,
) -> None:
    """Add all items of this process to sums in memory."""
    epoch = memory.config.epoch_of(when)
    waiting: list[Rows] = []
    with progress_bar("writing", total=batches.total, show=show_progress) as advance:
        for batch in batches:
            encoded = memory.coder.encode(batch.items, batch.values, first=batch.first)
            facts = [Facts(None, when, None, None)] * len(encoded.blocks)
            waiting.append(rounded_rows(memory, encoded, facts, when))
            if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                _add_all(memory, blocks, joined(waiting), epoch)
                waiting = []
            advance(len(facts))
    if waiting:
        _add_all(memory, blocks, joined(waiting), epoch)


def _add_all(memory: StoredMemory, blocks: dict[int, SumsOfBlock], rows: Rows, epoch: int) -> None:
    """Add rows to the sums of their blocks, in large parts: small ones cost more than they do."""
    order = np.argsort(rows.blocks, kind="stable")
    numbers, starts = np.unique(rows.blocks[order], return_index=True)
    for number, chosen in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        sums = blocks.setdefault(number, {}).setdefault(epoch, memory.sums.new_sums())
        items = RoundedItems(rows.items.weights[chosen], rows.items.codes[chosen])
        sums.add(items, memory.config.grid)


def _merge_all(memory: StoredMemory, blocks: dict[int, SumsOfBlock], epoch: int) -> str:
    """Add the sums of all processes block by block; rank 0 writes them."""
    rank = dist.get_rank() if dist.is_initialized() else 0
    used = torch.zeros(memory.config.num_blocks, dtype=torch.int64)
    used[list(blocks)] = 1
    total: list[tuple[int, ExactSums]] = []
    for block in _added_up(used).nonzero()[:, 0].tolist():
        own = blocks.pop(block, {}).get(epoch)
        sums = _reduced(memory.sums.new_sums() if own is None else own)
        if rank == 0:
            total.append((block, sums))
    state = ""
    with _all_or_none():
        if rank == 0:
            with memory.writing() as connection:
                for block, sums in total:
                    memory.merge(connection, block, [({epoch: sums}, None)])
                state = memory.state(connection)
    return _shared(state)


def _reduced(sums: ExactSums) -> ExactSums:
    """The sums of all processes in the process with rank 0; in others the result is not used."""
    if not dist.is_initialized():
        return sums
    mask = (1 << PART_BITS) - 1
    parts = [(sums.squares >> (PART_BITS * index)) & mask for index in range(SQUARE_PARTS)]
    gram, cross = (_in_rank_0(torch.from_numpy(part)).numpy() for part in (sums.gram, sums.cross))
    carry(gram)
    carry(cross)
    numbers = _in_rank_0(torch.tensor([sums.count, *parts])).tolist()
    squares = sum(part << (PART_BITS * index) for index, part in enumerate(numbers[1:]))
    return ExactSums(gram, cross, squares, numbers[0])


def _in_rank_0(tensor: Tensor) -> Tensor:
    """The sum over all processes, on the CPU of rank 0; nccl adds on the GPU."""
    moved = tensor.cuda() if dist.get_backend() == "nccl" else tensor
    dist.reduce(moved, 0)
    return moved.cpu()


def _added_up(tensor: Tensor) -> Tensor:
    """The sum over all processes, in every process."""
    if not dist.is_initialized():
        return tensor
    moved = tensor.cuda() if dist.get_backend() == "nccl" else tensor.clone()
    dist.all_reduce(moved)
    return moved.cpu()


Value = TypeVar("Value")


def _shared(value: Value) -> Value:
    """The value of rank 0, in every process."""
    if not dist.is_initialized():
        return value
    answer = [value]
    dist.broadcast_object_list(answer, src=0)
    return answer[0]


@contextlib.contextmanager
def _all_or_none() -> Iterator[None]:
    """A step that succeeds in all processes or fails in all: none waits for one that has failed."""
    own: Exception | None = None
    try:
        yield
    except Exception as error:
        own = error
    if dist.is_initialized():
        found: list[str | None] = [None] * dist.get_world_size()
        dist.all_gather_object(found, None if own is None else f"{type(own).__name__}: {own}")
        failed = [rank for rank, text in enumerate(found) if text is not None]
        if own is None and failed:
            raise KanervaError(
                "items",
                expected="all processes to get to the end",
                got=f"an error in process {failed[0]}: {found[failed[0]]}",
                fix="Nothing was written. Correct that one, and start all of them again.",
            )
    if own is not None:
        raise own
