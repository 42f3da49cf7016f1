"""The paper's memory (sections 3.1 to 3.4): learned addresses around an exact posterior."""

import math

import torch
from torch import Tensor, nn

from kanerva.memory import (
    DiagonalCovariance,
    FullCovariance,
    MemoryState,
    condition,
    memory_kl,
    predict,
    recall,
    sample_memory,
)
from kanerva.models.config import ModelConfig
from kanerva.models.memories.base import Memory, Recall
from kanerva.models.nets import mlp
from kanerva.models.start import start_keys

KEY_SCALE = 2.5
"""Deviation of keys where training begins."""
LOG_SCALE = math.log(5)
"""Bound on the log-deviations of the prior memory."""


class WeightMemory(Memory):
    """A Bayesian memory addressed by weights: y is w itself, of K entries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        K, C = config.num_rows, config.code_size
        self.prior_mean = nn.Parameter(torch.zeros(K, C))
        self.prior_log_scale = nn.Parameter(torch.zeros(K))
        self.prior_mixing = nn.Parameter(torch.zeros(K, K))

    @property
    def address_size(self) -> int:
        return self.config.num_rows

    def initial_state(self, batch_shape: torch.Size) -> MemoryState:
        """p(M): learned mean R0, learned covariance U0 = S (0.1 I + 0.9 G G') S, or S^2.

        S are deviations between 1/5 and 5, and rows of G have length 1, so G G' is a correlation
        matrix. Without bounds U0 was seen to degenerate in training (docs/lab-notes.md).
        Products are in float64: in TF32 they would not be positive definite.
        One for all: it is broadcast when written to.
        """
        mean = self.prior_mean.double()
        scale = self.prior_log_scale.double().clamp(-LOG_SCALE, LOG_SCALE).exp()
        if self.config.covariance == "diagonal":
            cov = DiagonalCovariance(scale.square())
        else:
            identity = torch.eye(len(scale), dtype=self.prior_mixing.dtype, device=scale.device)
            mixing = self.prior_mixing.tril(-1) + identity
            rows = nn.functional.normalize(mixing, dim=-1).double()
            correlation = 0.1 * identity.double() + 0.9 * rows @ rows.mT
            cov = FullCovariance(scale[:, None] * correlation * scale)
        return MemoryState(mean, cov).to(self.prior_mean.dtype)

    def batch_shape(self, state: MemoryState) -> torch.Size:
        return state.batch_shape

    def write(
        self, state: MemoryState, places: Tensor, codes: Tensor, code_var: Tensor | None
    ) -> MemoryState:
        """q(M|X) of section 3.3; `code_var` for writing by distribution (appendix F)."""
        options = {"noise_var": self.config.noise_var, "chunk": self.config.chunk}
        return condition(state, places, codes, code_var=code_var, **options)

    def read(self, state: MemoryState, places: Tensor, noise: Tensor | None = None) -> Recall:
        """The mean of the memory, a sample of it, or its distribution (appendix F)."""
        noise_var = self.config.noise_var
        if self.config.reading == "distribution":
            mean, var = predict(state, places, noise_var=noise_var)
            return Recall(mean, var[..., None], places)
        if self.config.reading == "sample":
            return Recall(places @ sample_memory(state, noise=noise), noise_var, places)
        return Recall(recall(state, places), noise_var, places)

    def compile_steps(self) -> None:
        """A whole episode is one step; chunks of it would unroll."""
        if self.config.chunk is not None:
            self.write = torch.compiler.disable(self.write)  # pyright: ignore

    def kl(self, state: MemoryState, prior: MemoryState) -> Tensor:
        return memory_kl(state, prior)

    def confidence(self, state: MemoryState, places: Tensor) -> Tensor:
        """sigma^2 / (w U w' + sigma^2): near 1 where the memory has no doubt."""
        noise_var = self.config.noise_var
        return noise_var / predict(state, places, noise_var=noise_var).var


class BayesianMemory(WeightMemory):
    """The Kanerva Machine's: w from y by a network f and a table of addresses A."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.key_net = mlp(config.address_size, config.hidden_size, config.key_size)
        self.addresses = nn.Parameter(torch.randn(config.num_rows, config.key_size))

    @property
    def address_size(self) -> int:
        return self.config.address_size

    def place(self, addresses: Tensor) -> Tensor:
        """w = f(y)' A' with rows of A of length 1 (eq:cosine)."""
        return self.key_net(addresses) @ nn.functional.normalize(self.addresses, dim=-1).mT

    def start_from(self, addresses: Tensor) -> None:
        """Keys long enough to write codes down."""
        start_keys(self.key_net, addresses, scale=KEY_SCALE)
