"""Writing items into a stored memory: encode, leave out what is known, append."""

import secrets
from collections.abc import Callable, Iterable, Mapping, Set

import numpy as np
import torch
from numpy.typing import NDArray

from kanerva.errors import KanervaError
from kanerva.store.batches import Batch, Batches, check_all_used, next_of, unequal_facts
from kanerva.store.item_coder import EncodedItems
from kanerva.store.item_rows import Facts, Payload, Rows
from kanerva.store.novelty import information_gains
from kanerva.store.records import Written, partly_written
from kanerva.store.stored_memory import StoredMemory
from kanerva.store.uninterrupted import uninterrupted

KINDS = {"ids": str, "labels": str | None, "payloads": str | bytes | None}
WORDS = {"ids": "text", "labels": "text or None", "payloads": "text, bytes or None"}


class ItemFacts:
    """Ids, labels and payloads of the items to come, checked as they are used."""

    def __init__(
        self,
        memory: StoredMemory,
        total: int | None,
        *,
        ids: Iterable[str] | None,
        labels: Iterable[str | None] | None,
        payloads: Iterable[Payload] | None,
    ) -> None:
        self.given: dict[str, object] = {}
        self.ledger = memory.config.ledger
        for argument, facts in (("ids", ids), ("labels", labels), ("payloads", payloads)):
            if facts is not None and not self.ledger:
                raise KanervaError(
                    argument,
                    expected="a memory with a ledger, which keeps them",
                    got=f"'{memory.name}', which has none",
                    fix=f"Leave {argument} out, or create the memory with ledger=True.",
                )
            if isinstance(facts, np.ndarray) and facts.ndim == 1:
                facts = facts.tolist()
            check_one_each(argument, facts)
            if isinstance(facts, list | tuple):
                if total is not None and len(facts) != total:
                    raise unequal_facts(argument, f"{len(facts):,} for {total:,} items")
                _check_kinds(argument, facts)
                if argument == "ids":
                    memory.check_new_ids([str(one) for one in facts])
            self.given[argument] = facts
        self.iterators = {
            argument: None if facts is None else iter(facts)  # pyright: ignore
            for argument, facts in self.given.items()
        }

    def check_all_used(self) -> None:
        """Refuse facts that belong to no item."""
        for argument, facts in self.iterators.items():
            check_all_used(facts, argument)

    def take(self, count: int, time: float) -> list[Facts]:
        """The facts of the next items."""
        ids, labels, payloads = (
            next_of(facts, count, argument) for argument, facts in self.iterators.items()
        )
        if self.given["ids"] is None and self.ledger:
            drawn = secrets.token_hex(8 * count)
            ids = [drawn[start : start + 16] for start in range(0, len(drawn), 16)]
        facts: dict[str, list] = {"ids": ids, "labels": labels, "payloads": payloads}
        for argument, values in facts.items():
            if self.given[argument] is not None:
                _check_kinds(argument, values)
                facts[argument] = [_plain(value) for value in values]
        ids, labels, payloads = facts.values()
        return [Facts(*one) for one in zip(ids, [time] * count, labels, payloads, strict=True)]


def check_one_each(argument: str, facts: object) -> None:
    """Refuse what is not several facts in an order of its own: a word, or a set."""
    no = str | bytes | bytearray | Mapping | Set | np.ndarray | torch.Tensor
    if facts is not None and (not isinstance(facts, Iterable) or isinstance(facts, no)):
        raise KanervaError(
            argument,
            expected="one for each item, in order",
            got=type(facts).__name__,
            fix=f"Pass a list: [{argument[:-1]}, ...].",
        )


def _check_kinds(argument: str, values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, KINDS[argument]) and value != "":
            if not isinstance(value, str) or is_text(value):
                continue
            got = f"{value!r}, which is not valid Unicode"
        else:
            got = repr(value)
        raise KanervaError(
            argument, expected=WORDS[argument], got=got[:80], fix="Convert each to str."
        )


def _plain(value: Payload) -> Payload:
    """The same as an ordinary str or bytes: texts of NumPy and of enums are kinds of str."""
    if isinstance(value, str):
        return str.__str__(value)
    return None if value is None else bytes(value)


def is_text(value: str) -> bool:
    """Whether it can be stored: half of a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_all(
    memory: StoredMemory,
    batches: Batches,
    facts: ItemFacts,
    *,
    time: float,
    skip_below: float | None,
    advance: Callable[[int], None],
) -> Written:
    """Write all batches, each in one transaction; an error says how much was written."""
    if batches.can_be_checked_first:  # then a mistake is found before anything is written
        for batch in batches:
            memory.coder.check(batch.items, batch.values, first=batch.first)
    done = Written([], 0, [])
    try:
        for batch in batches:
            rows, skipped = new_rows(memory, batch, facts, time=time, skip_below=skip_below)
            with uninterrupted():
                if len(rows):
                    memory.append(rows)
                done.ids.extend(one.id for one in rows.facts if one.id is not None)
                done.skipped.extend(skipped)
                done = done._replace(num_written=done.num_written + len(rows))
            advance(len(batch.items))
        facts.check_all_used()
    except KanervaError as error:
        if not done.num_written:
            raise
        raise partly_written(error, done) from None
    except BaseException as error:  # of an iterator, or Ctrl-C
        if done.num_written:
            error.add_note(f"kanerva: {done.num_written:,} items were written before this.")
            vars(error)["written"] = done
        raise
    return done


def new_rows(
    memory: StoredMemory,
    batch: Batch,
    facts: ItemFacts,
    *,
    time: float,
    skip_below: float | None,
) -> tuple[Rows, list[int]]:
    """What one transaction is to write of a batch, and the positions of what it leaves out."""
    encoded = memory.coder.encode(batch.items, batch.values, first=batch.first)
    own_facts = facts.take(len(encoded.blocks), time)
    keep = np.ones(len(encoded.blocks), bool)
    if skip_below is not None:
        keep = novelty_of(memory, encoded, now=time, at_least=skip_below) >= skip_below
    rows = rounded_rows(memory, encoded, own_facts, time)
    if not keep.all():
        rows = rows.select(keep)
    return rows, [batch.first + int(position) for position in np.nonzero(~keep)[0]]


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
