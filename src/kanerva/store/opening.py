"""How a store is opened."""

from pathlib import Path

from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.store.memory_store import MemoryStore


def open_store(
    path: str | Path, *, model: KanervaMachine | str | None = None, timeout: float = 5.0
) -> MemoryStore:
    """Open a folder of memories. It need not exist yet.

    Args:
        path: the folder.
        model: the model of image memories: a `KanervaMachine`, or the name of one. By default each
            memory finds the one that it was created with by its name.
        timeout: how many seconds to wait while another process writes.

    Returns:
        The store.

    Raises:
        KanervaError: the path is a file.

    Example:
        >>> import kanerva
        >>> kanerva.open("memories").names()
        []

    """
    return MemoryStore(path, model=model, timeout=timeout)
