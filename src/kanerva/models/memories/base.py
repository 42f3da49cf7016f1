"""The protocol that every memory meets, so that the model around them is the same code.

Shapes: T items, K rows, C code size, Y entries of an address; leading dimensions are free.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from kanerva.models.config import ModelConfig


class Recall(NamedTuple):
    """p(z | y, M), and where it came from."""

    mean: Tensor
    """(..., T, C)."""
    var: Tensor | float
    """sigma^2, or (..., T, 1) where it differs between items."""
    weights: Tensor
    """(..., T, K): how much each row counted."""

    @property
    def log_var(self) -> Tensor:
        """For every entry of a code, (..., T, C)."""
        if isinstance(self.var, Tensor):
            return self.var.log().expand_as(self.mean)
        return torch.full_like(self.mean, math.log(self.var))


class Memory(nn.Module):
    """What was written is in the state alone: the module holds what was learned in training.

    A state is a value: `write` returns a new one. Its leading dimensions are a batch of memories.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    @property
    def address_size(self) -> int:
        """Y: entries of the addressing variable, whose prior is N(0, I)."""
        return self.config.address_size

    def initial_state(self, batch_shape: torch.Size) -> Any:
        """Before anything was written."""
        raise AssertionError("each memory has its own state")

    def batch_shape(self, state: Any) -> torch.Size:
        """Leading dimensions of a state."""
        return state.memory.shape[:-2]

    def place(self, addresses: Tensor) -> Tensor:
        """What `write` and `read` take in place of y: addresses (..., T, Y), or made from them."""
        return addresses

    def write(self, state: Any, places: Tensor, codes: Tensor, code_var: Tensor | None) -> Any:
        """The state after an episode of codes (..., T, C); `code_var` where they are uncertain."""
        raise AssertionError("each memory writes in its own way")

    def read(self, state: Any, places: Tensor, noise: Tensor | None = None) -> Recall:
        """Any number of items, none of which sees the others or changes the state."""
        raise AssertionError("each memory reads in its own way")

    def kl(self, state: Any, prior: Any) -> Tensor | None:
        """KL( q(M | X) || p(M) ) in nats, where the state is a distribution."""
        return None

    def confidence(self, state: Any, places: Tensor) -> Tensor:
        """(..., T) in (0, 1]; a memory that is no distribution never doubts."""
        return torch.ones_like(places[..., 0])

    def start_from(self, addresses: Tensor) -> None:
        """Begin well, given some addresses (N, Y) of training images."""

    def compile_steps(self) -> None:
        """Before compiling the model: an episode that is written item by item would unroll."""
