"""How an item finds its place in the memory: the address code y, and what is made from it.

Shapes: T items, K rows, C code size, S key size, Y address code size; leading dimensions are free.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState, infer_weights
from kanerva.models.config import LearnedAddressConfig
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.nets import mlp

State = TypeVar("State")


class Addressing(nn.Module, ABC, Generic[State]):
    """A strategy that gives q(y|x, M), and turns y into the address that a memory takes."""

    depends_on_memory: ClassVar[bool]
    """Whether q(y|x, M) looks at the memory. If so, items are written one after another."""
    finds_items: ClassVar[bool] = True
    """Whether an item can be found again, rather than only what many items have in common."""
    address_code_size: int
    """Y. The prior of y is N(0, I)."""

    @property
    def usable_share(self) -> float:
        """The share of the memory's K directions that items can fill and still be told apart."""
        return 1.0

    @property
    def key_width(self) -> float | None:
        """The width of Fourier keys, which a reader can search; None for other keys."""
        return None

    @abstractmethod
    def posterior(self, embeddings: Tensor, state: State) -> Gaussian:
        """q(y|x, M) from e(x) (..., T, 2C), a Gaussian over (..., T, Y)."""

    @abstractmethod
    def address_for(self, address_codes: Tensor) -> Tensor:
        """What the memory's `write` and `read` take in place of y (..., T, Y)."""


class AddressTable(nn.Module):
    """w = f(y)' A' (eq:cosine): a key from a network f, compared with K learned addresses."""

    cue_std = 0.05
    """How far damage moves address codes, besides what q(y|x) says. Chosen on drawers 14 and 15."""
    num_starts = 1
    """Where a search begins: at the mean of q(y|x). Other places found no more."""

    def __init__(
        self, *, num_rows: int, key_size: int, address_code_size: int, hidden_size: int
    ) -> None:
        super().__init__()
        self.key_net = mlp(address_code_size, hidden_size, key_size)
        self.addresses = nn.Parameter(torch.randn(num_rows, key_size))

    def forward(self, address_codes: Tensor) -> Tensor:
        """Weights (..., T, K) for address codes (..., T, Y). Rows of A have length 1."""
        return self.key_net(address_codes) @ nn.functional.normalize(self.addresses, dim=-1).mT

    def jacobian(self, address_codes: Tensor) -> Tensor:
        """The derivatives dw / dy (..., T, K, Y) at address codes (..., T, Y)."""
        first, _, second = self.key_net
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        active = (first(address_codes) > 0).to(address_codes.dtype)  # of the ReLU
        outer = nn.functional.normalize(self.addresses, dim=-1) @ second.weight
        return (outer * active[..., None, :]) @ first.weight


class LearnedAddressing(Addressing[State]):
    """Addressing with a network that finds the address code of an image: q(y|x) of section 3.2.

    With a `table` the address is the weights w. Without one it is y itself, for a memory whose own
    controller turns y into weights (appendix D).
    """

    depends_on_memory = False

    def __init__(
        self,
        *,
        embedding_size: int,
        address_code_size: int,
        hidden_size: int,
        table: AddressTable | FourierKeys | None = None,
    ) -> None:
        super().__init__()
        self.address_code_size = address_code_size
        self.table = table
        self.address_net = mlp(embedding_size, hidden_size, 2 * address_code_size)

    @classmethod
    def from_config(
        cls, config: LearnedAddressConfig, table: AddressTable | FourierKeys | None = None
    ) -> "LearnedAddressing[State]":
        """Addressing of the sizes in a config."""
        return cls(
            embedding_size=2 * config.code_size,
            address_code_size=config.address_code_size,
            hidden_size=config.hidden_size,
            table=table,
        )

    @property
    def usable_share(self) -> float:
        """min(S, K) / K: weights are products of keys of S entries with K addresses."""
        if isinstance(self.table, FourierKeys):
            return self.table.usable_share
        if self.table is None:
            return 1.0
        num_rows, key_size = self.table.addresses.shape
        return min(key_size, num_rows) / num_rows

    @property
    def key_width(self) -> float | None:
        return self.table.width if isinstance(self.table, FourierKeys) else None

    def posterior(self, embeddings: Tensor, state: State) -> Gaussian:
        """q(y|x). It does not depend on the memory."""
        return gaussian.from_parameters(self.address_net(embeddings))

    def address_for(self, address_codes: Tensor) -> Tensor:
        return address_codes if self.table is None else self.table(address_codes)


class LeastSquaresAddressing(Addressing[MemoryState]):
    """q(w|x, M): the weights that explain the code best, with one learned variance.

    This is the addressing of the Dynamic Kanerva Machine (Wu et al. 2018, Learning attractor
    dynamics for generative memory). The address code y is w itself, so Y = K.
    """

    depends_on_memory = True

    def __init__(self, *, num_rows: int, noise_var: float) -> None:
        super().__init__()
        self.address_code_size = num_rows
        self.noise_var = noise_var
        self.log_var = nn.Parameter(torch.tensor(-1.0))

    def posterior(self, embeddings: Tensor, state: MemoryState) -> Gaussian:
        codes = gaussian.from_parameters(embeddings).mean
        mean = infer_weights(state, codes, noise_var=self.noise_var)
        return Gaussian(mean, self.log_var.expand_as(mean))

    def address_for(self, address_codes: Tensor) -> Tensor:
        return address_codes
