"""Six readings of 512 images over six plain passes of encoder and decoder, in turn, on this CPU.

python experiments/read_speed.py
"""

import statistics
import time

import torch

import kanerva
from kanerva import KanervaMachine

NUM, ITERATIONS, ROUNDS = 512, 6, 7


def main() -> None:
    machine = kanerva.load("omniglot")
    assert isinstance(machine, KanervaMachine)
    images = (torch.rand(NUM, 1, 28, 28, generator=torch.Generator().manual_seed(0)) < 0.1).float()
    memory = machine.write(images[:32])

    def read() -> None:
        machine.read(images, memory, iterations=ITERATIONS)

    codes = machine.read(images, memory, iterations=1).codes

    @torch.no_grad()
    def plain() -> None:
        for _ in range(ITERATIONS):
            machine.encode(images)
            machine.decode(codes)

    times: dict[str, list[float]] = {"read": [], "plain": []}
    read(), plain()  # warm
    for _ in range(ROUNDS):
        for name, work in (("read", read), ("plain", plain)):
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    pairs = zip(times["read"], times["plain"], strict=True)
    each = statistics.median(mine / bare for mine, bare in pairs)
    fastest = min(times["read"]) / min(times["plain"])
    print(f"reading / plain passes: {fastest:.3f} (fastest), {each:.3f} (median of rounds)")


if __name__ == "__main__":
    main()
