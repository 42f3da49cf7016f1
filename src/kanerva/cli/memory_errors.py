"""Errors about too little memory, in one line."""

import re

_SIGNS = (
    "can't allocate memory",
    "DefaultCPUAllocator",
    "out of memory",
    "Storage size calculation overflowed",
    "integer multiplication overflow",
)
"""What torch says when it cannot have the memory it asked for."""
_BYTES = re.compile(r"allocate (\d+) bytes")
_UNITS = re.compile(r"allocate ([\d.]+ [KMGTPE]i?B)")


def not_enough_memory(error: Exception) -> str | None:
    """One line about an error of torch, NumPy or Python that means too little memory, or None.

    Example:
        >>> from kanerva.cli.memory_errors import not_enough_memory
        >>> not_enough_memory(RuntimeError("can't allocate memory: allocate 5000000 bytes"))
        'not enough memory (torch asked for 5 MB). Use smaller sizes: fewer images, rows or items.'
        >>> not_enough_memory(RuntimeError("something else"))

    """
    text = str(error)
    if not isinstance(error, MemoryError) and not any(sign in text for sign in _SIGNS):
        return None
    if found := _BYTES.search(text):
        asked = _in_units(int(found[1]))
    else:
        found = _UNITS.search(text)
        asked = found[1] if found else None
    who = "NumPy" if isinstance(error, MemoryError) else "torch"
    detail = f" ({who} asked for {asked})" if asked else ""
    return f"not enough memory{detail}. Use smaller sizes: fewer images, rows or items."


def _in_units(size: float) -> str:
    """A number of bytes in a unit in which it has few digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"
