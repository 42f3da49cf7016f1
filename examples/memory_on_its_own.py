"""Write items into a memory, read them back, and see how sure it is. No network needed."""

import torch

from kanerva import MemoryState, condition, memory_kl, predict

NUM_ROWS, CODE_SIZE, NUM_ITEMS = 64, 16, 32
NOISE_VAR = 0.1


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(NUM_ITEMS, NUM_ROWS, generator=generator) / NUM_ROWS**0.5
    codes = torch.randn(NUM_ITEMS, CODE_SIZE, generator=generator)

    prior = MemoryState(torch.zeros(NUM_ROWS, CODE_SIZE), torch.eye(NUM_ROWS))
    memory = condition(prior, weights, codes, noise_var=NOISE_VAR)

    mean, var = predict(memory, weights, noise_var=NOISE_VAR)
    print(f"squared error of what was written: {(mean - codes).square().mean():.3f}")
    print(f"predicted variance of what was written: {var.mean():.2f}")

    unknown = torch.randn(NUM_ITEMS, NUM_ROWS, generator=generator) / NUM_ROWS**0.5
    var = predict(memory, unknown, noise_var=NOISE_VAR).var
    print(f"predicted variance of unknown items: {var.mean():.2f}")

    one_by_one = condition(prior, weights, codes, noise_var=NOISE_VAR, chunk=1)
    difference = (one_by_one.mean - memory.mean).abs().max()
    print(f"written one by one instead: the mean differs by {difference:.1g}")
    print(f"cost of the memory: {memory_kl(memory, prior) / NUM_ITEMS:.1f} nats per item")


if __name__ == "__main__":
    main()
