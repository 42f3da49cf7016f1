"""The interface of every memory, so that one model serves them all.

Shapes: T items, K rows, C code size; leading dimensions are free.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from kanerva.errors import KanervaError
from kanerva.models.codes import CodePrior

State = TypeVar("State")


class Memory(nn.Module, ABC, Generic[State]):
    """What a model needs from a memory: an initial state, `write` and `read`.

    Everything that was written is in the state; the module holds only what training learned. A
    state is a value: `write` returns a new one. Its leading dimensions are a batch of memories.

    An `address` says where to write and read, one row for each item. For a `BayesianMemory` it is
    the weights w (..., T, K). For a memory with a controller it is the address code y (..., T, Y).
    """

    writes_distributions: bool = False
    """Whether `write` takes the mean and variance of codes (appendix F) instead of a sample."""

    @abstractmethod
    def is_state(self, value: object) -> bool:
        """Whether `value` is a state of this memory."""

    @abstractmethod
    def initial_state(self, batch_shape: torch.Size) -> State:
        """The state before anything was written.

        It has the leading dimensions `batch_shape`, or none at all if it broadcasts.
        """

    @abstractmethod
    def batch_shape(self, state: State) -> torch.Size:
        """Leading dimensions of a state."""

    @abstractmethod
    def write(
        self, state: State, address: Tensor, codes: Tensor, *, code_var: Tensor | None = None
    ) -> State:
        """The state after an episode of codes (..., T, C).

        `code_var` (..., T, C) says how uncertain the codes are. A memory that cannot use it
        refuses it.
        """

    @abstractmethod
    def read(self, state: State, address: Tensor, *, noise: Tensor | None = None) -> CodePrior:
        """p(z|y, M) for any number of items. They do not see each other or change the state.

        `noise` is what `draw_noise` gave; without it nothing is drawn.
        """

    def draw_noise(
        self, batch_shape: torch.Size, *, device: torch.device, generator: torch.Generator | None
    ) -> Tensor | None:
        """The random numbers that `read` needs; None for a memory that reads without chance."""
        return None

    def kl(self, state: State, prior: State) -> Tensor | None:
        """KL( q(M|X) || p(M) ) in nats; None for a memory that is not a distribution."""
        return None

    def fill(self, state: State) -> Tensor | None:
        """How full the memory is, (...) from 0 to 1; None for one that cannot tell."""
        return None

    def checked_batch_shape(self, state: State) -> torch.Size:
        """Leading dimensions of a state, or an error if it is not a state of this memory."""
        if not self.is_state(state):
            raise KanervaError(
                "memory",
                expected="a memory that this model has written",
                got=repr(state)[:120],
                fix="memory = model.write(images), or model.prior_memory() for an empty one.",
            )
        return self.batch_shape(state)

    def check_fits(self, state: State, episodes: torch.Size) -> None:
        """Refuse a state that is neither one memory for all episodes nor one for each."""
        batch = self.checked_batch_shape(state)
        if batch and batch != episodes:
            raise KanervaError(
                "memory",
                expected=f"one memory, or a batch {tuple(episodes)} like the images",
                got=f"a batch {tuple(batch)}",
                fix="Give images the leading dimensions of the memory: images[None] for one.",
            )

    def prepare_to_compile(self) -> None:
        """Keep torch.compile from unrolling an episode that is written item by item."""
