"""What MkDocs does to our pages before it renders them: command help, and marks on code blocks."""

import contextlib
import io
import re
import sys
from pathlib import Path
from unittest import mock

SOURCE = Path(__file__).parents[1] / "src"
FENCE = re.compile(r"^```(\w+) (?:notest|run)$", re.MULTILINE)
HELP = re.compile(r"^%help ?(.*)$", re.MULTILINE)
WIDTH = "88"
"""Columns of a help text."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Markdown without the marks that only tests read, and with the help of commands in place."""
    return HELP.sub(_help_block, FENCE.sub(r"```\1", markdown))


def _help_block(match: re.Match[str]) -> str:
    """What `kanerva COMMAND --help` prints, as a code block."""
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    from kanerva.cli.commands import parse

    printed, complaint = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict("os.environ", COLUMNS=WIDTH),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(complaint),
    ):
        try:
            parse([*match[1].split(), "--help"])
        except SystemExit as end:
            if end.code:
                raise ValueError(f"kanerva {match[1]} --help: {complaint.getvalue()}") from None
    return f"```text\n{printed.getvalue().strip()}\n```"
