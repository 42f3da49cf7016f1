"""Time of algorithm 1, over the same number of plain passes of encoder and decoder.

    python -m kanerva.benchmarks.read_speed

Six readings of 512 images and six plain passes are timed in turn, on the CPU.
"""

import torch

from kanerva.benchmarks.timing import fastest_ratio, median_ratio, time_in_turn
from kanerva.models.checkpoint import load

NUM_IMAGES, NUM_READINGS, NUM_ROUNDS = 512, 6, 7


def main() -> None:
    """Print the ratio: of the fastest rounds, and its median over rounds."""
    machine = load("omniglot")
    generator = torch.Generator().manual_seed(0)
    images = (torch.rand(NUM_IMAGES, 1, 28, 28, generator=generator) < 0.1).float()
    memory = machine.write(images[:32])
    codes = machine.read(images, memory, num_readings=1, keep_cue=False).codes

    def read() -> None:
        machine.read(images, memory, num_readings=NUM_READINGS, keep_cue=False)

    @torch.no_grad()
    def plain() -> None:
        for _ in range(NUM_READINGS):
            machine.coder.encode(images)
            machine.coder.decode(codes)

    times = time_in_turn(NUM_ROUNDS, read, plain)
    print(
        f"reading / plain passes: {fastest_ratio(*times):.3f} (fastest), "
        f"{median_ratio(*times):.3f} (median of rounds)"
    )


if __name__ == "__main__":
    main()
