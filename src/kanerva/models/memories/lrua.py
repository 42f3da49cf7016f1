"""Least recently used access (Santoro et al. 2016) in the frame of appendix D.

It writes to the rows that were read last, or to the row used least. It reads by content alone.
Shapes: K rows, C code size; leading dimensions are free.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.models.config import LRUAConfig
from kanerva.models.memories.content import oneplus, similarity
from kanerva.models.memories.controlled import ControlledMemory

DECAY = 0.95
"""gamma: how much of the usage remains after a step."""


class LRUAState(NamedTuple):
    """Everything that the memory remembers."""

    memory: Tensor
    """M, (..., K, C)."""
    usage: Tensor
    """w_u, (..., K): how much each row was read and written lately."""
    read_weights: Tensor
    """w_r of the last step, (..., K)."""


class LRUA(ControlledMemory[LRUAState]):
    """A memory with one head. The key that it looks up is also what it writes."""

    def __init__(self, config: LRUAConfig) -> None:
        super().__init__(config, output_size=config.code_size + 1)
        self.gate = nn.Parameter(torch.zeros(()))
        """alpha: write to the rows read last (1), or to the least used row (0)."""

    def is_state(self, value: object) -> bool:
        return isinstance(value, LRUAState)

    def initial_state(self, batch_shape: torch.Size) -> LRUAState:
        K, C = self.config.num_rows, self.config.code_size
        row = self._zeros(batch_shape, K)
        return LRUAState(self._zeros(batch_shape, K, C), row, row)

    def step(self, state: LRUAState, instruction: Tensor) -> LRUAState:
        return step(state, *self.command(instruction), self.gate.sigmoid())

    def read_weights(self, state: LRUAState, instructions: Tensor) -> Tensor:
        return similarity(state.memory, *self.command(instructions))

    def command(self, instructions: Tensor) -> tuple[Tensor, Tensor]:
        """Key (..., C) and strength (..., 1)."""
        key, strength = instructions.split([self.config.code_size, 1], dim=-1)
        return key, oneplus(strength)


def step(state: LRUAState, key: Tensor, strength: Tensor, gate: Tensor) -> LRUAState:
    """Clear the least used row, write the key there or to the rows read last, then look it up.

    Key and strength are (..., 1, n), for one item.
    """
    least = least_used(state.usage)
    weights = gate * state.read_weights + (1 - gate) * least
    memory = state.memory * (1 - least.unsqueeze(-1)) + weights.unsqueeze(-1) * key
    read = similarity(memory, key, strength).squeeze(-2)
    return LRUAState(memory, DECAY * state.usage + read + weights, read)


def least_used(usage: Tensor) -> Tensor:
    """w_lu: one where usage is smallest, zero elsewhere. No gradient passes through this choice."""
    return nn.functional.one_hot(usage.argmin(-1), usage.shape[-1]).to(usage.dtype)
