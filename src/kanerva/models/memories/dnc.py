"""The Differentiable Neural Computer (Graves et al. 2016) in the frame of appendix D.

Letters follow the methods section of Graves et al.: M memory, u usage, p precedence, L temporal
links, w_w and w_r weightings of writing and reading.
Shapes: K rows, C code size; leading dimensions are free.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.models.config import DNCConfig
from kanerva.models.memories.content import oneplus, similarity
from kanerva.models.memories.controlled import ControlledMemory


class DNCState(NamedTuple):
    """Everything that a DNC remembers."""

    memory: Tensor
    """M, (..., K, C)."""
    usage: Tensor
    """u, (..., K): between 0, free, and 1, in use."""
    precedence: Tensor
    """p, (..., K): how much a row was the last written to; sums to at most 1."""
    links: Tensor
    """L, (..., K, K): L[i, j] says that i was written right after j."""
    write_weights: Tensor
    """w_w of the last step, (..., K)."""
    read_weights: Tensor
    """w_r of the last step, (..., K)."""


class WriteCommand(NamedTuple):
    """The instruction of the controller for writing; each part is (..., C) or (..., 1)."""

    key: Tensor
    strength: Tensor
    erase: Tensor
    vector: Tensor
    free_gate: Tensor
    allocation_gate: Tensor
    write_gate: Tensor


class ReadCommand(NamedTuple):
    """The instruction of the controller for reading."""

    key: Tensor
    strength: Tensor
    modes: Tensor
    """(..., 3): how much to go backward in time, look up by content, go forward; sums to 1."""


class DNC(ControlledMemory[DNCState]):
    """A DNC with one write head and one read head, as many as the Kanerva Machine has."""

    def __init__(self, config: DNCConfig) -> None:
        C = config.code_size
        self.sizes = (C, 1, C, C, 1, 1, 1, C, 1, 3)
        super().__init__(config, output_size=sum(self.sizes))

    def is_state(self, value: object) -> bool:
        return isinstance(value, DNCState)

    def initial_state(self, batch_shape: torch.Size) -> DNCState:
        K, C = self.config.num_rows, self.config.code_size
        matrix, links, row = (self._zeros(batch_shape, *sizes) for sizes in ((K, C), (K, K), (K,)))
        return DNCState(matrix, row, row, links, row, row)

    def step(self, state: DNCState, instruction: Tensor) -> DNCState:
        return step(state, *self.commands(instruction))

    def read_weights(self, state: DNCState, instructions: Tensor) -> Tensor:
        last = state.read_weights
        return read_weights(state.memory, state.links, last, self.commands(instructions)[1])

    def commands(self, instructions: Tensor) -> tuple[WriteCommand, ReadCommand]:
        """The parts of the controller's output (..., n), each in its range."""
        parts = instructions.split(self.sizes, dim=-1)
        key, strength, erase, vector, *gates, read_key, read_strength, modes = parts
        return (
            WriteCommand(
                key, oneplus(strength), erase.sigmoid(), vector, *map(torch.sigmoid, gates)
            ),
            ReadCommand(read_key, oneplus(read_strength), modes.softmax(-1)),
        )


def step(state: DNCState, write: WriteCommand, read: ReadCommand) -> DNCState:
    """Write one item, then read. The next step may free the rows that were read.

    Commands are (..., 1, n), for one item.
    """
    kept = 1 - write.free_gate.squeeze(-2) * state.read_weights  # psi
    usage = (state.usage + state.write_weights - state.usage * state.write_weights) * kept
    content = similarity(state.memory, write.key, write.strength).squeeze(-2)
    goal = torch.lerp(content, allocation(usage), write.allocation_gate.squeeze(-2))
    weights = write.write_gate.squeeze(-2) * goal
    column = weights.unsqueeze(-1)
    memory = state.memory * (1 - column * write.erase) + column * write.vector
    links = updated_links(state.links, state.precedence, weights)
    precedence = (1 - weights.sum(-1, keepdim=True)) * state.precedence + weights
    reading = read_weights(memory, links, state.read_weights, read).squeeze(-2)
    return DNCState(memory, usage, precedence, links, weights, reading)


def allocation(usage: Tensor) -> Tensor:
    """a: the freest row takes most, and each next row takes a part of what is left.

    A K x K comparison tells which rows come before which, so nothing is sorted.
    """
    usage = 1e-6 + (1 - 1e-6) * usage  # a product of exact zeros has no derivative to order by
    own, other = usage.unsqueeze(-1), usage.unsqueeze(-2)
    number = torch.arange(usage.shape[-1], device=usage.device)
    before = (other < own) | ((other == own) & (number < number[:, None]))
    left = (before * other.log()).sum(-1).exp()
    return (1 - usage) * left


def updated_links(links: Tensor, precedence: Tensor, weights: Tensor) -> Tensor:
    """L after a write: the rows written now follow the rows written last. No row follows itself."""
    to, since = weights[..., :, None], weights[..., None, :]
    links = (1 - to - since) * links + to * precedence[..., None, :]
    return links * (1 - torch.eye(links.shape[-1], dtype=links.dtype, device=links.device))


def read_weights(memory: Tensor, links: Tensor, last: Tensor, command: ReadCommand) -> Tensor:
    """w_r of n reads, (..., n, K): by content, or one step in time from the rows read last."""
    before = (links * last.unsqueeze(-1)).sum(-2).unsqueeze(-2)
    after = (links * last.unsqueeze(-2)).sum(-1).unsqueeze(-2)
    content = similarity(memory, command.key, command.strength)
    back, look_up, forth = command.modes.split(1, dim=-1)
    return back * before + look_up * content + forth * after
