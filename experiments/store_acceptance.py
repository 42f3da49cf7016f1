"""Measure what a store promises: exactness, constant size, durability and speed.

    python experiments/store_acceptance.py --out results/store.json

Each part can be run alone with --only. The tests run scaled versions of all of them.
"""

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from store_kill_writer import kill_many
from store_recall import directions

import kanerva
from kanerva.store import plan_vectors, write_together

Report = dict[str, object]


def forgetting(folder: Path) -> Report:
    """10,000 writes and 5,000 deletions, against a memory that never saw the deleted items."""
    vectors = directions(10_000, seed=0, size=64)
    plan = plan_vectors(10_000, 64, rows_per_item=0.02)
    report: Report = {}
    for dtype in (torch.float64, torch.float32):
        store = kanerva.open(folder / str(dtype))
        store.create("all", plan=plan, ledger=True, dtype=dtype)
        ids = store.write("all", vectors).ids
        chosen = np.random.default_rng(1).permutation(10_000)
        receipt = store.forget("all", [ids[one] for one in chosen[:5000]], verify=True)
        store.create("never", plan=plan, dtype=dtype)
        store.write("never", vectors[chosen[5000:]])
        mine, other = store.memory("all").mean, store.memory("never").mean
        report[str(dtype)] = {
            "relative_distance": ((mine - other).norm() / other.norm()).item(),
            "same_state": receipt.after == store.info("never").state,
            "distance_on_receipt": receipt.distance,
        }
    return report


def churn(folder: Path, *, num_operations: int = 500_000, kept: int = 1000) -> Report:
    """Writes and deletions in random order, with `kept` items at the end."""
    size, batch = 32, 500
    plan = plan_vectors(kept, size, rows_per_item=0.5)
    report: Report = {"operations": num_operations, "kept": kept}
    for ledger in (False, True):
        store = kanerva.open(folder / f"churn-{ledger}")
        store.create("a", plan=plan, ledger=ledger)
        random = np.random.default_rng(2)
        there = np.zeros((0, size), np.float32)
        ids: list[str] = []
        sizes, start, number = [], time.perf_counter(), 0
        while number < num_operations:
            new = directions(batch, seed=10 + number, size=size)
            ids += store.write("a", new).ids
            there = np.concatenate([there, new])
            number += len(new)
            excess = min(len(there) - int(random.integers(kept, 3 * kept)), num_operations - number)
            if number + batch >= num_operations:
                excess = len(there) - kept
            if excess > 0:
                order = random.permutation(len(there))
                gone, left = order[:excess], order[excess:]
                if ledger:
                    store.forget("a", [ids[one] for one in gone], purge=False)
                    ids = [ids[one] for one in left]
                else:
                    store.forget("a", items=there[gone], purge=False)
                there = there[left]
                number += excess
            if len(sizes) < number * 20 // num_operations:
                store.purge("a")
                sizes.append(store.info("a").num_bytes)
        seconds = time.perf_counter() - start
        store.purge("a")
        store.create("only", plan=plan, ledger=ledger)
        store.write("only", there)
        store.purge("only")
        mine, other = (store.info(name) for name in ("a", "only"))
        distances = [
            (store.memory("a", block=one).mean - store.memory("only", block=one).mean).norm().item()
            for one in range(plan.num_blocks)
        ]
        report["with_ledger" if ledger else "without_ledger"] = {
            "operations": number,
            "items_at_the_end": mine.num_items,
            "same_state": mine.state == other.state,
            "distance": max(distances),
            "bytes_over_time": sizes,
            "bytes_at_the_end": mine.num_bytes,
            "bytes_if_only_those_were_written": other.num_bytes,
            "seconds": seconds,
        }
    return report


def merging(folder: Path) -> Report:
    """Four shards against one pass."""
    vectors = directions(8000, seed=3, size=64)
    plan = plan_vectors(8000, 64, rows_per_item=0.1)
    store = kanerva.open(folder / "merging")
    store.create("once", plan=plan)
    store.write("once", vectors)
    for number, part in enumerate(np.array_split(vectors, 4)):
        store.create(f"shard{number}", plan=plan)
        store.write(f"shard{number}", part)
    store.create("merged", plan=plan)
    state = store.merge("merged", [f"shard{number}" for number in range(4)])
    distances = [
        (store.memory("merged", block=one).mean - store.memory("once", block=one).mean).norm()
        for one in range(plan.num_blocks)
    ]
    return {"same_state": state == store.info("once").state, "distance": max(distances).item()}


def kills(folder: Path) -> Report:
    """A hundred kills at random moments."""
    return dict(kill_many(folder / "kills", 100))


def durable_writes(folder: Path, *, num_writes: int = 300) -> Report:
    """One write against a bare SQLite commit of the same bytes; batches against single writes."""
    plan = plan_vectors(10_000, 384, rows_per_item=0.5)
    store = kanerva.open(folder / "durable")
    store.create("a", plan=plan, ledger=True)
    vectors = directions(num_writes, seed=4)
    row_bytes = store._memory("a").sums.format.row_bytes + 60
    bare = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, contents BLOB)")
    store.write("a", vectors[:1])
    single, commits = [], []
    for number in range(num_writes):  # in turn, so that both meet the same disk
        start = time.perf_counter()
        store.write("a", vectors[number : number + 1])
        single.append(time.perf_counter() - start)
        contents = os.urandom(row_bytes)
        start = time.perf_counter()
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO items (contents) VALUES (?)", (contents,))
        bare.execute("COMMIT")
        commits.append(time.perf_counter() - start)
    batches = []
    for number in range(12):
        batch = directions(256, seed=100 + number)
        start = time.perf_counter()
        store.write("a", batch)
        batches.append(time.perf_counter() - start)
    one, commit, many = (float(np.mean(times)) for times in (single, commits, batches))
    return {
        "row_bytes": row_bytes,
        "one_write_ms": 1e3 * one,
        "bare_commit_ms": 1e3 * commit,
        "ratio": one / commit,
        "median_ratio": float(np.median(single) / np.median(commits)),
        "batch_of_256_ms": 1e3 * many,
        "batch_rate_over_single_rate": 256 * one / many,
    }


def two_processes(folder: Path, *, num_items: int = 200_000) -> Report:
    """Two processes on two cores against one with one thread."""
    seconds = {}
    states = set()
    for num_processes in (1, 2):
        path = folder / f"together{num_processes}"
        with kanerva.open(path) as store:
            store.create("a", plan=plan_vectors(num_items, 384, rows_per_item=0.1))
        command = [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", str(num_processes), __file__),
            *("--worker", str(path), "--num-items", str(num_items)),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
        found = json.loads(line)
        seconds[num_processes] = found["seconds"]
        states.add(found["state"])
    return {
        "num_items": num_items,
        "seconds_one": seconds[1],
        "seconds_two": seconds[2],
        "speed_up": seconds[1] / seconds[2],
        "same_state": len(states) == 1,
    }


def worker(path: Path, num_items: int) -> None:
    """One process of `two_processes`: its part of the vectors, in batches."""
    torch.distributed.init_process_group("gloo")
    rank, count = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(1)
    seeds = range(rank, num_items // 2000, count)
    torch.distributed.barrier()
    start = time.perf_counter()
    with kanerva.open(path) as store:
        state = write_together(store, "a", (directions(2000, seed=one) for one in seeds), time=0.0)
    if rank == 0:
        print(json.dumps({"seconds": time.perf_counter() - start, "state": state}))
    torch.distributed.destroy_process_group()


PARTS: dict[str, Callable[[Path], Report]] = {
    "forgetting": forgetting,
    "churn": churn,
    "merging": merging,
    "kills": kills,
    "durable_writes": durable_writes,
    "two_processes": two_processes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/store.json"))
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--num-items", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker, options.num_items)
        return
    torch.set_num_threads(1)
    saved: Report = {"machine": platform.machine(), "torch": torch.__version__}
    if options.out.exists():
        saved |= json.loads(options.out.read_text())
    for name, measure in PARTS.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                saved[name] = measure(Path(folder))
            print(name, json.dumps(saved[name]), flush=True)
            options.out.write_text(json.dumps(saved, indent=1) + "\n")


if __name__ == "__main__":
    main()
