"""What the DNC and LRUA share: a controller that takes items one by one (appendix D, app:dnc).

The controller is a 2-layer MLP of 200 units. It sees [y, z] when writing and y when reading. What
is read comes from the memory alone, and reading does not change it.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from kanerva.errors import KanervaError
from kanerva.models.codes import CodePrior
from kanerva.models.config import LearnedAddressConfig
from kanerva.models.memories.base import Memory
from kanerva.models.nets import mlp

CONTROLLER_SIZE = 200


class HasMatrix(Protocol):
    """A state with a memory matrix."""

    @property
    def memory(self) -> Tensor:
        """M, (..., K, C)."""
        ...


MatrixState = TypeVar("MatrixState", bound=HasMatrix)


class ControlledMemory(Memory[MatrixState]):
    """A memory matrix with a controller, whose output (..., T, `output_size`) is an instruction."""

    def __init__(self, config: LearnedAddressConfig, *, output_size: int) -> None:
        super().__init__()
        self.config = config
        C, Y = config.code_size, config.address_code_size
        self.controller = mlp(Y + C, CONTROLLER_SIZE, output_size)
        self.read_out = nn.Linear(C, C)
        nn.init.eye_(self.read_out.weight)
        nn.init.zeros_(self.read_out.bias)
        self.compiled_step: Callable[[MatrixState, Tensor], MatrixState] | None = None

    @abstractmethod
    def step(self, state: MatrixState, instruction: Tensor) -> MatrixState:
        """The state after one item, given the controller's output (..., 1, n)."""

    @abstractmethod
    def read_weights(self, state: MatrixState, instructions: Tensor) -> Tensor:
        """Weights (..., T, K) for the controller's outputs (..., T, n)."""

    def batch_shape(self, state: MatrixState) -> torch.Size:
        return state.memory.shape[:-2]

    def write(
        self, state: MatrixState, address: Tensor, codes: Tensor, *, code_var: Tensor | None = None
    ) -> MatrixState:
        """The state after the items, written one after another: their order matters."""
        if code_var is not None:
            raise KanervaError(
                "code_var",
                expected="nothing: this memory cannot use the variance of a code",
                got="a tensor",
                fix="Write a sample of the codes, or use a BayesianMemory.",
            )
        step = self.compiled_step if self.training and self.compiled_step else self.step
        for instruction in self.controller(torch.cat([address, codes], dim=-1)).split(1, dim=-2):
            state = step(state, instruction)
        return state

    def read(
        self, state: MatrixState, address: Tensor, *, noise: Tensor | None = None
    ) -> CodePrior:
        no_code = address.new_zeros(*address.shape[:-1], self.config.code_size)
        instructions = self.controller(torch.cat([address, no_code], dim=-1))
        weights = self.read_weights(state, instructions)
        return CodePrior(self.read_out(weights @ state.memory), self.config.noise_var, weights)

    def prepare_to_compile(self) -> None:
        """Compile one step, for training alone: each other batch size would compile again."""
        self.compiled_step = torch.compile(self.step, dynamic=False)
        self.write = torch.compiler.disable(self.write)  # pyright: ignore

    def _zeros(self, batch_shape: torch.Size, *sizes: int) -> Tensor:
        return self.read_out.weight.new_zeros(*batch_shape, *sizes)
