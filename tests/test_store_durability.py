"""What returned is on disk, whatever happens; what was deleted is in no file."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kanerva
from kanerva.store.random_features import normal_numbers
from store_cases import bytes_in, many_blocks, small_plan, state_of, vectors

EXPECTED_NUMBERS = [
    2.377412869827822,
    0.22371615725569427,
    -1.0307578386273235,
    -1.143477215897292,
]
SCRIPT = Path(__file__).parents[1] / "experiments" / "store_kill_writer.py"


def test_kill_at_any_moment(tmp_path):
    """Eight kills; the acceptance measurement makes a hundred."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "stores"), "--kills", "8"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kills"] == 8
    assert report["acknowledged"] > 8
    assert (report["lost"], report["do_not_open"]) == (0, 0)


def test_readers_see_one_state_while_another_writes(tmp_path):
    """Writes come in pairs, so no reader ever sees an odd number of items."""
    reader, writer = kanerva.open(tmp_path), kanerva.open(tmp_path)
    reader.create("a", plan=small_plan(), ledger=True)

    def write_pairs() -> None:
        for seed in range(15):
            writer.write("a", vectors(2, seed=seed))

    thread = threading.Thread(target=write_pairs)
    thread.start()
    counts = set()
    while thread.is_alive():
        counts.add(reader.info("a").num_items)
    thread.join()
    assert all(count % 2 == 0 for count in counts)
    assert reader.info("a", verify=True).num_items == 30
    assert state_of(reader, "a") == state_of(writer, "a")


def test_two_writers_and_threads_take_turns(tmp_path):
    first, second = kanerva.open(tmp_path, timeout=10), kanerva.open(tmp_path, timeout=10)
    first.create("a", plan=small_plan(), ledger=True)

    def write(store, seed: int) -> None:
        for number in range(5):
            store.write("a", vectors(3, seed=100 * seed + number))

    jobs = ((first, 1), (second, 2), (first, 3))
    threads = [threading.Thread(target=write, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert first.info("a", verify=True).num_items == 45
    assert state_of(first, "a") == state_of(second, "a")


FORK = """
import os, sys
import kanerva
from store_cases import small_plan, vectors
store = kanerva.open(sys.argv[1])
store.create("a", plan=small_plan())
store.write("a", vectors(3))
child = os.fork()
if child == 0:
    store.write("a", vectors(3, seed=1))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(store.info("a").num_items)
"""


def test_a_store_survives_a_fork(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.strip() == "6", done.stderr


@pytest.mark.parametrize("summed_up", [False, True])
def test_nothing_is_left_of_deleted_items(tmp_path, summed_up):
    store = kanerva.open(tmp_path)
    store.create("a", plan=many_blocks(), ledger=True)
    items = vectors(300)
    if summed_up:
        store.write("a", vectors(3000, seed=1))
    for start in range(0, 300, 50):
        rows = slice(start, start + 50)
        names = [f"{kind} of {number}." for kind in ("id", "label") for number in range(300)]
        store.write(
            "a",
            items[rows],
            ids=names[:300][rows],
            labels=names[300:][rows],
            payloads=[f"payload of {number}.".encode() for number in range(300)][rows],
        )
    coder = store._memory("a").coder
    written = coder.grid.rounded(*coder.encode(items, None)[1:])
    gone = list(range(0, 300, 7))
    needles = {
        number: [
            f"id of {number}.".encode(),
            f"label of {number}.".encode(),
            f"payload of {number}.".encode(),
            items[number].numpy().tobytes(),
            written.codes[number].astype("<i4").tobytes(),
            written.weights[number].astype("<i4").tobytes(),
        ]
        for number in range(300)
    }
    assert bytes_in(tmp_path, needles[7][4])
    receipt = store.forget("a", [f"id of {number}." for number in gone])
    assert receipt.purged
    for number in gone:
        for needle in needles[number]:
            assert bytes_in(tmp_path, needle) == []
    kept = needles[1]
    assert all(bytes_in(tmp_path, kept[position]) for position in (0, 1, 2, 4, 5))


def test_without_a_ledger_nothing_is_left_either(tmp_path):
    store = kanerva.open(tmp_path)
    store.create("a", plan=small_plan())
    items = vectors(5)
    store.write("a", items)
    coder = store._memory("a").coder
    needle = coder.grid.rounded(*coder.encode(items, None)[1:]).codes[2].astype("<i4").tobytes()
    assert bytes_in(tmp_path, needle)
    store.forget("a", items=items[2:3])
    assert bytes_in(tmp_path, needle) == []


def test_a_memory_without_ledger_has_a_constant_size(tmp_path):
    store = kanerva.open(tmp_path)
    store.create("a", plan=small_plan())
    sizes = []
    for number in range(30):
        store.write("a", vectors(100, seed=number))
        store._memory("a").database.close()  # empties the write-ahead log
        sizes.append(store.info("a").num_bytes)
    assert max(sizes[10:]) <= max(sizes[:10])
    assert store.info("a").num_items == 3000


def test_a_reader_in_the_way_is_reported(tmp_path):
    import sqlite3

    store = kanerva.open(tmp_path, timeout=0.1)
    store.create("a", plan=small_plan(), ledger=True)
    ids = store.write("a", vectors(5)).ids
    reader = sqlite3.connect(tmp_path / "a.memory", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM items").fetchone()
    assert not store.forget("a", ids[:1]).purged
    reader.close()
    assert store.purge("a")


def test_deleting_a_memory(tmp_path):
    store = kanerva.open(tmp_path)
    store.create("a", plan=small_plan())
    store.write("a", vectors(5))
    store.delete("a")
    assert store.names() == []
    assert list(tmp_path.iterdir()) == []


def test_features_are_the_same_bits_everywhere():
    """From whole numbers alone; a change would make stored memories useless."""
    numbers = normal_numbers(7, "frequencies", (2, 2)).ravel().tolist()
    assert numbers == EXPECTED_NUMBERS
    many = normal_numbers(0, "test", (20000,))
    assert abs(many.mean()) < 0.03
    assert many.std() == pytest.approx(1, abs=0.02)
