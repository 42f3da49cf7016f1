"""A long write that is refused: nothing is written, or the error says exactly how much."""

import contextlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.store import MemoryStore, PartlyWrittenError
from kanerva.store.batches import BATCH_SIZE
from kanerva.store.item_rows import Rows
from kanerva.store.stored_memory import StoredMemory
from store_cases import SIZE, small_plan, state_of, vectors

COUNT = 2 * BATCH_SIZE + 10
KANERVA = [sys.executable, "-m", "kanerva"]


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    made = kanerva.open(tmp_path / "memories")
    made.create("a", plan=small_plan(), ledger=True)
    made.create("b", plan=small_plan())
    return made


@contextlib.contextmanager
def nothing_written(store: MemoryStore, *words: str) -> Iterator[None]:
    before = {name: state_of(store, name) for name in store.names()}
    with pytest.raises(KanervaError) as caught:
        yield
    assert not isinstance(caught.value, PartlyWrittenError)
    for word in words:
        assert word in str(caught.value)
    assert {name: state_of(store, name) for name in store.names()} == before


def with_last(value: float) -> np.ndarray:
    rows = vectors(COUNT).numpy()
    rows[-1, 3] = value
    return rows


def test_what_can_be_checked_is_checked_first(store, tmp_path):
    """Arrays, tensors, files and lists of arrays: a mistake in the last row writes nothing."""
    last = f"row {COUNT - 1}"
    file = tmp_path / "rows.npy"
    np.save(file, with_last(np.nan))
    for items in (with_last(np.nan), torch.from_numpy(with_last(np.nan)), file, str(file)):
        with nothing_written(store, "NaN", last):
            store.write("b", items)
    with nothing_written(store, "NaN", last):
        store.write("b", np.array_split(with_last(np.nan), 5))
    with nothing_written(store, "between", last):
        store.write("b", with_last(1e9))
    with nothing_written(store, "str"):
        store.write("b", [vectors(3), "x"])  # pyright: ignore
    with nothing_written(store, "shape"):
        store.write("b", [vectors(3), vectors(3, size=SIZE + 1)])


def test_facts_are_checked_first(store):
    ids = [str(number) for number in range(COUNT)]
    rows = vectors(COUNT)
    store.write("a", rows[:1], ids=[ids[-1]])
    with nothing_written(store, "ids", repr(ids[-1])):
        store.write("a", rows, ids=ids)
    with nothing_written(store, "ids", "'0'"):
        store.write("a", rows, ids=[*ids[:-1], "0"])
    for few in (ids[:-1], [*ids, "more"]):
        with nothing_written(store, "labels", f"for {COUNT:,} items"):
            store.write("a", rows, labels=few)
    with nothing_written(store, "payloads"):
        store.write("a", rows, payloads=[*ids[:-1], 3])  # pyright: ignore
    for single in ("abcdef", b"abcdef", 3, np.array("a"), torch.zeros(6)):
        with nothing_written(store, "labels", "in order"):
            store.write("a", rows[:6], labels=single)  # pyright: ignore
    with nothing_written(store, "ids", "Unicode"):
        store.write("a", rows[:1], ids=["\ud800"])


def test_an_iterator_says_how_much(store):
    ids = [str(number) for number in range(12)]
    with pytest.raises(PartlyWrittenError, match=r"NaN.*row 10.*Before this, 8 items were") as got:
        store.write("a", iter([vectors(4), vectors(4), with_last(np.nan)[-3:]]), ids=iter(ids))
    error = got.value
    assert "continue with item 8 (the first is 0)" in str(error)
    assert "\n" not in str(error)
    assert (error.written.num_written, error.written.ids) == (8, ids[:8])
    assert store.info("a", verify=True).num_items == 8
    again = pickle.loads(pickle.dumps(error))
    assert (again.written, str(again)) == (error.written, str(error))


def test_what_was_left_out_counts_for_the_place_to_continue(store):
    twice = iter([vectors(4), vectors(4), with_last(np.nan)[-3:]])
    limit = SIZE / 2 * np.log(2)
    with pytest.raises(PartlyWrittenError, match="4 items were written and 4 left out") as caught:
        store.write("b", twice, skip_below=limit)
    assert "item 8" in str(caught.value)
    assert caught.value.written.skipped == [4, 5, 6, 7]


def test_errors_of_the_iterator_pass_through(store):
    def broken() -> Iterator[torch.Tensor]:
        yield vectors(4)
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="network") as caught:
        store.write("b", broken())
    assert caught.value.__notes__ == ["kanerva: 4 items were written before this."]
    assert store.info("b").num_items == 4


def test_texts_of_other_classes(store):
    """NumPy's texts and enums are texts; their rows must match their checksums."""
    import enum

    class Word(enum.StrEnum):
        FIRST = "first"

    ids, labels = np.array(["x", "y"]), [Word.FIRST, np.str_("second")]
    store.write("a", vectors(2), ids=ids, labels=labels, payloads=[np.bytes_(b"1"), "2"], time=-0.0)
    found = kanerva.open(store.path)
    assert found.info("a", verify=True).num_items == 2
    assert set(found.attribute("a", vectors(1))[0].labels) == {"first", "second"}
    assert found.forget("a", np.array(["x"])).num_items == 1  # pyright: ignore
    with pytest.raises(KanervaError, match="ids: expected a list of ids"):
        found.forget("a", 3)  # pyright: ignore


# -- the command -----------------------------------------------------------------------------------


def in_full_disk(words: list[str], limit: int) -> subprocess.CompletedProcess:
    """Run a command that can write files up to a limit, as on a full disk."""

    def setup() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [*KANERVA, *words], capture_output=True, text=True, preexec_fn=setup, timeout=120
    )


def test_the_command_on_a_full_disk(store, tmp_path):
    np.save(tmp_path / "rows.npy", vectors(3 * BATCH_SIZE).numpy())
    words = ["memory", "write", str(store.path / "a"), str(tmp_path / "rows.npy"), "--json"]
    store.close()
    row = store._memory("a").sums.format.row_bytes
    store.close()
    done = in_full_disk(words, int(1.7 * BATCH_SIZE * (row + 100)))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    report = json.loads(done.stdout)
    written = kanerva.open(store.path).info("a", verify=True).num_items
    assert written > 0
    assert report["written"] == len(report["ids"]) == written
    assert f"{written:,} items were written" in line
    assert f"{written:,} items were written" in report["error"]


def test_ctrl_c_says_how_much(store, tmp_path):
    np.save(tmp_path / "rows.npy", vectors(300_000).numpy())
    words = ["memory", "write", str(store.path / "b"), str(tmp_path / "rows.npy"), "--json"]
    process = subprocess.Popen(
        [*KANERVA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while store.info("b").num_items == 0 and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    report = json.loads(out)
    written = kanerva.open(store.path).info("b", verify=True).num_items
    assert 0 < written < 300_000
    assert report["written"] == written
    assert f"{written:,} items were written, the next is item {written:,}" in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_an_interrupt_after_a_batch_is_on_disk(store, monkeypatch, number):
    """It waits until the batch is counted."""
    append, calls = StoredMemory.append, []

    def append_and_interrupt(self: StoredMemory, rows: Rows) -> None:
        append(self, rows)
        calls.append(rows)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(StoredMemory, "append", append_and_interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        store.write("b", vectors(3 * BATCH_SIZE))
    assert vars(caught.value)["written"].num_written == number * BATCH_SIZE
    assert store.info("b", verify=True).num_items == number * BATCH_SIZE


@pytest.mark.parametrize("words", ["write m/a PIPE", "read m/a PIPE", "forget m/b --items PIPE"])
def test_pipes_are_not_waited_for(store, tmp_path, words):
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    chosen = words.replace("PIPE", str(pipe)).replace("m/", f"{store.path}/").split()
    done = subprocess.run([*KANERVA, "memory", *chosen], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "a pipe. Write the data into a file first" in done.stderr


def test_files_that_are_no_arrays(store, tmp_path):
    np.savez(tmp_path / "several.npy.npz", a=np.eye(3))
    os.rename(tmp_path / "several.npy.npz", tmp_path / "several.npy")
    (tmp_path / "words.npy").write_text("hello, this is no array")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    (tmp_path / "folder.npy").mkdir()
    Path(tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    words = {
        "several": "several arrays",
        "words": "something else",
        "objects": "something else",
        "folder": "a folder",
        "loop": "leads back to itself",
        "missing": "nothing there",
    }
    for name, part in words.items():
        with nothing_written(store, part):
            store.write("b", tmp_path / f"{name}.npy")
