"""Time the reading of a sparse distributed memory on one CPU core: packed words, matrix products.

python experiments/sparse_speed.py
"""

import time
from collections.abc import Callable

import torch

from kanerva import SparseMemory
from kanerva.sparse import radius_for

# addresses, bits, share of active addresses
SIZES = [(1_000, 1000, 0.02), (10_000, 1000, 0.004), (100_000, 256, 0.001), (100_000, 1000, 0.001)]
BATCH, ROUNDS = 256, 5


def fastest(work: Callable[[], object]) -> float:
    """Milliseconds of the fastest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def compare(num_addresses: int, num_bits: int, share: float) -> None:
    generator = torch.Generator().manual_seed(0)
    radius = radius_for(num_bits, share)
    memory = SparseMemory.random(num_addresses, num_bits, radius=radius, generator=generator)
    cues = torch.randint(2, (BATCH, num_bits), dtype=torch.bool, generator=generator)
    memory.write(cues)
    packed = memory._index.words
    for name, words in (("packed words", packed), ("products", None)):
        memory._index.words = words
        many = fastest(lambda: memory.read(cues)) / BATCH
        one = fastest(lambda: memory.read(cues[0]))
        print(f"{num_addresses} x {num_bits}, {name}: {many:.2f} ({one:.2f})", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    print(f"addresses x bits: ms per cue, {BATCH} at once (one alone)")
    for sizes in SIZES:
        compare(*sizes)


if __name__ == "__main__":
    main()
