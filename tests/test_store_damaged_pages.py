"""A damaged page in the file of a memory: an error, and never a memory that seems to be empty."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.cli.main import main
from kanerva.store import MemoryStore
from store_cases import many_blocks, small_plan, vectors

SUMMED = "sqlite_autoindex_sums_1"


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    """Memories "sums" and "ledger", in files that are written out."""
    made = kanerva.open(tmp_path / "memories")
    for name in ("sums", "ledger"):
        made.create(name, plan=small_plan(), ledger=name == "ledger")
        for part in vectors(60 if name == "sums" else 20).split(10):  # 60 have been summed up
            made.write(name, part)
        made.purge(name)
    made.close()
    return made


def damage(store: MemoryStore, name: str, place: str) -> None:
    """Set half a page to zero, as a disk may do: the last half of the root of a table or index."""
    path = store.path / f"{name}.memory"
    connection = sqlite3.connect(path)
    query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
    (root,) = connection.execute(query, (place,)).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    contents = bytearray(path.read_bytes())
    start = (root - 1) * size + size // 2
    contents[start : start + size // 2] = bytes(size // 2)
    path.write_bytes(contents)


def damaged_places(name: str) -> list[str]:
    """Where the damage of half a page must be noticed by everything that needs the items."""
    return [SUMMED, "blocks"] if name == "sums" else ["items_of_block", "blocks"]


CASES = [(name, place) for name in ("sums", "ledger") for place in damaged_places(name)]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_nothing_reads_or_writes_less_than_there_was(store, tmp_path, name, place):
    damage(store, name, place)
    store.create("other", plan=small_plan())
    actions = {
        "info": lambda: store.info(name),
        "read": lambda: store.read(name, vectors(3)),
        "novelty": lambda: store.novelty(name, vectors(3)),
        "memory": lambda: store.memory(name),
        "export": lambda: store.export(name, tmp_path / "out.safetensors"),
        "merge": lambda: store.merge("other", [name]),
        "write": lambda: store.write(name, vectors(1, seed=1)),
    }
    if name == "ledger":
        actions["attribute"] = lambda: store.attribute(name, vectors(1))
    else:
        actions["forget"] = lambda: store.forget(name, items=vectors(1))
    before = (store.path / f"{name}.memory").read_bytes()
    for action, call in actions.items():
        with pytest.raises(KanervaError, match="cut short or changed") as caught:
            call()
        assert "\n" not in str(caught.value), action
    store.close()
    assert (store.path / f"{name}.memory").read_bytes() == before
    assert not (tmp_path / "out.safetensors").exists()
    assert store.info("other").num_items == 0


@pytest.mark.parametrize(("name", "place"), CASES)
def test_the_commands_say_it_in_one_line(store, tmp_path, capsys, name, place):
    damage(store, name, place)
    memory, cues = str(store.path / name), tmp_path / "cues.npy"
    np.save(cues, vectors(2).numpy())
    for words in (
        ["info", memory],
        ["read", memory, str(cues)],
        ["write", memory, str(cues)],
        ["export", memory, "--out", str(tmp_path / "out.safetensors")],
    ):
        with pytest.raises(SystemExit) as caught:
            main(["memory", *words])
        assert caught.value.code == 2
        printed = capsys.readouterr()
        assert len(printed.err.splitlines()) == 1
        assert "cut short or changed" in printed.err


def test_the_ids_are_all_found_before_more_are_written(store):
    """Else an id could be given twice, and an item that is there could not be forgotten."""
    ids = store.write("ledger", vectors(3, seed=2), ids=["x", "y", "z"]).ids
    store.close()
    damage(store, "ledger", "sqlite_autoindex_items_1")
    with pytest.raises(KanervaError, match="cut short or changed"):
        store.write("ledger", vectors(1, seed=3))
    with pytest.raises(KanervaError, match="index does not find"):
        store.forget("ledger", ids)


def test_items_that_are_damaged_are_no_type_error(store):
    damage(store, "ledger", "items")
    with pytest.raises(KanervaError, match="cut short or changed"):
        store.read("ledger", vectors(1))


def test_receipts_that_are_damaged(store):
    store.write("ledger", vectors(1, seed=2), ids=["x"])
    store.forget("ledger", ["x"])
    store.close()
    damage(store, "ledger", "receipts")
    with pytest.raises(KanervaError, match="cut short or changed"):
        store.receipts("ledger")


def test_numbers_of_items_are_not_used_again(store):
    """Rows with a number below that of the sums would never be added to them."""
    connection = sqlite3.connect(store.path / "sums.memory")
    connection.execute("DELETE FROM sqlite_sequence")
    connection.commit()
    connection.close()
    with pytest.raises(KanervaError, match="used again"):
        store.write("sums", vectors(1, seed=1))
    assert store.info("sums", verify=True).num_items == 60


def test_counts_follow_every_way_to_change_a_memory(tmp_path):
    """Writing, forgetting and merging, with two processes in turn and blocks that stay empty."""
    for ledger in (False, True):
        folder: Path = tmp_path / str(ledger)
        one, two = kanerva.open(folder), kanerva.open(folder)
        one.create("a", plan=many_blocks(), ledger=ledger)
        one.create("b", plan=many_blocks(), ledger=ledger)
        items, total = vectors(300), 0
        for number, start in enumerate(range(0, 300, 20)):
            store = (one, two)[number % 2]
            ids = store.write("a", items[start : start + 20]).ids
            gone = items[start : start + 3]
            other = (two, one)[number % 2]
            if ledger:
                other.forget("a", ids[:3], purge=False)
            else:
                other.forget("a", items=gone, purge=False)
            total += 17
            assert one.info("a").num_items == two.info("a").num_items == total
        two.write("b", torch.flip(items, [0])[:5])
        one.merge("a", ["b"])
        assert two.info("a", verify=True).num_items == total + 5
        assert two.write("a", items[:1]).num_written == 1
        assert one.info("a", verify=True).num_items == total + 6
