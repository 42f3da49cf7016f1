"""What MkDocs does to our pages before it renders them: command help, and marks on code blocks."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ["COLUMNS"] = "88"  # the width of a help text

FENCE = re.compile(r"^```(\w+) (?:notest|run)$", re.MULTILINE)
HELP = re.compile(r"^%help ?(.*)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Markdown without the marks that only tests read, and with the help of commands in place."""
    return HELP.sub(_help_block, FENCE.sub(r"```\1", markdown))


def _help_block(match: re.Match[str]) -> str:
    """What `kanerva COMMAND --help` prints, as a code block."""
    from kanerva.cli.commands import parse

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        parse([*match[1].split(), "--help"])
    return f"```text\n{printed.getvalue().strip()}\n```"
