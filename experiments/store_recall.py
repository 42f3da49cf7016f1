"""Vectors without training: planned against measured errors, "not in memory", and other tools.

    python experiments/store_recall.py --out results/store_recall.json

Vectors have random directions in 384 dimensions and length 1. Cues are the same vectors with noise
of a given length. The comparison with faiss is left out, with a line that says so, where faiss is
not installed (pip install faiss-cpu).
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import kanerva
from kanerva.store import MemoryStore, plan_vectors

SIZE = 384
Row = dict[str, object]


def directions(num: int, seed: int, size: int = SIZE) -> np.ndarray:
    """Vectors of length 1 in random directions, float32."""
    drawn = np.random.default_rng(seed).standard_normal((num, size))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def with_noise(vectors: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """Cues: noise of this length on each vector."""
    return vectors + noise * directions(len(vectors), seed, vectors.shape[1])


def area_under_curve(known: np.ndarray, unknown: np.ndarray) -> float:
    """How often a known one scores higher than an unknown one; ties count half."""
    joined = np.concatenate([known, unknown])
    _, ranks, counts = np.unique(joined, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - (counts - 1) / 2)[ranks]
    n = len(known)
    return float((middle[:n].sum() - n * (n + 1) / 2) / (n * len(unknown)))


def relative_error(found: np.ndarray, vectors: np.ndarray) -> float:
    """Root of the mean squared distance; the vectors have length 1."""
    return float(np.sqrt(((found - vectors) ** 2).sum(1).mean()))


def planned_and_measured(store: MemoryStore, *, num_items: int, num_cues: int) -> list[Row]:
    """Errors at half and at all of the planned capacity."""
    rows: list[Row] = []
    for rows_per_item in (0.25, 0.5, 1.0, 2.0, 4.0):
        for noise in (0.1, 0.3):
            plan = plan_vectors(num_items, SIZE, rows_per_item=rows_per_item, cue_noise=noise)
            name = f"plan{len(rows)}"
            store.create(name, plan=plan)
            vectors = directions(num_items, seed=1)
            for part in np.array_split(vectors, 2):
                store.write(name, part)
                written = store.info(name).num_items
                stored = vectors[written - len(part) : written][:num_cues]
                reading = store.read(name, with_noise(stored, noise, seed=2)).items.numpy()
                rows.append(
                    {
                        "rows_per_item": rows_per_item,
                        "cue_noise": noise,
                        "num_items": written,
                        "planned_for": num_items,
                        "predicted": plan.error_with(written),
                        "measured": relative_error(reading, stored),
                    }
                )
            store.delete(name)
    return rows


def not_in_memory(store: MemoryStore, *, num_items: int, num_cues: int) -> list[Row]:
    """Stored against never stored at half of the planned capacity, with K = n / 2 and less."""
    rows: list[Row] = []
    for rows_per_item in (0.5, 0.25, 0.1):
        for noise in (0.0, 0.1, 0.3, 0.5):
            plan = plan_vectors(num_items, SIZE, rows_per_item=rows_per_item, cue_noise=noise)
            store.create("auroc", plan=plan)
            vectors = directions(num_items // 2, seed=3)
            store.write("auroc", vectors)
            cues = with_noise(vectors[:num_cues], noise, seed=4)
            strangers = with_noise(directions(num_cues, seed=5), noise, seed=6)
            known = store.read("auroc", cues).confidence.numpy()
            unknown = store.read("auroc", strangers).confidence.numpy()
            answered = np.concatenate([known >= 0.5, unknown >= 0.5])
            rows.append(
                {
                    "planned_for": num_items,
                    "num_items": len(vectors),
                    "num_rows": plan.num_rows * plan.num_blocks,
                    "cue_noise": noise,
                    "auroc": area_under_curve(known, unknown),
                    "precision": float((known >= 0.5).sum() / max(1, answered.sum())),
                    "coverage_of_stored": float((known >= 0.5).mean()),
                    "strangers_answered": float((unknown >= 0.5).mean()),
                    "calibration_error": calibration_error(known, unknown),
                }
            )
            store.delete("auroc")
    return rows


def calibration_error(known: np.ndarray, unknown: np.ndarray) -> float:
    """Expected calibration error over ten bins of confidence; half of the cues are stored."""
    confidence = np.concatenate([known, unknown])
    truth = np.concatenate([np.ones(len(known)), np.zeros(len(unknown))])
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [
        abs(confidence[bins == one].mean() - truth[bins == one].mean()) * (bins == one).mean()
        for one in range(10)
        if (bins == one).any()
    ]
    return float(sum(gaps))


def equal_bytes(store: MemoryStore, *, num_items: int, num_cues: int, noise: float) -> list[Row]:
    """What each method returns for noisy cues, and how many bytes it needs."""
    vectors = directions(num_items, seed=7)
    cues = with_noise(vectors[:num_cues], noise, seed=8)
    strangers = with_noise(directions(num_cues, seed=9), noise, seed=10)
    rows: list[Row] = []

    def add(
        method: str,
        num_bytes: float,
        recall: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    ) -> None:
        found, scores = recall(cues)
        _, strange = recall(strangers)
        nearest = (found @ vectors.T).argmax(1) == np.arange(num_cues)
        rows.append(
            {
                "method": method,
                "bytes_per_vector": num_bytes / num_items,
                "error": relative_error(found, vectors[:num_cues]),
                "nearest_to_its_own": float(nearest.mean()),
                "auroc": area_under_curve(scores, strange),
            }
        )

    add("the cue itself", 0, lambda asked: (asked, np.zeros(len(asked))))
    scale = np.abs(vectors).max() / 127
    small = np.rint(vectors / scale).astype(np.int8)

    def exact(asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores = asked @ (small.astype(np.float32) * scale).T
        return small[scores.argmax(1)] * scale, scores.max(1)

    add("exact nearest neighbour, int8", num_items * SIZE, exact)
    for method, recall, num_bytes in _faiss_methods(vectors):
        add(method, num_bytes, recall)
    budget = num_items * SIZE  # bytes of int8
    per_row = {"float32 mean only": 4 * SIZE, "exact sums": 8 * (SIZE + 128.5)}
    for counted, row_bytes in per_row.items():
        for share in (1.0, 4.0, 16.0):
            rows_per_item = min(share * budget / row_bytes / num_items, 4.0)
            plan = plan_vectors(num_items, SIZE, rows_per_item=rows_per_item, cue_noise=noise)
            store.create("equal", plan=plan)
            store.write("equal", vectors)

            def ours(asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                reading = store.read("equal", asked)
                return reading.items.numpy(), reading.confidence.numpy()

            num_bytes = row_bytes * plan.num_rows * plan.num_blocks
            name = f"kanerva, {plan.num_rows * plan.num_blocks} rows ({counted})"
            add(name, num_bytes, ours)
            store.delete("equal")
    return rows


def _faiss_methods(vectors: np.ndarray) -> list[tuple[str, Callable, float]]:
    try:
        import faiss  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("faiss is not installed: its rows are left out (pip install faiss-cpu)")
        return []
    faiss.omp_set_num_threads(1)
    methods = []
    for num_parts in (192, 96, 48):
        index = faiss.IndexPQ(SIZE, num_parts, 8, faiss.METRIC_INNER_PRODUCT)
        index.pq.cp.min_points_per_centroid = 5  # say nothing about few training points
        index.train(vectors)
        index.add(vectors)

        def recall(asked: np.ndarray, index=index) -> tuple[np.ndarray, np.ndarray]:
            scores, found = index.search(asked.astype(np.float32), 1)
            return np.stack([index.reconstruct(int(one)) for one in found[:, 0]]), scores[:, 0]

        codebook = 256 * SIZE * 4
        methods.append((f"faiss PQ{num_parts}", recall, len(vectors) * num_parts + codebook))
    return methods


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/store_recall.json"))
    parser.add_argument("--num-items", type=int, default=4000)
    parser.add_argument("--num-cues", type=int, default=1000)
    parser.add_argument("--only", choices=["planner", "not_in_memory", "equal_bytes"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = {"num_items": options.num_items, "num_cues": options.num_cues}
    parts: dict[str, Callable[[MemoryStore], list[Row]]] = {
        "planner": lambda store: planned_and_measured(store, **sizes),
        "not_in_memory": lambda store: not_in_memory(store, **sizes),
        "equal_bytes": lambda store: equal_bytes(store, **sizes, noise=0.3),
    }
    saved: dict[str, object] = {"size": SIZE, "machine": platform.machine(), **sizes}
    if options.out.exists():
        saved |= json.loads(options.out.read_text())
    for name, measure in parts.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder, kanerva.open(folder) as store:
                saved[name] = rows = measure(store)
            for row in rows:
                print(name, " ".join(f"{key}={_short(value)}" for key, value in row.items()))
            options.out.write_text(json.dumps(saved, indent=1) + "\n")


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
