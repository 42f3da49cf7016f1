"""Vectors written by two processes, merged, asked with noise; some are deleted on request."""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

import kanerva
from kanerva.store import plan_vectors

SIZE = 384


def vectors_of(part: int, num: int) -> np.ndarray:
    """Stands for the embeddings of one part of your documents."""
    drawn = np.random.default_rng(part).standard_normal((num, SIZE), dtype=np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def write_part(folder: Path, part: int, num: int) -> None:
    ids = [f"document-{part}-{number}" for number in range(num)]
    with kanerva.open(folder) as store:
        store.write(f"part{part}", vectors_of(part, num), ids=ids)


def main(folder: Path, num: int) -> None:
    plan = plan_vectors(num, SIZE, rows_per_item=0.5, cue_noise=0.2)
    with kanerva.open(folder) as store:
        for name in ("part0", "part1", "all"):
            store.create(name, plan=plan, ledger=True)
        words = [sys.executable, __file__, str(folder), "--num", str(num // 2), "--part"]
        for process in [subprocess.Popen([*words, part]) for part in "01"]:
            assert process.wait() == 0
        store.merge("all", ["part0", "part1"])
        print(f"vectors in memory: {store.info('all').num_items:,}")

        own = vectors_of(1, num // 2)[-1000:]
        cues = own + 0.2 * vectors_of(2, len(own))
        print(f"noisy cues in memory: {store.read('all', cues).known.double().mean():.1%}")
        strangers = vectors_of(3, 1000)
        print(f"strangers in memory: {store.read('all', strangers).known.double().mean():.1%}")
        (found,) = store.attribute("all", cues[:1])
        print(f"strongest contribution: {found.ids[0]}")

        print(store.forget("all", found.ids[:1], verify=True).to_json())
        print(f"in memory after deletion: {store.read('all', own[:1]).known.item()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("memories"))
    parser.add_argument("--num", type=int, default=100_000)
    parser.add_argument("--part", type=int)
    given = vars(parser.parse_args())
    write_part(**given) if given["part"] is not None else main(given["folder"], given["num"])
