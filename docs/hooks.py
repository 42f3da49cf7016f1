"""What MkDocs does to our pages before it renders them: command help, and marks on code blocks."""

import contextlib
import io
import re
import sys
from pathlib import Path
from unittest import mock

SOURCE = Path(__file__).parents[1] / "src"
FENCE = re.compile(r"^```(\w+) (?:notest|run)$", re.MULTILINE)
HELP = re.compile(r"^%help (.+)$", re.MULTILINE)
FRAME = str.maketrans("│╭╮╰╯─", "     -")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Markdown without the marks that only tests read, and with the help of commands in place."""
    return HELP.sub(lambda match: as_markdown(help_of(match[1])), FENCE.sub(r"```\1", markdown))


def help_of(command: str) -> str:
    """What `kanerva COMMAND --help` prints, on lines that are wide enough for anything."""
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    from kanerva.cli.commands import parse

    printed, complaint = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict("os.environ", COLUMNS="2000"),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(complaint),
    ):
        try:
            parse([*command.split(), "--help"])
        except SystemExit as end:
            if end.code:
                raise ValueError(f"kanerva {command} --help: {complaint.getvalue()}") from None
    return printed.getvalue().translate(FRAME)


def as_markdown(text: str) -> str:
    """A help text with its options as lists, which fit any width of a page."""
    usage, _, rest = text.partition("\n")
    found = [f"```text\n{usage.removeprefix('usage: ').replace('[-h] ', '')}\n```"]
    lines = [line.rstrip() for line in rest.splitlines()]
    for number, line in enumerate(lines):
        words = line.strip()
        after = "".join(lines[number + 1 : number + 2]).strip()
        if not words or set(words) == {"-"}:
            continue
        if after and set(after) == {"-"} and line.startswith(" ") and line[1] != " ":
            found.append("" if words == "subcommands" else f"**{words.capitalize()}**")
        elif re.match(r" {2,3}(-\w|--\w|[A-Z{]+(\s|$))", line) or words.startswith("•"):
            name, *description = re.split(r"\s{2,}", words.removeprefix("• "), maxsplit=1)
            found.append(f"- `{name}`" + "".join(f": {part}" for part in description))
        elif found[-1].startswith("- "):
            found[-1] += (" " if ": " in found[-1] else ": ") + words
        else:
            found.append(words)
    return "\n\n".join(_tidy(part) for part in found if not part.startswith("- `-h"))


def _tidy(part: str) -> str:
    """A part without defaults that say nothing, and without the words that stand for no value."""
    part = re.sub(r" \(default: None\)| \(default: \)", "", part)
    part = re.sub(r"^(- `[^`]*), --\S*no-\S*(`.*) \(default: False\)", r"\1\2", part)
    return re.sub(r"\{None\}\||(?<=\{)None,", "", part)
