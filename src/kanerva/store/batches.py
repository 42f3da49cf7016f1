"""Items in any form as batches: arrays, tensors, .npy files, or iterators of those."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from kanerva.checks import check_path
from kanerva.data.paths import FILE, fix_for, what_is_at
from kanerva.errors import KanervaError
from kanerva.store.arrays import plain_array
from kanerva.store.item_coder import Items

BATCH_SIZE = 4096
"""Items that are written in one transaction, unless they come in smaller batches."""
ItemSource = Items | str | Path | Iterable[Items]
"""Items: a tensor, an array, a .npy file, or an iterable of tensors or arrays."""


class Batch(NamedTuple):
    """Some items, and the values that belong to them."""

    items: Items
    values: Items | None
    first: int
    """The number of the first item."""


class Batches:
    """Items and their values in batches of at most `BATCH_SIZE`; files are read as needed."""

    def __init__(self, source: ItemSource, values: ItemSource | None) -> None:
        self.source = _opened("items", source)
        self.values = None if values is None else _opened("values", values)
        self.total = _length(self.source)
        """How many items there are, if that is known before they are read."""
        others = None if values is None else _length(self.values)
        if self.total is not None and others is not None and others != self.total:
            raise _unequal(f"{others:,} for {self.total:,} keys")

    @property
    def can_be_checked_first(self) -> bool:
        """Whether there are several batches, and all are at hand: an iterator gives them once."""
        at_hand = self.values is None or _length(self.values) is not None
        if isinstance(self.source, list):
            return at_hand and len(self.source) > 1
        return at_hand and self.total is not None and self.total > BATCH_SIZE

    def __iter__(self) -> Iterator[Batch]:
        parts, first = _parts("items", self.source), 0
        others = None if self.values is None else _parts("values", self.values)
        for items in parts:
            chosen = None if others is None else next(others, None)
            if others is not None and (chosen is None or len(chosen) != len(items)):
                raise _unequal("another number")
            yield Batch(items, chosen, first)
            first += len(items)
        if others is not None and next(others, None) is not None:
            raise _unequal("more")


def next_of(facts: Iterator | None, count: int, argument: str) -> list:
    """The facts of the next items, or Nones."""
    if facts is None:
        return [None] * count
    found = list(islice(facts, count))
    if len(found) < count:
        raise unequal_facts(argument, f"only {len(found)} for {count} items")
    return found


def check_all_used(facts: Iterator | None, argument: str) -> None:
    """Refuse facts that belong to no item."""
    if facts is not None and next(facts, None) is not None:
        raise unequal_facts(argument, "more than there are items")


def unequal_facts(argument: str, got: str) -> KanervaError:
    """The error for ids, labels or payloads that are not as many as the items."""
    return KanervaError(
        argument,
        expected="one for each item",
        got=got,
        fix="Pass as many as there are items.",
    )


def _opened(argument: str, source: object) -> object:
    """Arrays and tensors are checked, files are mapped; anything else is iterated over."""
    if isinstance(source, str | Path):
        source = opened_array(argument, source)
    if isinstance(source, Tensor | np.ndarray):
        return _with_items(argument, source)
    if isinstance(source, list | tuple):
        return list(_parts(argument, source))
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray | dict | set):
        raise _unknown(argument, source)
    return source


def _with_items(argument: str, source: object) -> Items:
    array = plain_array(argument, source)
    if array.ndim == 0:
        raise KanervaError(
            argument,
            expected="items, one after another",
            got="a single number",
            fix="Pass an array (T, ...): one item is array[None].",
        )
    return array


def _length(source: object) -> int | None:
    if isinstance(source, list):
        return sum(map(len, source))
    return len(source) if isinstance(source, Tensor | np.ndarray) else None


def _parts(argument: str, source: object) -> Iterator[Items]:
    if isinstance(source, Tensor | np.ndarray):
        if len(source) <= BATCH_SIZE:
            yield source
            return
        for start in range(0, len(source), BATCH_SIZE):
            yield source[start : start + BATCH_SIZE]
        return
    assert isinstance(source, Iterable)
    for part in source:
        if not isinstance(part, Tensor | np.ndarray):
            raise _unknown(argument, part)
        yield _with_items(argument, part)


def opened_array(argument: str, path: str | Path) -> np.ndarray:
    """A .npy file, mapped into memory. Nothing in it can run code."""
    file = check_path(argument, path, what="a .npy file")
    found = what_is_at(file)
    if found != FILE:
        raise KanervaError(
            argument,
            expected="a .npy file with an array of numbers",
            got=f"'{file}', {found}",
            fix=fix_for(found),
        )
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        if isinstance(array, np.ndarray):
            return array
        array.close()
        problem = "an archive of several arrays"
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        problem = " ".join(str(error).split())[:120]
        if "pickle" in problem or "Python objects" in problem:  # never advise to run it
            problem = "something else"
    raise KanervaError(
        argument,
        expected="a .npy file with an array of numbers",
        got=f"'{file}': {problem}",
        fix="Save it with numpy.save(path, array).",
    )


def _unknown(argument: str, source: object) -> KanervaError:
    return KanervaError(
        argument,
        expected="a tensor, an array, a .npy file, or an iterable of tensors or arrays",
        got=type(source).__name__,
        fix="Convert it: numpy.asarray(items).",
    )


def _unequal(got: str) -> KanervaError:
    return KanervaError(
        "values",
        expected="as many values as keys, in batches of the same sizes",
        got=got,
        fix="Pass keys and values in the same form and order.",
    )
