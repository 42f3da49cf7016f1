"""Merge the memories of two machines, and forget one item so that no trace remains."""

import torch

from kanerva import Evidence, KanervaError, MemoryState, condition

NUM_ROWS, CODE_SIZE = 64, 16


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(50, NUM_ROWS, generator=generator)
    codes = torch.randn(50, CODE_SIZE, generator=generator)
    prior = MemoryState(torch.zeros(NUM_ROWS, CODE_SIZE), torch.eye(NUM_ROWS))

    here, there = Evidence.of(weights[:30], codes[:30]), Evidence.of(weights[30:], codes[30:])
    merged = (here + there).posterior(prior)
    one_writer = condition(prior, weights, codes)
    difference = (merged.mean - one_writer.mean).abs().max()
    print(f"merged, against one writer: the mean differs by {difference:.1g}")

    unwanted = Evidence.of(weights[:1], codes[:1])
    forgotten = (here + there - unwanted).posterior(prior)
    never_seen = condition(prior, weights[1:], codes[1:])
    difference = (forgotten.mean - never_seen.mean).abs().max()
    print(f"forgotten, against never seen: the mean differs by {difference:.1g}")

    stranger = Evidence.of(torch.randn(1, NUM_ROWS), torch.randn(1, CODE_SIZE))
    try:
        (here - stranger).posterior(prior)
    except KanervaError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
