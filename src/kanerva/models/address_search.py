"""Reading as a search for the address: it keeps the cue, it converges, and it never gets worse.

A cue x suggests address codes, q(y|x). The memory suggests codes for each of them: p(z|y, psi) of
appendix F, a Gaussian with the mean w' R and the variance w' U w + sigma^2. The reader looks for the
pair (y, z) that both agree on best. For each y the best z is the mean, so what is left is

    F(y) = ln q(y|x) - C / 2 ln(w(y)' U w(y) + sigma^2) + a constant.

The variance is lowest where something was written. So F has a maximum near each written address,
and q(y|x) says which of them the cue means. Each step replaces the logarithm, which is concave, by
its tangent, and w(y) by its linearisation (Gauss-Newton, damped as Levenberg and Marquardt do). A
step that would lower F is not made, so F never falls.

Shapes: T cues, K rows, C code size, Y address code size; leading dimensions are free.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.distributions.gaussian import Gaussian

TOLERANCE = 1e-3
"""A search has converged when no address code moves farther than this."""
DAMPING, LESS, MORE = 1e-3, 0.2, 10.0
"""The first damping, and its factors after a step that was made and after one that was not."""


class Keys(Protocol):
    """What turns address codes (..., T, Y) into weights (..., T, K)."""

    cue_std: float
    """How far damage moves address codes. Its square is added to the variance of q(y|x)."""
    num_starts: int
    """From how many places a search begins by default."""

    def __call__(self, address_codes: Tensor) -> Tensor: ...

    def jacobian(self, address_codes: Tensor) -> Tensor:
        """The derivatives dw / dy, (..., T, K, Y)."""
        ...


class SearchState(NamedTuple):
    """Where the search for each cue stands."""

    address_codes: Tensor
    """y, (..., T, Y)."""
    objective: Tensor
    """F(y) without its constants, (..., T)."""
    damping: Tensor
    """(..., T)."""
    moved: Tensor
    """How far the last step went, (..., T); infinite before the first."""

    @property
    def has_converged(self) -> bool:
        """Whether no cue moves any more."""
        return bool((self.moved <= TOLERANCE).all())


class AddressSearch:
    """The search for the addresses of some cues in a memory.

    Args:
        keys: the map from address codes to weights.
        row_cov: U, (..., K, K).
        posterior: q(y|x) of the cues, over (..., T, Y).
        code_size: C.
        noise_var: sigma^2.

    """

    def __init__(
        self, keys: Keys, row_cov: Tensor, posterior: Gaussian, *, code_size: int, noise_var: float
    ) -> None:
        self.keys = keys
        self.row_cov = row_cov
        self.centre = posterior.mean
        self.precision = (-posterior.log_var).exp()
        self.code_size = code_size
        self.noise_var = noise_var

    def start(self, address_codes: Tensor) -> SearchState:
        """The state before the first step, at address codes (..., T, Y)."""
        objective = self.objective(address_codes)
        return SearchState(
            address_codes,
            objective,
            torch.full_like(objective, DAMPING),
            torch.full_like(objective, torch.inf),
        )

    def objective(self, address_codes: Tensor) -> Tensor:
        """F(y) without its constants, (..., T)."""
        distance = (self.precision * (address_codes - self.centre).square()).sum(-1)
        code_var = self.variance(address_codes) + self.noise_var
        return -0.5 * distance - 0.5 * self.code_size * code_var.log()

    def variance(self, address_codes: Tensor) -> Tensor:
        """w' U w, (..., T)."""
        weights = self.keys(address_codes)
        return ((weights @ self.row_cov) * weights).sum(-1).clamp_min(0)

    def step(self, state: SearchState) -> SearchState:
        """One damped Gauss-Newton step for each cue. It is not made where it would lower F."""
        y = state.address_codes
        weights, jacobian = self.keys(y), self.keys.jacobian(y)
        spread = self.row_cov.unsqueeze(-3) @ jacobian  # U J, (..., T, K, Y)
        code_var = (weights @ self.row_cov * weights).sum(-1) + self.noise_var
        strength = (self.code_size / code_var)[..., None]  # slope of the logarithm's tangent
        gradient = strength * (spread.mT @ weights[..., None])[..., 0]
        gradient = gradient + self.precision * (y - self.centre)
        curvature = strength[..., None] * (jacobian.mT @ spread)
        curvature = curvature + torch.diag_embed(self.precision)
        diagonal = curvature.diagonal(dim1=-2, dim2=-1)
        damped = curvature + torch.diag_embed(state.damping[..., None] * diagonal)
        change = -linalg.solve(damped, gradient[..., None], name="curvature")[..., 0].to(y.dtype)
        objective = self.objective(y + change)
        is_better = objective > state.objective
        return SearchState(
            torch.where(is_better[..., None], y + change, y),
            torch.where(is_better, objective, state.objective),
            state.damping * torch.where(is_better, LESS, MORE),
            change.norm(dim=-1),
        )
