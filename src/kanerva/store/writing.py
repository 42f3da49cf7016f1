"""Writing items into a stored memory: encode, leave out what is known, append."""

import secrets
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kanerva.errors import KanervaError
from kanerva.store.batches import Batch, check_all_used, next_of
from kanerva.store.item_coder import EncodedItems
from kanerva.store.item_rows import Facts, Payload, Rows
from kanerva.store.novelty import information_gains
from kanerva.store.records import Written
from kanerva.store.stored_memory import StoredMemory


class ItemFacts:
    """Ids, labels and payloads of the items to come, checked as they are used."""

    def __init__(
        self,
        memory: StoredMemory,
        ids: Iterable[str] | None,
        labels: Iterable[str | None] | None,
        payloads: Iterable[Payload] | None,
    ) -> None:
        self.given = {
            argument: None if facts is None else iter(facts)
            for argument, facts in (("ids", ids), ("labels", labels), ("payloads", payloads))
        }
        for argument, facts in self.given.items():
            if facts is not None and not memory.config.ledger:
                raise KanervaError(
                    argument,
                    expected="a memory with a ledger, which keeps them",
                    got=f"'{memory.name}', which has none",
                    fix=f"Leave {argument} out, or create the memory with ledger=True.",
                )
        self.ledger = memory.config.ledger

    def check_all_used(self) -> None:
        """Refuse facts that belong to no item."""
        for argument, facts in self.given.items():
            check_all_used(facts, argument)

    def take(self, count: int, time: float) -> list[Facts]:
        """The facts of the next items."""
        ids, labels, payloads = (
            next_of(facts, count, argument) for argument, facts in self.given.items()
        )
        if self.given["ids"] is None and self.ledger:
            drawn = secrets.token_hex(8 * count)
            ids = [drawn[start : start + 16] for start in range(0, len(drawn), 16)]
        for argument, values, kinds in (
            ("ids", ids if self.ledger else [], str),
            ("labels", labels, str | None),
            ("payloads", payloads, str | bytes | None),
        ):
            for value in values:
                if not isinstance(value, kinds) or value == "":
                    raise KanervaError(
                        argument,
                        expected="text" if argument != "payloads" else "text, bytes or None",
                        got=repr(value)[:80],
                        fix="Convert each to str.",
                    )
        return [Facts(*facts) for facts in zip(ids, [time] * count, labels, payloads, strict=True)]


def write_batch(
    memory: StoredMemory,
    batch: Batch,
    facts: ItemFacts,
    *,
    time: float,
    skip_below: float | None,
    first: int,
) -> Written:
    """Write one batch in one transaction. `first` is the position of its first item."""
    encoded = memory.coder.encode(batch.items, batch.values)
    own_facts = facts.take(len(encoded.blocks), time)
    keep = np.ones(len(encoded.blocks), bool)
    if skip_below is not None:
        keep = novelty_of(memory, encoded, now=time, at_least=skip_below) >= skip_below
    rows = rounded_rows(memory, encoded, own_facts, time)
    if not keep.all():
        rows = rows.select(keep)
    if len(rows):
        memory.append(rows)
    ids = [one.id for one in rows.facts if one.id is not None]
    skipped = [first + int(position) for position in np.nonzero(~keep)[0]]
    return Written(ids, len(rows), skipped)


def rounded_rows(
    memory: StoredMemory, encoded: EncodedItems, facts: list[Facts], time: float
) -> Rows:
    """Items as they are written: rounded to the memory's steps."""
    config = memory.config
    scale, weights, codes = config.scale_at(time), encoded.weights, encoded.codes
    if scale != 1:
        weights, codes = scale * weights, scale * codes
    items = config.grid.rounded(weights, codes)
    epochs = np.full(len(facts), config.epoch_of(time), np.int64)
    return Rows(facts, encoded.blocks, epochs, items)


def novelty_of(
    memory: StoredMemory, encoded: EncodedItems, *, now: float, at_least: float = 0.0
) -> NDArray[np.float64]:
    """Nats that the memory would learn from each item, (T,), given those before it."""
    gains = np.zeros(len(encoded.blocks))
    for number in np.unique(encoded.blocks).tolist():
        which = encoded.blocks == number
        block = memory.block(number, now=now)
        gains[which] = information_gains(
            encoded.weights[which],
            block.memory.row_cov.dense().numpy(),
            noise_var=memory.config.noise_var,
            code_size=memory.config.code_size,
            at_least=at_least,
        )
    return gains
