"""Items in any form as batches: arrays, tensors, .npy files, or iterators of those."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from kanerva.checks import check_path
from kanerva.errors import KanervaError
from kanerva.store.item_coder import Items

BATCH_SIZE = 4096
"""Items that are written in one transaction, unless they come in smaller batches."""
ItemSource = Items | str | Path | Iterable[Items]
"""Items: a tensor, an array, a .npy file, or an iterable of tensors or arrays."""


class Batch(NamedTuple):
    """Some items, and the values that belong to them."""

    items: Items
    values: Items | None


def batches_of(source: ItemSource, values: ItemSource | None) -> Iterator[Batch]:
    """Batches of at most `BATCH_SIZE` items; files are read as they are needed."""
    parts = _parts("items", source)
    if values is None:
        for items in parts:
            yield Batch(items, None)
        return
    others = _parts("values", values)
    for items in parts:
        chosen = next(others, None)
        if chosen is None or len(chosen) != len(items):
            raise _unequal()
        yield Batch(items, chosen)
    if next(others, None) is not None:
        raise _unequal()


def total_of(source: ItemSource) -> int | None:
    """How many items there are, if that is known before they are read."""
    if isinstance(source, str | Path):
        source = opened_array("items", source)
    return len(source) if isinstance(source, Tensor | np.ndarray) else None


def next_of(facts: Iterator | None, count: int, argument: str) -> list:
    """The facts of the next items, or Nones."""
    if facts is None:
        return [None] * count
    found = list(islice(facts, count))
    if len(found) < count:
        raise KanervaError(
            argument,
            expected="one for each item",
            got=f"only {len(found)} for {count} items",
            fix="Pass as many as there are items.",
        )
    return found


def check_all_used(facts: Iterator | None, argument: str) -> None:
    """Refuse facts that belong to no item."""
    if facts is not None and next(facts, None) is not None:
        raise KanervaError(
            argument,
            expected="one for each item",
            got="more than there are items",
            fix="Pass as many as there are items.",
        )


def _parts(argument: str, source: object) -> Iterator[Items]:
    if isinstance(source, str | Path):
        source = opened_array(argument, source)
    if isinstance(source, Tensor | np.ndarray):
        if source.ndim == 0 or len(source) <= BATCH_SIZE:
            yield source
            return
        for start in range(0, len(source), BATCH_SIZE):
            yield source[start : start + BATCH_SIZE]
        return
    if not isinstance(source, Iterable):
        raise _unknown(argument, source)
    for part in source:
        if not isinstance(part, Tensor | np.ndarray):
            raise _unknown(argument, part)
        yield part


def opened_array(argument: str, path: str | Path) -> np.ndarray:
    """A .npy file, mapped into memory. Nothing in it can run code."""
    file = check_path(argument, path, what="a .npy file")
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise KanervaError(
            argument,
            expected="a .npy file with an array of numbers",
            got=f"'{file}': {' '.join(str(error).split())[:120]}",
            fix="Save it with numpy.save(path, array).",
        ) from None


def _unknown(argument: str, source: object) -> KanervaError:
    return KanervaError(
        argument,
        expected="a tensor, an array, a .npy file, or an iterable of tensors or arrays",
        got=type(source).__name__,
        fix="Convert it: numpy.asarray(items).",
    )


def _unequal() -> KanervaError:
    return KanervaError(
        "values",
        expected="as many values as keys, in batches of the same sizes",
        got="another number",
        fix="Pass keys and values in the same form and order.",
    )
