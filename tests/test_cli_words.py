"""The words of a command line: unknown ones, doubled ones, missing ones. Real processes."""

import os
import re
import subprocess
import sys

import pytest

import kanerva

KANERVA = [sys.executable, "-m", "kanerva.cli.main"]


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KANERVA, *args], capture_output=True, text=True, env={**os.environ, **environment}
    )


def mistake(*args: str, **environment: str) -> str:
    """The one line that a mistake gives."""
    done = run(*args, **environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("kanerva: ")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"kanerva {kanerva.__version__}\n",
        "",
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("denois",), ("'denois'", "Did you mean 'denoise'?")),
        (("denois", "--help"), ("'denois'", "Did you mean 'denoise'?")),
        (("nosuch", "--help"), ("'nosuch'", "demo, eval, denoise")),
        (("data", "lst"), ("'lst'", "Did you mean 'list'?")),
        (("data", "nosuch", "--help"), ("'nosuch'", "list, info, fetch")),
        (("versoin",), ("Did you mean '--version'?",)),
        ((), ("one of demo",)),
        (("data",), ("one of list",)),
    ],
)
def test_unknown_commands(args, words):
    line = mistake(*args)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("denoise", "omniglot", "--redings", "3"), ("--redings", "Did you mean '--readings'?")),
        (("denoise", "omniglot", "--redings=3"), ("Did you mean '--readings'?",)),
        (("demo", "--json"), ("--json", "kanerva demo", "--picture")),
        (("demo", "extra"), ("'extra'",)),
        (("demo", "--seed"), ("--seed", "a value after it")),
        (("demo", "--seed", "one"), ("--seed", "a whole number", "'one'")),
        (("demo", "--seed", "1.5"), ("--seed", "a whole number", "'1.5'")),
        (("demo", "--seed", "1", "2"), ("'2'",)),
        (("demo", "--seed", "1", "--seed", "2"), ("--seed", "once")),
        (("denoise", "omniglot", "--memory", "a", "--memory", "b"), ("--memory", "once", "A B")),
        (
            ("denoise", "omniglot", "--damage", "blok"),
            ("block12, erase12", "Did you mean 'block12'"),
        ),
        (("denoise", "omniglot", "--damage", "None"), ("Did you mean 'none'",)),
        (("denoise", "omniglot", "--damage"), ("--damage", "a value after it")),
        (("eval",), ("checkpoint", "kanerva eval CHECKPOINT")),
        (("eval", "--json"), ("checkpoint", "before the options")),
        (("generate", "x", "--json", "--no-json"), ("--json", "once")),
        (("train", "tiny", "--data.foo", "3"), ("--data.foo", "kanerva train tiny")),
        (("interpolate", "omniglot", "--memory", "a"), ("--start", "--end")),
        (("generate", "omniglot", "--sample", "yes"), ("'yes'",)),
        (("train", "tiny", "--training.steps", "x"), ("--training.steps", "a whole number", "'x'")),
        (("train", "tiny", "--training.lr", "x"), ("--training.lr", "a number", "'x'")),
        (("train", "tiny", "--out"), ("--out", "a value after it")),
        (("train", "tiny", "--device", "cpu", "--device=cpu"), ("--device", "once")),
        (("data", "info"), ("name",)),
    ],
)
def test_mistakes_in_words(args, words):
    """They do not depend on the width of the terminal, and no word is doubled."""
    line = mistake(*args, COLUMNS="20")
    assert all(word in line for word in words), line
    assert not re.search(r"\b(\w{3,}(?: \w+)?):? \1\b", line, re.IGNORECASE), line
    assert not re.search(r"helptext|invalid literal|None\b(?!')|values?\. For", line), line


@pytest.mark.parametrize("command", ["denoise", "generate", "interpolate"])
@pytest.mark.parametrize("words", [("--memory",), ("--memory", "--json"), ("--memory=",)])
def test_a_memory_of_nothing_is_refused(command, words):
    ends = ("--start", "a.png", "--end", "b.png") if command == "interpolate" else ()
    line = mistake(command, "omniglot", *ends, *words)
    assert "--memory: expected" in line


@pytest.mark.parametrize(
    "words", [("--cue",), ("--out", ""), ("--cue", ""), ("--data-folder", " "), ("--dataset", "")]
)
def test_options_of_nothing_are_refused(words):
    assert words[0] in mistake("denoise", "omniglot", *words)


def test_help_shows_no_second_word_for_nothing():
    for command in ("denoise", "generate", "interpolate", "eval", "compare"):
        text = run(command, "--help").stdout
        assert "None" not in text
        assert "default: )" not in text
