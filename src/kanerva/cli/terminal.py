"""What commands print, on terminals of any encoding."""

import codecs
import io
import os
import sys

PLAIN = {"•": "*", "±": "+-", "…": "...", "─": "-", "━": "-", "│": "|"}
"""Characters that we print ourselves, and what a terminal that does not know them shows."""


def print_anything() -> None:
    """Let stdout and stderr print every character; unknown ones become plain ones or escapes.

    Names of files have any characters, and even bytes that are no text.
    """
    codecs.register_error("kanerva.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="kanerva.plain")


def say(text: str) -> None:
    """Print one line on stderr. Where nobody can read it, nothing is lost by that."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # a full disk: Python would try once more at its end, and fail
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    known = (PLAIN.get(one, one.encode("ascii", "backslashreplace").decode()) for one in unknown)
    return "".join(known), error.end
