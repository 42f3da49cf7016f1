"""What the DNC and LRUA share: a controller that takes items one by one (appendix D, app:dnc).

The controller is a 2-layer MLP of 200 units: it sees [y, z] when writing, y when reading. What is
read comes from the memory alone, and reading leaves no trace.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from kanerva.models.config import ModelConfig
from kanerva.models.memories.base import Memory, Recall
from kanerva.models.nets import mlp

CONTROLLER_SIZE = 200


class ControlledMemory(Memory):
    """`step` and `read_weights` understand the controller's words, (..., T, `word_size`)."""

    def __init__(self, config: ModelConfig, word_size: int) -> None:
        super().__init__(config)
        C, Y = config.code_size, config.address_size
        self.controller = mlp(Y + C, CONTROLLER_SIZE, word_size)
        self.read_out = nn.Linear(C, C)
        nn.init.eye_(self.read_out.weight)
        nn.init.zeros_(self.read_out.bias)
        self.compiled_step: Callable[[Any, Tensor], Any] | None = None

    def step(self, state: Any, word: Tensor) -> Any:
        """The state after one item, given its word (..., 1, n)."""
        raise AssertionError("each memory has its own step")

    def read_weights(self, state: Any, words: Tensor) -> Tensor:
        """(..., T, K) for words (..., T, n)."""
        raise AssertionError("each memory has its own way to look")

    def write(self, state: Any, places: Tensor, codes: Tensor, code_var: Tensor | None) -> Any:
        """Item by item: the order matters. How uncertain codes are does not."""
        step = self.compiled_step if self.training and self.compiled_step else self.step
        for word in self.controller(torch.cat([places, codes], dim=-1)).split(1, dim=-2):
            state = step(state, word)
        return state

    def read(self, state: Any, places: Tensor, noise: Tensor | None = None) -> Recall:
        nothing = places.new_zeros(*places.shape[:-1], self.config.code_size)
        words = self.controller(torch.cat([places, nothing], dim=-1))
        weights = self.read_weights(state, words)
        return Recall(self.read_out(weights @ state.memory), self.config.noise_var, weights)

    def compile_steps(self) -> None:
        """For training alone: other sizes of a batch would each be compiled again."""
        self.compiled_step = torch.compile(self.step, dynamic=False)
        self.write = torch.compiler.disable(self.write)  # pyright: ignore

    def _zeros(self, batch_shape: torch.Size, *sizes: int) -> Tensor:
        return self.read_out.weight.new_zeros(*batch_shape, *sizes)
