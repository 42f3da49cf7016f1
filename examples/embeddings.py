"""A key-value store for vectors that knows when a key is unknown."""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kanerva import MemoryState, condition, predict

KEY_SIZE, VALUE_SIZE, NUM_ROWS = 32, 64, 1024
NOISE_VAR = 0.01


class VectorStore:
    """Values by inexact keys. Random features make weights, so similar keys share rows."""

    def __init__(self, *, scale: float, generator: torch.Generator) -> None:
        self.frequencies = scale * torch.randn(KEY_SIZE, NUM_ROWS, generator=generator)
        self.phases = 2 * math.pi * torch.rand(NUM_ROWS, generator=generator)
        self.memory = MemoryState(torch.zeros(NUM_ROWS, VALUE_SIZE), torch.eye(NUM_ROWS))

    def weights_of(self, keys: Tensor) -> Tensor:
        return math.sqrt(2 / NUM_ROWS) * torch.cos(keys @ self.frequencies + self.phases)

    def store(self, keys: Tensor, values: Tensor) -> None:
        self.memory = condition(self.memory, self.weights_of(keys), values, noise_var=NOISE_VAR)

    def look_up(self, keys: Tensor, *, threshold: float = 0.5) -> tuple[Tensor, Tensor]:
        """Values (N, VALUE_SIZE), and whether to trust each of them (N,)."""
        mean, var = predict(self.memory, self.weights_of(keys), noise_var=NOISE_VAR)
        return mean, var < threshold


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    store = VectorStore(scale=2.0, generator=generator)
    keys = normalize(torch.randn(200, KEY_SIZE, generator=generator), dim=-1)
    values = torch.randn(200, VALUE_SIZE, generator=generator)
    store.store(keys, values)

    inexact = normalize(keys + 0.05 * torch.randn(keys.shape, generator=generator), dim=-1)
    found, trusted = store.look_up(inexact)
    right = torch.cdist(found, values).argmin(-1) == torch.arange(200)
    print(f"inexact keys: {right.float().mean():.0%} right, {trusted.float().mean():.0%} trusted")

    strangers = normalize(torch.randn(200, KEY_SIZE, generator=generator), dim=-1)
    _, trusted = store.look_up(strangers)
    print(f"unknown keys: {trusted.float().mean():.0%} trusted")


if __name__ == "__main__":
    main()
