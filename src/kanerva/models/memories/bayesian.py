"""The paper's memory (sections 3.1 to 3.4): a learned prior and its exact posterior.

Shapes: T items, K rows, C code size; leading dimensions are free.
"""

import math

import torch
from torch import Tensor, nn

from kanerva.errors import KanervaError
from kanerva.memory import (
    DiagonalCovariance,
    FullCovariance,
    MemoryState,
    Prediction,
    condition,
    fill,
    memory_kl,
    predict,
    recall,
    sample_memory,
)
from kanerva.memory.prefixes import predict_next
from kanerva.models.codes import CodePrior
from kanerva.models.config import BayesianMemoryConfig
from kanerva.models.memories.base import Memory

MAX_LOG_SCALE = math.log(5)
"""Bound on the log standard deviations of the prior memory."""


class BayesianMemory(Memory[MemoryState]):
    """M ~ MN(R, U, I), addressed by weights w over its K rows."""

    def __init__(
        self,
        config: BayesianMemoryConfig,
        *,
        chunk: int | None = None,
        prior_std: float = 0.0,
        prior_scale: float = 1.0,
    ) -> None:
        """`prior_std` and `prior_scale` are the deviations of R0 and of rows before training."""
        super().__init__()
        self.config = config
        self.chunk = chunk
        self.writes_distributions = config.writing == "distribution"
        K, C = config.num_rows, config.code_size
        self.prior_mean = nn.Parameter(torch.zeros(K, C))
        self.prior_log_scale = nn.Parameter(torch.zeros(K))
        self.prior_mixing = nn.Parameter(torch.zeros(K, K))
        if prior_scale != 1.0:
            nn.init.constant_(self.prior_log_scale, math.log(prior_scale))
        if prior_std > 0:
            nn.init.normal_(self.prior_mean, std=prior_std)

    def is_state(self, value: object) -> bool:
        sizes = (self.config.num_rows, self.config.code_size)
        return isinstance(value, MemoryState) and (value.num_rows, value.code_size) == sizes

    def initial_state(self, batch_shape: torch.Size) -> MemoryState:
        """p(M): learned mean R0, learned covariance U0 = S (0.1 I + 0.9 G G') S, or S^2.

        S are standard deviations between 1/5 and 5. Rows of G have length 1, so G G' is a
        correlation matrix. Without these bounds U0 degenerated in training (see the lab notes).
        Products are in float64: in TF32 they would not be positive definite. The state has no batch
        dimensions: it broadcasts over episodes.
        """
        mean = self.prior_mean.double()
        scale = self.prior_log_scale.double().clamp(-MAX_LOG_SCALE, MAX_LOG_SCALE).exp()
        if self.config.covariance == "diagonal":
            cov = DiagonalCovariance(scale.square())
        else:
            identity = torch.eye(len(scale), dtype=self.prior_mixing.dtype, device=scale.device)
            mixing = self.prior_mixing.tril(-1) + identity
            rows = nn.functional.normalize(mixing, dim=-1).double()
            correlation = 0.1 * identity.double() + 0.9 * rows @ rows.mT
            cov = FullCovariance(scale[:, None] * correlation * scale)
        return MemoryState(mean, cov).to(self.prior_mean.dtype)

    def checked_batch_shape(self, state: MemoryState) -> torch.Size:
        batch = super().checked_batch_shape(state)
        like = self.prior_mean
        for got, wanted in ((state.dtype, like.dtype), (state.device, like.device)):
            if got != wanted:
                target = wanted if isinstance(wanted, torch.dtype) else repr(str(wanted))
                raise KanervaError(
                    "memory",
                    expected=f"{wanted} like the model",
                    got=str(got),
                    fix=f"Convert it: memory.to({target}).",
                )
        return batch

    def batch_shape(self, state: MemoryState) -> torch.Size:
        return state.batch_shape

    def write(
        self, state: MemoryState, address: Tensor, codes: Tensor, *, code_var: Tensor | None = None
    ) -> MemoryState:
        """q(M|X) of section 3.3, by `kanerva.condition`."""
        noise_var = self.config.noise_var
        return condition(
            state, address, codes, noise_var=noise_var, code_var=code_var, chunk=self.chunk
        )

    def read(
        self, state: MemoryState, address: Tensor, *, noise: Tensor | None = None
    ) -> CodePrior:
        """From the memory's mean, a sample of it, or its distribution (appendix F).

        Without `noise` a memory that is read by samples is read by its mean.
        """
        noise_var = self.config.noise_var
        if self.config.reading == "distribution":
            mean, var = predict(state, address, noise_var=noise_var)
            return CodePrior(mean, var if state.per_column else var[..., None], address)
        if self.config.reading == "sample" and noise is not None:
            return CodePrior(address @ sample_memory(state, noise=noise), noise_var, address)
        return CodePrior(recall(state, address), noise_var, address)

    def read_next(
        self,
        state: MemoryState,
        address: Tensor,
        codes: Tensor,
        read_address: Tensor,
        *,
        code_var: Tensor | None = None,
    ) -> Prediction:
        """Read every item at `read_address` from `state` and the items before it.

        Items are written at `address` as `write` does; the mean and variance are those that `read`
        would give after each of them.
        """
        noise_var = self.config.noise_var
        return predict_next(
            state, address, codes, read_address, noise_var=noise_var, code_var=code_var
        )

    def draw_noise(
        self, batch_shape: torch.Size, *, device: torch.device, generator: torch.Generator | None
    ) -> Tensor | None:
        """Standard normal numbers (..., K, C) if the memory is read by samples."""
        if self.config.reading != "sample":
            return None
        shape = (*batch_shape, self.config.num_rows, self.config.code_size)
        return torch.randn(shape, device=device, generator=generator)

    def fill(self, state: MemoryState) -> Tensor | None:
        """1 - tr(U U0^-1) / K with the learned prior's U0.

        None for a memory that is less certain than the learned prior: it began with another one.
        """
        try:
            return fill(state, self.initial_state(torch.Size()))
        except KanervaError:
            return None

    def kl(self, state: MemoryState, prior: MemoryState) -> Tensor:
        return memory_kl(state, prior)

    def prepare_to_compile(self) -> None:
        if self.chunk is not None:
            self.write = torch.compiler.disable(self.write)  # pyright: ignore
