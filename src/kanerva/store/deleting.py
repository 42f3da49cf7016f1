"""Deleting items from a stored memory, exactly, and proving it."""

import sqlite3
import time as clock
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from kanerva.errors import KanervaError
from kanerva.memory.statistics import check_remainder, largest_entries
from kanerva.store.block_sums import SumsOfBlock
from kanerva.store.item_coder import Items
from kanerva.store.item_rows import Facts, Rows
from kanerva.store.memory_config import checked_time
from kanerva.store.records import Receipt
from kanerva.store.stored_memory import StoredMemory
from kanerva.store.writing import is_text, rounded_rows


def forget_ids(memory: StoredMemory, ids: Sequence[str], *, verify: bool, purge: bool) -> Receipt:
    """Delete items of the ledger by their ids."""
    chosen = _checked_ids(memory, ids)
    now = clock.time()
    with memory.writing() as connection:
        rows = memory.rows_by_id(connection, chosen)
        before = memory.state(connection)
        memory.subtract(connection, rows)
        after = memory.state(connection)
        kept = {"num_items": len(rows), "time": now, "before": before, "after": after}
        memory.keep_receipt(connection, kept, chosen)
    return _receipt(memory, chosen, len(rows), now, before, after, verify=verify, purge=purge)


def forget_items(
    memory: StoredMemory,
    items: Items,
    values: Items | None,
    *,
    time: float | None,
    purge: bool,
) -> Receipt:
    """Delete items from a memory without a ledger: they are presented again."""
    if memory.config.ledger:
        raise KanervaError(
            "items",
            expected=f"ids: '{memory.name}' has a ledger, which knows what was written",
            got="items",
            fix="Pass their ids: store.forget(name, ids).",
        )
    now = clock.time()
    if memory.config.half_life is not None and time is None:
        raise KanervaError(
            "time",
            expected="the time at which the items were written: this memory fades and has no "
            "ledger to look it up",
            got="none",
            fix="Pass time=..., the time of that write.",
        )
    if memory.config.half_life is None and time is not None:
        raise KanervaError(
            "time",
            expected="a memory that fades, in which the time of a write counts",
            got=f"'{memory.name}', which does not fade",
            fix="Leave the time out.",
        )
    encoded = memory.coder.encode(items, values)
    facts = [Facts(None, now, None, None)] * len(encoded.blocks)
    rows = rounded_rows(memory, encoded, facts, checked_time(time, now))
    with memory.writing() as connection:
        before = memory.state(connection)
        _check_possible(memory, connection, rows)
        memory.subtract(connection, rows)
        after = memory.state(connection)
    return _receipt(memory, [], len(rows), now, before, after, verify=False, purge=purge)


def distance_to_rebuilt(memory: StoredMemory) -> float:
    """How far the memory is from one rebuilt from its ledger, relative to the rebuilt mean.

    All checksums are verified on the way.
    """
    memory.database.check()
    now, worst = clock.time(), 0.0
    with memory.database.reading() as connection:
        memory.sums.forget_cache()
        for block in memory.sums.numbers(connection):
            mine = memory.sums.load(connection, block)
            if not memory.config.ledger:
                continue
            rebuilt: SumsOfBlock = {}
            memory.sums.add(rebuilt, memory.sums.rows_of(connection, block))
            worst = max(worst, _distance(memory, mine, rebuilt, now))
    return worst


def _distance(memory: StoredMemory, mine: SumsOfBlock, other: SumsOfBlock, now: float) -> float:
    filled = [{epoch: one for epoch, one in sums.items() if one.count} for sums in (mine, other)]
    if filled[0].keys() == filled[1].keys() and all(
        one.equals(filled[1][epoch]) for epoch, one in filled[0].items()
    ):
        return 0.0
    left, right = (memory.posterior(sums, now=now).memory._mean for sums in filled)
    return ((left - right).norm() / right.norm().clamp_min(1e-300)).item()


def _receipt(
    memory: StoredMemory,
    ids: Sequence[str],
    num_items: int,
    time: float,
    before: str,
    after: str,
    *,
    verify: bool,
    purge: bool,
) -> Receipt:
    distance = distance_to_rebuilt(memory) if verify else None
    return Receipt(
        memory=memory.name,
        ids=tuple(ids),
        num_items=num_items,
        time=time,
        before=before,
        after=after,
        distance=distance,
        purged=memory.database.purge() if purge else False,
    )


def _checked_ids(memory: StoredMemory, ids: Sequence[str]) -> list[str]:
    if not memory.config.ledger:
        raise KanervaError(
            "ids",
            expected=f"items: '{memory.name}' has no ledger, so it knows no ids",
            got="ids",
            fix="Present the items again: store.forget(name, items=...).",
        )
    if not isinstance(ids, Iterable) or isinstance(ids, bytes | dict | torch.Tensor):
        raise KanervaError(
            "ids", expected="a list of ids", got=type(ids).__name__, fix="Pass what write returned."
        )
    if isinstance(ids, np.ndarray):
        ids = ids.reshape(-1).tolist()
    chosen = [ids] if isinstance(ids, str) else list(ids)
    for one in chosen:
        if not isinstance(one, str) or not is_text(one):
            raise KanervaError(
                "ids", expected="text", got=repr(one)[:80], fix="Pass what write returned."
            )
    if len(set(chosen)) < len(chosen):
        twice = next(one for index, one in enumerate(chosen) if one in chosen[:index])
        raise KanervaError(
            "ids", expected="each id once", got=f"{twice!r} twice", fix="Keep one of them."
        )
    return chosen


def _check_possible(memory: StoredMemory, connection: sqlite3.Connection, rows: Rows) -> None:
    """Refuse to subtract what cannot have been written, as `Evidence` does."""
    for place, which in rows.places():
        sums = memory.sums.load(connection, place.block).get(place.epoch, memory.sums.new_sums())
        rest = sums.copy()
        rest.add(rows.items.select(which), memory.config.grid, sign=-1)
        before, after = (one.to_float(memory.config.grid) for one in (sums, rest))
        history = largest_entries(*_tensors(before))
        try:
            check_remainder(*_tensors(after), rest.count, history)
        except KanervaError as error:
            raise _never_written(f"others: they would leave {error.got}") from None
        if rest.count == 0 and not rest.is_zero():
            raise _never_written("others, which differ a little")


def _never_written(got: str) -> KanervaError:
    return KanervaError(
        "items",
        expected="exactly the items that were written",
        got=got,
        fix="Nothing was deleted. Present them as they were written; computed items may differ on "
        "another machine or with another version of a library.",
    )


def _tensors(statistics: tuple) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gram, cross, squares = statistics
    as_tensor = torch.tensor(squares, dtype=torch.float64)
    return torch.from_numpy(gram), torch.from_numpy(cross), as_tensor
