"""The Differentiable Neural Computer (Graves et al. 2016) in the frame of appendix D.

Letters follow the methods section of Graves et al.: M memory, u usage, p precedence, L temporal
links, w_w and w_r weightings of writing and reading.
Shapes: K rows, C code size; leading dimensions are free.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.models.config import ModelConfig
from kanerva.models.memories.content import oneplus, similarity
from kanerva.models.memories.controlled import ControlledMemory


class DNCState(NamedTuple):
    """All that a DNC remembers."""

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
    """What the controller says when it writes; (..., C) or (..., 1)."""

    key: Tensor
    strength: Tensor
    erase: Tensor
    vector: Tensor
    free_gate: Tensor
    allocation_gate: Tensor
    write_gate: Tensor


class ReadCommand(NamedTuple):
    """What the controller says when it reads."""

    key: Tensor
    strength: Tensor
    modes: Tensor
    """(..., 3): how much to go backward in time, look up by content, go forward; sums to 1."""


class DNC(ControlledMemory):
    """One write head and one read head, as many as the Kanerva Machine has."""

    def __init__(self, config: ModelConfig) -> None:
        C = config.code_size
        self.sizes = (C, 1, C, C, 1, 1, 1, C, 1, 3)
        super().__init__(config, sum(self.sizes))

    def initial_state(self, batch_shape: torch.Size) -> DNCState:
        K, C = self.config.num_rows, self.config.code_size
        matrix, links, row = (self._zeros(batch_shape, *sizes) for sizes in ((K, C), (K, K), (K,)))
        return DNCState(matrix, row, row, links, row, row)

    def step(self, state: DNCState, word: Tensor) -> DNCState:
        return step(state, *self.commands(word))

    def read_weights(self, state: DNCState, words: Tensor) -> Tensor:
        last = state.read_weights
        return read_weights(state.memory, state.links, last, self.commands(words)[1])

    def commands(self, words: Tensor) -> tuple[WriteCommand, ReadCommand]:
        """A controller's words (..., n) in their parts, each in its range."""
        parts = words.split(self.sizes, dim=-1)
        key, strength, erase, vector, *gates, read_key, read_strength, modes = parts
        return (
            WriteCommand(
                key, oneplus(strength), erase.sigmoid(), vector, *map(torch.sigmoid, gates)
            ),
            ReadCommand(read_key, oneplus(read_strength), modes.softmax(-1)),
        )


def step(state: DNCState, write: WriteCommand, read: ReadCommand) -> DNCState:
    """Write one item, then read, as a DNC does: what was read may be freed at the next step.

    Commands are (..., 1, n), for one item.
    """
    kept = 1 - write.free_gate.squeeze(-2) * state.read_weights  # psi
    usage = (state.usage + state.write_weights - state.usage * state.write_weights) * kept
    content = similarity(state.memory, write.key, write.strength).squeeze(-2)
    goal = torch.lerp(content, allocation(usage), write.allocation_gate.squeeze(-2))
    weights = write.write_gate.squeeze(-2) * goal
    column = weights.unsqueeze(-1)
    memory = state.memory * (1 - column * write.erase) + column * write.vector
    links = linked(state.links, state.precedence, weights)
    precedence = (1 - weights.sum(-1, keepdim=True)) * state.precedence + weights
    reading = read_weights(memory, links, state.read_weights, read).squeeze(-2)
    return DNCState(memory, usage, precedence, links, weights, reading)


def allocation(usage: Tensor) -> Tensor:
    """a: rows in the order of how free they are, each taking what those before it left.

    Who comes before whom is a K x K question, so nothing needs to be sorted.
    """
    usage = 1e-6 + (1 - 1e-6) * usage  # a product of exact zeros has no derivative to order by
    own, other = usage.unsqueeze(-1), usage.unsqueeze(-2)
    number = torch.arange(usage.shape[-1], device=usage.device)
    before = (other < own) | ((other == own) & (number < number[:, None]))
    left = (before * other.log()).sum(-1).exp()
    return (1 - usage) * left


def linked(links: Tensor, precedence: Tensor, weights: Tensor) -> Tensor:
    """L after a write: rows written now follow rows that had precedence; no row follows itself."""
    to, since = weights[..., :, None], weights[..., None, :]
    links = (1 - to - since) * links + to * precedence[..., None, :]
    return links * (1 - torch.eye(links.shape[-1], dtype=links.dtype, device=links.device))


def read_weights(memory: Tensor, links: Tensor, last: Tensor, command: ReadCommand) -> Tensor:
    """w_r of n reads, (..., n, K): by content, or in time from where was read last."""
    before = (links * last.unsqueeze(-1)).sum(-2).unsqueeze(-2)
    after = (links * last.unsqueeze(-2)).sum(-1).unsqueeze(-2)
    content = similarity(memory, command.key, command.strength)
    back, look_up, forth = command.modes.split(1, dim=-1)
    return back * before + look_up * content + forth * after
