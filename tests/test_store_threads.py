"""Threads and forks: no deadlock, nothing lost, and every thread sees what is on disk."""

import contextlib
import multiprocessing
import os
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import kanerva
from kanerva import KanervaError
from kanerva.store import MemoryStore, merging
from kanerva.store.block_sums import BlockSums
from kanerva.store.database import Database
from store_cases import SIZE, small_plan, state_of, vectors


def run_all(*calls, timeout: float = 30) -> list[BaseException]:
    """Run calls in threads at the same time; what they raised. None may hang."""
    raised: list[BaseException] = []

    def guarded(call) -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive(), "a thread hangs"
    return raised


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    made = kanerva.open(tmp_path / "memories")
    for name in ("a", "b"):
        made.create(name, plan=small_plan())
        made.write(name, vectors(5))
    return made


def test_merging_into_each_other(store, monkeypatch):
    """Each thread needs the locks of both memories; slow ones would wait for each other."""
    hold = merging._FromMemory.held

    @contextlib.contextmanager
    def slowly(source):
        with hold(source) as connection:
            time.sleep(0.2)
            yield connection

    monkeypatch.setattr(merging._FromMemory, "held", slowly)

    def merge(target: str, source: str) -> None:
        store.merge(target, [source])

    assert run_all(lambda: merge("a", "b"), lambda: merge("b", "a")) == []
    counts = {name: store.info(name).num_items for name in ("a", "b")}
    assert all(count % 5 == 0 and count > 5 for count in counts.values())


def test_the_same_memory_opened_by_many_threads(tmp_path, monkeypatch):
    """All of them get one connection, so that none waits for the lock of another."""
    make = Database.__init__

    def slowly(database: Database, *args, **options) -> None:
        time.sleep(0.1)
        make(database, *args, **options)

    monkeypatch.setattr(Database, "__init__", slowly)
    folder = tmp_path / "memories"
    with kanerva.open(folder) as first:
        first.create("a", plan=small_plan(), ledger=True)
    store = kanerva.open(folder, timeout=0.0)
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        for turn in range(5):
            store.write("a", vectors(1, seed=number), ids=[f"{number}-{turn}"])

    assert run_all(*(lambda number=number: write(number) for number in range(8))) == []
    assert store.info("a", verify=True).num_items == 40
    assert len(store._open) == 1


def test_a_failed_merge_is_not_seen_by_another_thread(store, monkeypatch):
    """Sums that are taken back must not be read in between, however long that takes."""
    forget = BlockSums.forget_cache

    def slowly(sums: BlockSums) -> None:
        time.sleep(0.02)
        forget(sums)

    monkeypatch.setattr(BlockSums, "forget_cache", slowly)
    for name in ("c", "d"):
        store.create(name, plan=small_plan(), ledger=True)
        store.write(name, vectors(5, seed=3), ids=list("vwxyz"))
    memory, seen = store._memory("c"), set()

    def merge() -> None:
        for _ in range(10):
            with pytest.raises(KanervaError, match="ids"):
                store.merge("c", ["d"])

    def look() -> None:
        for _ in range(200):
            with memory.database.reading() as connection:
                seen.add(memory.sums.load(connection, 0)[0].count)
            time.sleep(0.001)

    assert run_all(merge, look) == []
    assert seen == {5}


def test_closing_while_others_work(store):
    def write() -> None:
        for _ in range(30):
            store.write("a", vectors(1))

    def close() -> None:
        for _ in range(30):
            store.close()

    assert run_all(write, close) == []
    assert store.info("a").num_items == 35


def child_writes(folder: Path, store: MemoryStore, ready, go) -> None:
    store.write("a", vectors(1, seed=1))
    ready.set()
    assert go.wait(60)
    store.write("a", vectors(1, seed=2))
    os._exit(0)  # like a crash: nothing is closed


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_what_a_forked_process_wrote_stays(store, tmp_path):
    """A child has none of its parent's locks; the parent must not remove the log it writes to."""
    context = multiprocessing.get_context("fork")
    ready, go = context.Event(), context.Event()
    other = kanerva.open(store.path)  # a second connection to the same file
    other.info("a")
    child = context.Process(target=child_writes, args=(tmp_path, store, ready, go))
    child.start()
    assert ready.wait(60)
    store.close()
    other.close()
    go.set()
    child.join(60)
    assert child.exitcode == 0
    assert kanerva.open(store.path).info("a", verify=True).num_items == 7


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_fork_while_another_thread_writes(store):
    """The child can use the store at once: the fork waits for the end of the transaction."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.write("b", vectors(1))

    def look(queue) -> None:
        queue.put(store.info("b").num_items >= 5)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            queue = context.SimpleQueue()
            child = context.Process(target=look, args=(queue,))
            child.start()
            child.join(60)
            assert child.exitcode == 0
            assert queue.get()
    finally:
        stop.set()
        thread.join(60)
    assert store.info("b", verify=True).num_items > 5


def test_a_file_that_was_replaced_is_opened_again(store):
    store.info("a")
    other = kanerva.open(store.path)
    other.delete("a")
    other.create("a", plan=small_plan())
    assert store.info("a").num_items == 0
    store.write("a", vectors(3))
    assert other.info("a").num_items == 3


def test_one_connection_for_each_file(store, tmp_path):
    """A memory has many names: relative, with dots, by a link."""
    link = tmp_path / "link"
    link.symlink_to(store.path)
    for path in (store.path / "a", store.path / ".." / "memories" / "a", link / "a.memory"):
        assert store._memory(path) is store._memory("a")


def test_merging_a_memory_into_itself(store, tmp_path):
    before = state_of(store, "a")
    link, hard = tmp_path / "link.memory", tmp_path / "hard.memory"
    link.symlink_to(store.path / "a.memory")
    os.link(store.path / "a.memory", hard)
    for path in (store.path / "a", store.path / "../memories/a.memory", link, hard):
        with pytest.raises(KanervaError, match="the memory itself"):
            store.merge("a", ["b", path])
    for sources in ("b", 3, None, np.array("b")):
        with pytest.raises(KanervaError, match="sources: expected a list of memories"):
            store.merge("a", sources)  # pyright: ignore
    assert state_of(store, "a") == before
    assert store.read("a", vectors(5)).items.shape == (5, SIZE)


def test_a_purge_waits_for_another_writer(store):
    other = sqlite3.connect(store.path / "a.memory", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KanervaError, match="another process"):
        kanerva.open(store.path, timeout=0.1).purge("a")
    other.execute("ROLLBACK")
    other.close()
    assert store.purge("a")
