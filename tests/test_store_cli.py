"""`kanerva memory ...`: every command on images and vectors, and their mistakes."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import kanerva
from kanerva.cli.commands import parse
from kanerva.cli.main import main
from kanerva.cli.memory import MEMORY_COMMANDS
from kanerva.data import render_glyphs
from store_cases import vectors


@pytest.fixture
def here(tmp_path, monkeypatch, capsys) -> Path:
    """A folder with drawings/ and x.npy, in which commands run."""
    monkeypatch.chdir(tmp_path)
    Path("drawings").mkdir()
    for number, image in enumerate(255 - render_glyphs(torch.arange(5), seed=0)[:, 0]):
        Image.fromarray(image.numpy()).save(f"drawings/{number}.png")
    np.save("x.npy", vectors(30).numpy())
    np.save("new.npy", vectors(30, seed=1).numpy())
    return tmp_path


@pytest.fixture
def call(here, capsys):
    def run(words: str) -> str:
        parse(words.split())()
        return capsys.readouterr().out

    return run


def as_json(text: str) -> dict:
    (line,) = text.strip().splitlines()
    return json.loads(line)


def mistake(words: str, capsys) -> str:
    """The one line on stderr of a command that ends with code 2."""
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_images(call):
    call("memory new memories/glyphs --model omniglot --ledger")
    written = as_json(call("memory write memories/glyphs drawings --json"))
    assert written["written"] == written["num_items"] == len(written["ids"]) == 5
    read = as_json(call("memory read memories/glyphs drawings --explain 2 --out sheet.png --json"))
    assert {one["known"] for one in read["read"]} <= {True, False}
    assert len(read["read"][0]["from"]) == 2
    assert read["read"][0]["from"][0]["label"].endswith(".png")
    assert Path("sheet.png").stat().st_size > 500
    ids = written["ids"]
    receipt = as_json(
        call(f"memory forget memories/glyphs --ids {ids[0]} {ids[1]} --verify --json")
    )
    assert receipt["distance"] == 0
    assert receipt["purged"]
    assert receipt["ids"] == ids[:2]
    info = as_json(call("memory info memories/glyphs --verify --json"))
    assert (info["num_items"], info["state"]) == (3, receipt["after"])
    assert info["distance"] == 0


def test_vectors(call):
    made = as_json(call("memory new m/a --num-items 30 --size 24 --rows-per-item 2 --json"))
    assert made["num_rows"] == 60
    assert "expected error" in call("memory new m/b --num-items 30 --size 24 --rows-per-item 2")
    assert "wrote 30 items" in call("memory write m/a x.npy")
    assert "in memory" in call("memory read m/a x.npy")
    read = as_json(call("memory read m/a new.npy --out answers.npy --json"))
    known = [one["known"] for one in read["read"]]
    assert sum(known) <= 2  # vectors of 24 numbers
    assert (~np.isnan(np.load("answers.npy")).any(1)).tolist() == known
    call("memory write m/b new.npy")
    assert as_json(call("memory merge m/a m/b --out m/both --json"))["num_items"] == 60
    call("memory export m/a --out a.safetensors")
    call("memory export m/b --out b.safetensors")
    merged = as_json(call("memory merge a.safetensors b.safetensors --out m/again --json"))
    assert merged["state"] == as_json(call("memory info m/both --json"))["state"]
    receipt = call("memory forget m/both --items new.npy")
    assert "deleted 30 items" in receipt
    assert as_json(call("memory info m/both --json"))["state"] in receipt
    state = as_json(call("memory info m/a --json"))["state"]
    assert as_json(call("memory info m/both --json"))["state"] == state
    assert "all checksums" in call("memory info m/a --verify")


def test_keys_values_ids_and_labels(call):
    call("memory new m/a --num-items 30 --size 24 --value-size 24 --rows-per-item 2 --ledger")
    Path("ids.txt").write_text("\n".join(f"note-{number}" for number in range(30)))
    Path("labels.txt").write_text("\n".join(f"label {number}" for number in range(30)))
    call("memory write m/a x.npy --values new.npy --ids ids.txt --labels labels.txt")
    read = as_json(call("memory read m/a x.npy --explain 1 --out values.npy --json"))
    assert read["read"][4]["from"][0]["id"] == "note-4"
    found, values = np.load("values.npy"), np.load("new.npy")
    assert np.linalg.norm(found - values) < 0.5 * np.linalg.norm(values)
    assert "note-3" in call("memory forget m/a --ids note-3")


def test_fading_and_duplicates(call):
    call("memory new m/a --num-items 30 --size 24 --rows-per-item 2 --half-life 3600")
    assert "30 items" in call("memory write m/a x.npy")
    written = as_json(call("memory write m/a x.npy --skip-below 8.4 --json"))
    assert len(written["skipped"]) == 30


def test_mistakes(here, call, capsys):
    call("memory new m/a --num-items 30 --size 24 --ledger")
    lines = {
        "memory new m/a --num-items 3 --size 2": "which is there",
        "memory new m/b": "--model",
        "memory new m/b --model omniglot --num-items 3": "--num-items: expected a memory of",
        "memory write m/missing x.npy": "'missing'",
        "memory write m/a drawings": ".npy",
        "memory write m/a nothing.npy": "nothing.npy",
        "memory write m/a x.npy --ids nothing.txt": "--ids",
        "memory forget m/a --ids nobody": "'nobody'",
        "memory forget m/a": "neither",
        "memory read m/a x.npy --out answers.txt": ".npy",
        "memory merge m/a m/missing --out m/c": "'missing'",
        "memory export m/a --out a.bin": ".safetensors",
        "memory reed m/a": "Did you mean",
        "memory info .": "Write NAME",
        "memory info /": "Write /NAME",
        "memory merge m/a m/a --out .": "Write NAME",
    }
    for words, part in lines.items():
        assert part in mistake(words, capsys), words
    assert kanerva.open("m").names() == ["a"]
    Path("a.safetensors").write_text("mine")
    assert "--overwrite" in mistake("memory export m/a --out a.safetensors", capsys)
    assert Path("a.safetensors").read_text() == "mine"


def test_all_commands_are_there():
    assert list(MEMORY_COMMANDS) == ["new", "write", "read", "forget", "merge", "info", "export"]


OF_VECTORS = ("--num-items 3", "--size 2", "--value-size 0", "--error 0.5", "--rows-per-item 1")
OF_VECTORS += ("--cue-noise 0.1", "--largest 32", "--sample x.npy", "--seed 0")


@pytest.mark.parametrize("option", OF_VECTORS)
def test_options_of_vectors_are_not_ignored_for_images(here, capsys, option):
    line = mistake(f"memory new m/b --model omniglot {option}", capsys)
    assert line.startswith(f"kanerva: {option.split()[0]}: expected a memory of vectors")
    assert not Path("m").exists()


def test_options_that_belong_together(here, call, capsys):
    assert "--size: expected" in mistake("memory new m/b --num-items 3", capsys)
    assert "--num-items: expected" in mistake("memory new m/b --size 3", capsys)
    assert "--num-items and --size: expected" in mistake("memory new m/b --error 0.5", capsys)
    call("memory new m/a --num-items 30 --size 24 --ledger")
    assert "--overwrite: expected --out" in mistake("memory read m/a x.npy --overwrite", capsys)
    assert "m/NAME" in mistake("memory new m --num-items 30 --size 24", capsys)
    call("memory read m/a x.npy --out answers/found.npy")
    assert np.load("answers/found.npy").shape == (30, 24)


def test_errors_speak_of_options(here, call, capsys):
    """The same mistakes in Python speak of arguments."""
    call("memory new m/plain --num-items 30 --size 24")
    call("memory new m/a --num-items 30 --size 24 --ledger")
    np.save("large.npy", 1e6 * vectors(3).numpy())
    lines = {
        "memory write m/a large.npy": "kanerva memory new with --largest",
        "memory write m/plain x.npy --labels x.npy": "--labels: expected",
        "memory read m/a x.npy --readings 3": "--readings: expected a memory of images",
        "memory read m/plain x.npy --explain 3": "Create the memory with --ledger",
        "memory forget m/a --items x.npy": "Pass their ids: --ids ID",
        "memory forget m/plain --ids a": "Present the items again: --items FILE",
        "memory forget m/plain --items x.npy": "items: expected exactly the items that were",
        "memory read m/a x.npy --threshold 2": "--threshold: expected a finite number",
        "memory forget m/a --ids": "--ids: expected at least one word after it",
        "memory info m/b": "It has a, plain.",
        "memory merge m/a --out e.safetensors": "kanerva memory export FOLDER/NAME --out FILE",
    }
    for words, part in lines.items():
        assert part in mistake(words, capsys), words


def test_lines_end_where_files_say(here, call):
    """A mark at the beginning is no part of an id; separators of Unicode do not divide lines."""
    ids = ["first", "a\x85b", "c\u2028d", "e\x0bf", "g\rh", "ключ"]
    np.save("six.npy", vectors(6).numpy())
    for number, (end, last) in enumerate([("\n", ""), ("\r\n", "\r\n")]):
        text = "\ufeff" * (1 - number) + end.join(ids) + last
        Path("ids.txt").write_bytes(text.encode())
        call(f"memory new m/{number} --num-items 30 --size 24 --ledger")
        written = as_json(call(f"memory write m/{number} six.npy --ids ids.txt --json"))
        assert written["ids"] == ids


def test_names_that_are_not_unicode(call, here):
    """Linux allows any bytes in the name of a file."""
    image = Path("drawings/0.png").read_bytes()
    (here / "odd").mkdir()
    with open(os.fsencode(here / "odd") + b"/\xff.png", "wb") as file:
        file.write(image)
    call("memory new memories/odd --model omniglot --ledger")
    written = as_json(call("memory write memories/odd odd --json"))
    assert written["written"] == 1
    read = as_json(call("memory read memories/odd odd --explain 1 --json"))
    assert read["read"][0]["from"][0]["label"] == "\\xff.png"
