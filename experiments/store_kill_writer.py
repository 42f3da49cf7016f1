"""Kill a process that writes and deletes, at random moments, and check what it left behind.

    python experiments/store_kill_writer.py FOLDER --kills 100

Each time a child process creates a memory, then writes and deletes for ever. It reports each
operation when it begins and when it has returned. The parent kills it with SIGKILL and opens the
memory: it must be the one that holds exactly what was acknowledged, with or without the one
operation that was in flight.
"""

import argparse
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kanerva
from kanerva.errors import KanervaError
from kanerva.store import plan_vectors

SIZE = 32


class Report(NamedTuple):
    """What was found after a kill."""

    opens: bool
    acknowledged: int
    """Operations that returned."""
    lost: int
    """1 if the memory is not what was acknowledged."""
    in_flight: bool
    """Whether an operation had begun and not returned."""


def vectors(numbers: list[int]) -> np.ndarray:
    """The vectors with some numbers, (T, SIZE)."""
    return np.stack([np.random.default_rng(one).standard_normal(SIZE) for one in numbers])


def work(folder: Path, out: int, *, ledger: bool, seed: int) -> None:
    """Write and delete for ever; reports go to the file descriptor `out`."""

    def say(line: str) -> None:
        os.write(out, f"{line}\n".encode())

    choice = np.random.default_rng(seed)
    store = kanerva.open(folder)
    store.create("a", plan=plan_vectors(40, SIZE, rows_per_item=1.0), ledger=ledger)
    say("ready")
    there: list[int] = []
    number = 0
    while True:
        if there and choice.random() < 0.3:
            gone = there.pop(int(choice.integers(len(there))))
            purge = bool(choice.random() < 0.2)
            say(f"begin forget {gone}")
            if ledger:
                store.forget("a", [str(gone)], purge=purge)
            else:
                store.forget("a", items=vectors([gone]), purge=purge)
            say(f"done forget {gone}")
        else:
            number += 1
            say(f"begin write {number}")
            store.write("a", vectors([number]), ids=[str(number)] if ledger else None)
            say(f"done write {number}")
            there.append(number)


def kill_once(folder: Path, *, ledger: bool, seconds: float, seed: int) -> list[str]:
    """Start a child, kill it after some time, and return what it reported."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        try:
            work(folder, write_end, ledger=ledger, seed=seed)
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        assert lines.readline() == "ready\n"
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [line.strip() for line in lines if line.endswith("\n")]


def check(folder: Path, lines: list[str], *, ledger: bool) -> Report:
    """Open the memory and compare it with what was acknowledged."""
    done = [line.split()[1:] for line in lines if line.startswith("done")]
    begun = [line.split()[1:] for line in lines if line.startswith("begin")]
    there: set[int] = set()
    for action, number in done:
        there = there | {int(number)} if action == "write" else there - {int(number)}
    possible = [there]
    for action, number in begun[len(done) :]:  # at most one; it may have been committed or not
        other = there | {int(number)} if action == "write" else there - {int(number)}
        possible.append(other)
    in_flight = len(possible) > 1
    try:
        with kanerva.open(folder) as store:
            found = store.info("a", verify=True)
            states = [_state_of(store, sorted(one), ledger=ledger) for one in possible]
            kept = found.state in states and found.distance in (0.0, None)
    except KanervaError:
        return Report(False, len(done), 1, in_flight)
    return Report(True, len(done), int(not kept), in_flight)


def _state_of(store: kanerva.MemoryStore, numbers: list[int], *, ledger: bool) -> str:
    """The state of a memory into which these vectors were written at once."""
    if "expected" in store.names():
        store.delete("expected")
    store.create("expected", plan=plan_vectors(40, SIZE, rows_per_item=1.0), ledger=ledger)
    if numbers:
        store.write("expected", vectors(numbers))
    return store.info("expected").state


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--longest", type=float, default=0.5, help="seconds before a kill")
    options = parser.parse_args()
    print(json.dumps(kill_many(options.folder, options.kills, longest=options.longest)))


def kill_many(folder: Path, kills: int, *, longest: float = 0.5) -> dict[str, int]:
    """Kill so many times, with and without a ledger in turn; returns the counts."""
    moments = random.Random(0)
    reports: list[Report] = []
    for number in range(kills):
        own, ledger = folder / str(number), number % 2 == 1
        lines = kill_once(own, ledger=ledger, seconds=moments.uniform(0, longest), seed=number)
        reports.append(check(own, lines, ledger=ledger))
        shutil.rmtree(own)
    return {
        "kills": kills,
        "in_flight": sum(report.in_flight for report in reports),
        "acknowledged": sum(report.acknowledged for report in reports),
        "lost": sum(report.lost for report in reports),
        "do_not_open": sum(not report.opens for report in reports),
    }


if __name__ == "__main__":
    main()
