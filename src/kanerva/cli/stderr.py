"""What commands say on stderr while they work. Nobody has to listen."""

import os
import sys
from typing import TextIO


class Stderr:
    """sys.stderr, except that what cannot be written is dropped.

    A training must not end because its terminal was closed or its pipe broke. Only the methods
    that rich and print need are here.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr  # now: rich puts something else there while it shows a bar

    @property
    def encoding(self) -> str:
        """How characters become bytes."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Write, or drop the text."""
        try:
            return self._stream.write(text)
        except OSError:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush, or drop what is left."""
        try:
            self._stream.flush()
        except OSError:
            silence(self._stream)

    def isatty(self) -> bool:
        """Whether somebody may be watching."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The number of the file."""
        return self._stream.fileno()


def silence(stream: TextIO) -> None:
    """Send what is left of the output nowhere, because nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=Stderr(), flush=True)  # pyright: ignore[reportArgumentType]
