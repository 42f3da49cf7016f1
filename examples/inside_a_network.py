"""Train a network through the memory: it learns which entries of a key identify it."""

import torch
from torch import Tensor, nn

from kanerva import MemoryState, condition, predict


class AssociativeMemory(nn.Module):
    """A network makes the weights; the memory stores values and reads them with new cues."""

    def __init__(self, key_size: int, value_size: int, num_rows: int = 32) -> None:
        super().__init__()
        self.weights_of = nn.Sequential(nn.Linear(key_size, 64), nn.ReLU(), nn.Linear(64, num_rows))
        self.log_noise_var = nn.Parameter(torch.zeros(()))
        self.value_size, self.num_rows = value_size, num_rows

    def forward(self, keys: Tensor, values: Tensor, cues: Tensor) -> tuple[Tensor, Tensor]:
        noise_var = self.log_noise_var.exp()
        mean = keys.new_zeros(self.num_rows, self.value_size)
        prior = MemoryState(mean, torch.eye(self.num_rows, device=keys.device))
        memory = condition(prior, self.weights_of(keys), values, noise_var=noise_var)
        return predict(memory, self.weights_of(cues), noise_var=noise_var)


def draw_episodes(num_episodes: int, num_items: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and cues share 4 entries; the other 16 are noise, different in keys and cues."""
    identity = torch.randn(num_episodes, num_items, 4)
    noise = 3 * torch.randn(2, num_episodes, num_items, 16)
    keys, cues = torch.cat([identity.expand(2, -1, -1, -1), noise], dim=-1)
    return keys, torch.randn(num_episodes, num_items, 8), cues


def main() -> None:
    torch.manual_seed(0)
    model = AssociativeMemory(key_size=20, value_size=8)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(301):
        keys, values, cues = draw_episodes(16, 16)
        mean, var = model(keys, values, cues)
        var = var.unsqueeze(-1)  # one variance for all entries of a value
        loss = 0.5 * ((values - mean).square() / var + var.log()).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            error = (values - mean).square().mean()
            print(f"step {step:3}: squared error {error:.2f} (answering zero: 1.00)")


if __name__ == "__main__":
    main()
