"""What commands print, on terminals of any encoding."""

import codecs
import errno
import io
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from typing import TextIO, cast

from kanerva.errors import printable

PLAIN = {"•": "*", "±": "+-", "…": "...", "─": "-", "━": "-", "│": "|"}
"""Characters that we print ourselves, and what a terminal that does not know them shows."""

STDOUT = "standard output"
"""The name of stdout in errors."""

MIN_COLUMNS = 60
"""The narrowest lines that we lay out."""


def print_anything() -> None:
    """Let stdout and stderr print every character; unknown ones become plain ones or escapes.

    Names of files have any characters, and even bytes that are no text. Warnings are one line.
    """
    warnings.formatwarning = _one_line
    codecs.register_error("kanerva.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="kanerva.plain")


def open_stdout() -> None:
    """Let errors about stdout name it as their file, also if the caller has closed it."""
    stream = sys.stdout
    if stream is None:
        sys.stdout = ClosedStream()
    elif stream is sys.__stdout__:
        for name in ("write", "flush"):
            vars(stream)[name] = _naming_stdout(getattr(stream, name))


def _naming_stdout(method: Callable[..., object]) -> Callable[..., object]:
    def call(*args: object) -> object:
        try:
            return method(*args)
        except BrokenPipeError:  # which is not a mistake: `kanerva ... | head`
            raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OSError(error.errno, reason, STDOUT) from None

    return call


def widen() -> None:
    """Let narrow terminals break our lines: tyro hangs in one column, and rich prints nothing."""
    if shutil.get_terminal_size().columns < MIN_COLUMNS or os.environ.get("COLUMNS") == "0":
        os.environ["COLUMNS"] = str(MIN_COLUMNS)


def say(text: str) -> None:
    """Print one line on stderr. Where nobody can read it, nothing is lost by that."""
    print(text, file=cast(TextIO, Stderr()), flush=True)


def silence(stream: TextIO) -> None:
    """Send what is left of the output nowhere, because nobody reads it any more.

    Otherwise Python would try once more at its end, and fail.
    """
    if isinstance(stream, ClosedStream):
        stream.forget()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class ClosedStream(io.TextIOWrapper):
    """Takes the place of a stdout that the caller has closed.

    It drops what is written. `flush` then says so, as it does for a full disk.
    """

    def __init__(self) -> None:
        self._lost = False
        super().__init__(io.FileIO(os.devnull, "w"), encoding="utf-8")

    def write(self, text: str) -> int:
        """Drop the text and remember that there was some."""
        self._lost = self._lost or bool(text)
        return len(text)

    def flush(self) -> None:
        """Raise an error if something was lost."""
        if self._lost:
            raise OSError(errno.EBADF, "it is closed", STDOUT)

    def forget(self) -> None:
        """Raise no errors any more."""
        self._lost = False


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


def _one_line(message: Warning | str, *_: object, **__: object) -> str:
    """A warning for a user, to whom the place in our code says nothing."""
    return f"kanerva: {printable(str(message))}\n"


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    known = (PLAIN.get(one, one.encode("ascii", "backslashreplace").decode()) for one in unknown)
    return "".join(known), error.end
