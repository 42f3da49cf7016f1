"""Mistakes in the words of a command line, before and after tyro looks at them."""

import contextlib
import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from kanerva.cli.arguments import arguments_of
from kanerva.errors import KanervaError

REWORDED = (
    (
        r"Error parsing (\S+): invalid literal for int\(\) with base 10: ('.*?').*",
        r"\1: expected a whole number, got \2. Write it in digits, for example \1 3.",
    ),
    (
        r"Error parsing (\S+): could not convert string to float: ('.*?').*",
        r"\1: expected a number, got \2. Write it in digits, for example \1 0.5.",
    ),
    (r"Error parsing (\S+): ", r"\1: "),
    (r"Argument helptext: .*", ""),
    (
        r"Missing value for argument '(\S+)'\. Expected \d+ values?\.",
        r"\1: expected a value after it, got none.",
    ),
    (
        r"Unrecognized options: (--\S+?)(?:, .*?)?(?= Perhaps| For|$)",
        r"\1: expected an option of this command, got another word.",
    ),
    (
        r"Unrecognized options: (.+?)(?= Perhaps| For|$)",
        r"'\1': expected an option before it, got none.",
    ),
    (
        r"invalid choice '(.*?)' for argument '(\S+)'\. Expected one of \((.*?)\)\.",
        r"\2: expected one of \3, got '\1'.",
    ),
    (r"For full helptext, (?:run:?|see) (kanerva.* --help)", r"See \1."),
)
"""What tyro says, as patterns, and what we say."""


def check_options(prog: str, command: Callable[..., None], words: Sequence[str]) -> None:
    """Refuse options that a command does not have, and those that are given twice."""
    arguments = arguments_of(command)
    known = {flag: argument for argument in arguments for flag in argument.flags}
    for flag in _flags(words):
        if flag not in (*known, "--help"):
            raise KanervaError(
                flag,
                expected=f"an option of {prog}",
                got="another word",
                fix=did_you_mean(flag, known)
                or f"It has {', '.join(a.shown for a in arguments if not a.positional)}.",
            )
    check_once(words, lists=[argument.shown for argument in arguments if argument.several])


def check_once(words: Sequence[str], *, lists: Sequence[str] = ()) -> None:
    """Refuse options that are given twice: only one of them would count."""
    counts = Counter(re.sub(r"^--no-", "--", flag).replace(".no-", ".") for flag in _flags(words))
    for flag, count in counts.items():
        if count > 1:
            raise KanervaError(
                flag,
                expected="to be given once",
                got=f"{count} of them",
                fix=f"Write all after one: {flag} A B." if flag in lists else "Keep one of them.",
            )


def _flags(words: Sequence[str]) -> list[str]:
    """The options among the words, as the help writes them."""
    flags: list[str] = []
    for word in words:
        if word == "--":  # everything after it is not an option
            break
        if word.startswith("--"):
            flags.append(word.split("=")[0].replace("_", "-"))
    return flags


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The question "did you mean ...?". Dashes do not count: every option begins with two."""
    names = {name.strip("-"): name for name in known}
    near = difflib.get_close_matches(word.strip("-").lower(), names, n=1, cutoff=0.6)
    return f"Did you mean '{names[near[0]]}'?" if near else None


def missing_words(prog: str, command: Callable[..., None], words: Sequence[str]) -> KanervaError:
    """The error for a command line that tyro found too short."""
    required = [argument for argument in arguments_of(command) if argument.required]
    given = _flags(words)
    options = [a.shown for a in required if not a.positional and a.shown not in given]
    if options:
        return KanervaError(
            " and ".join(options),
            expected="to be given",
            got="none",
            fix=f"See {prog} --help.",
        )
    names = [argument.name for argument in required if argument.positional]
    return KanervaError(
        " and ".join(names),
        expected=f"a word after '{prog}'",
        got="none",
        fix=f"Write it before the options: {prog} {' '.join(names).upper()}. See {prog} --help.",
    )


def in_one_line(box: str) -> str:
    """What tyro complains about in a box of several lines, in one line and in our words."""
    _, *lines = [re.sub(r"^[│|+]|[│|+]$|[╭╮╰╯─]+|-{5,}", " ", line) for line in box.splitlines()]
    text = " ".join(" ".join(lines).split())
    for pattern, words in REWORDED:
        text = re.sub(pattern, words, text)
    return text


@contextlib.contextmanager
def wide_terminal() -> Iterator[None]:
    """Make tyro believe that lines are long, so that it breaks no word of an error."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before
