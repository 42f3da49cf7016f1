"""What the operations of a store return."""

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from torch import Tensor

from kanerva.errors import KanervaError


class Written(NamedTuple):
    """What a write did. See `MemoryStore.write`.

    Example:
        >>> from kanerva.store import Written
        >>> Written(ids=["a", "b"], num_written=2, skipped=[1]).num_written
        2

    """

    ids: list[str]
    """The ids of the items that were written; none without a ledger."""
    num_written: int
    """How many items were written."""
    skipped: list[int]
    """Positions of items that were left out because the memory knew them already."""


class PartlyWrittenError(KanervaError):
    """A long write was refused after some of its batches had been written. They stay.

    A write of an array, a tensor or a file is checked before it begins, so this happens only with
    iterators, if the disk is full, or if another process writes for too long.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import kanerva
        >>> from kanerva.store import PartlyWrittenError, plan_vectors
        >>> batches = [np.eye(8), np.full((2, 8), np.nan)]
        >>> with tempfile.TemporaryDirectory() as folder, kanerva.open(folder) as store:
        ...     store.create("notes", plan=plan_vectors(20, 8))
        ...     try:
        ...         store.write("notes", iter(batches))
        ...     except PartlyWrittenError as error:
        ...         print(error.written.num_written)
        8

    """

    written: Written
    """What had been written before."""

    def __reduce__(self):
        return _partly_written, (self.argument, self.expected, self.got, self.fix, self.written)


def partly_written(error: KanervaError, written: Written) -> PartlyWrittenError:
    """The same error, with a sentence about what had been written before."""
    done = written.num_written + len(written.skipped)
    known = f" and {len(written.skipped):,} left out" if written.skipped else ""
    fix = (
        f"{error.fix} Before this, {written.num_written:,} items were written{known}; "
        f"continue with item {done:,} (the first is 0)."
    )
    return _partly_written(error.argument, error.expected, error.got, fix, written)


def _partly_written(
    argument: str, expected: str, got: str, fix: str, written: Written
) -> PartlyWrittenError:
    made = PartlyWrittenError(argument, expected=expected, got=got, fix=fix)
    made.written = written
    return made


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What was deleted, and the state of the memory before and after. See `MemoryStore.forget`.

    A state is the SHA-256 of all sums. Since sums are exact, a memory in which only the remaining
    items were ever written has the same state, wherever and in whichever order they were written.

    Example:
        >>> from kanerva.store import Receipt
        >>> receipt = Receipt(
        ...     memory="notes",
        ...     ids=("a",),
        ...     num_items=1,
        ...     time=0.0,
        ...     before="12",
        ...     after="34",
        ...     purged=True,
        ... )
        >>> "after" in receipt.to_json()
        True

    """

    memory: str
    """The name of the memory."""
    ids: tuple[str, ...]
    """What was deleted; nothing if items were presented again."""
    num_items: int
    """How many items were deleted."""
    time: float
    """When, in seconds since 1970."""
    before: str
    """The state before."""
    after: str
    """The state after."""
    distance: float | None = None
    """How far the memory is from one that was rebuilt without the items, relative to its mean; only
    with `verify`."""
    purged: bool = False
    """Whether every trace of the items is gone from all files."""

    def to_json(self) -> str:
        """The receipt as one line of JSON.

        Returns:
            All fields.

        """
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True)
class MemoryInfo:
    """What a memory is and holds. See `MemoryStore.info`.

    Example:
        >>> import tempfile
        >>> import kanerva
        >>> from kanerva.store import plan_vectors
        >>> with tempfile.TemporaryDirectory() as folder, kanerva.open(folder) as store:
        ...     store.create("notes", plan=plan_vectors(20, 8))
        ...     store.info("notes").num_items
        0

    """

    name: str
    """Its name."""
    kind: str
    """images or vectors."""
    num_items: int
    """Items in the memory."""
    num_rows: int
    """Rows of all blocks together."""
    num_blocks: int
    """Blocks; each item is in one of them."""
    code_size: int
    """Entries of what is stored for each item."""
    ledger: bool
    """Whether each item is kept."""
    half_life: float | None
    """Seconds after which evidence counts half."""
    dtype: str
    """The numbers of readings."""
    model: str | None
    """The name of the model of an image memory."""
    fingerprint: str
    """SHA-256 of the model or plan."""
    state: str
    """SHA-256 of all sums."""
    num_bytes: int
    """Bytes of all files."""
    distance: float | None
    """Distance to a memory rebuilt from the ledger, with `verify`."""


class Attribution(NamedTuple):
    """Which written items produced a reading. See `MemoryStore.attribute`.

    Example:
        >>> import torch
        >>> from kanerva.store import Attribution
        >>> found = Attribution(
        ...     ["a"], [None], torch.tensor([0.5]), torch.ones(1, 2), torch.ones(2), torch.ones(2)
        ... )
        >>> found.ids
        ['a']

    """

    ids: list[str]
    """Items of the block that was read, the strongest contribution first."""
    labels: list[str | None]
    """Their labels."""
    shares: Tensor
    """(N,): w' U w_t / s2, with its sign."""
    contributions: Tensor
    """(N, C): c_t = (w' U w_t / s2) z_t."""
    prior: Tensor
    """(C,): the part of the prior; the centre of the plan, if vectors have one, is in it."""
    reading: Tensor
    """(C,): the sum of everything. Of vectors it is the reading, of keys their direction and then
    the reading, of images the code of the reading."""
