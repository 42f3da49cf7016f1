"""What tests need to know about our Markdown: pages, fenced blocks, and the commands in them."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PLACEHOLDERS = {
    "CHECKPOINT": "omniglot",
    "COMMAND": "demo",
    "DIR": "runs",
    "NAME": "omniglot",
    "PLAN": "plan.json",
    "RECIPE": "tiny",
}
"""What the words in capital letters stand for when a command is parsed."""


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    """What follows the backticks: python, sh, sh run, ... or nothing for output."""
    body: str
    follows: bool
    """Whether nothing but white space stands between this block and the one before."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    found, end, text = [], None, page.read_text()
    for match in FENCE.finditer(text):
        follows = end is not None and not text[end : match.start()].strip()
        found.append(Block(match[1], match[2], follows))
        end = match.end()
    return found


def without_blocks(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def commands(script: str) -> list[list[str]]:
    """The words of each `kanerva` command in a shell script, also where torchrun starts it."""
    found = []
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["kanerva"]:
            found.append(words[1:])
        elif words[:1] == ["torchrun"]:
            found.append(words[words.index("kanerva") + 1 :])
    return found


def shown_commands(page: Path) -> list[list[str]]:
    """All `kanerva` commands of a page that are complete, in blocks and within sentences."""
    found = [
        words
        for block in blocks(page)
        if block.kind.startswith("sh")
        for words in commands(block.body)
    ]
    for span in re.findall(r"`(kanerva [^`]+)`", without_blocks(page)):
        words = shlex.split(span)[1:]
        if len(words) > 1 and "..." not in words:
            found.append(words)
    return [[PLACEHOLDERS.get(word, word) for word in words] for words in found]
