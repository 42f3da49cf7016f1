"""What commands print, on terminals of any encoding."""

import codecs
import io
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


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    known = (PLAIN.get(one, one.encode("ascii", "backslashreplace").decode()) for one in unknown)
    return "".join(known), error.end
