"""Reading as a search for the address: it keeps the cue, it converges, and it never gets worse.

A cue x suggests address codes, q(y|x). The memory suggests codes for each of them: p(z|y, psi) of
appendix F, a Gaussian with the mean w' R and the variance w' U w + sigma^2. The reader looks for
the pair (y, z) that both agree on best. For each y the best z is the mean, so what is left is

    F(y) = ln q(y|x) - C / 2 ln(w(y)' U w(y) + sigma^2) + a constant.

The variance is lowest where something was written. So F has a maximum near each written address,
and q(y|x) says which of them the cue means. Each step replaces the logarithm, which is concave, by
its tangent, and w(y) by its linearisation (Gauss-Newton, damped as Levenberg and Marquardt do). A
step that would lower F is not made, so F never falls.

Shapes: N cues, K rows, C code size, Y address code size.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.distributions.gaussian import Gaussian

TOLERANCE = 0.01
"""A cue has converged when its next step is shorter than this, or raises F by fewer nats."""
DAMPING, LESS, MORE = 1e-3, 0.2, 10.0
"""The first damping, and its factors after a step that was made and after one that was not."""
MAX_DAMPING = 1e6
"""A cue that needs more has converged: no step raises F."""


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
    """y, (N, Y)."""
    objective: Tensor
    """F(y) without its constants, (N,)."""
    damping: Tensor
    """(N,)."""
    has_converged: Tensor
    """Whether a cue moves no more, (N,)."""


class AddressSearch:
    """The search for the addresses of cues in one memory.

    Args:
        keys: the map from address codes to weights.
        row_cov: U, (K, K).
        posterior: q(y|x) of the cues, over (N, Y).
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
        """The state before the first step, at address codes (N, Y)."""
        objective = self.objective(address_codes)
        damping = torch.full_like(objective, DAMPING)
        return SearchState(address_codes, objective, damping, torch.zeros_like(damping).bool())

    def objective(self, address_codes: Tensor) -> Tensor:
        """F(y) without its constants, (N,)."""
        every = torch.ones(len(address_codes), dtype=torch.bool, device=address_codes.device)
        return self._objective(address_codes, every)

    def variance(self, address_codes: Tensor) -> Tensor:
        """w' U w, (N,)."""
        weights = self.keys(address_codes)
        return ((weights @ self.row_cov) * weights).sum(-1).clamp_min(0)

    def step(self, state: SearchState) -> SearchState:
        """One damped Gauss-Newton step for each cue that has not converged.

        A step that would lower F is not made; the next one is damped more.
        """
        active = ~state.has_converged
        if not active.any():
            return state
        y, before, damping = (part[active] for part in state[:3])
        change = self._change(y, active, damping)
        after = self._objective(y + change, active)
        is_better = after > before
        damping = damping * torch.where(is_better, LESS, MORE)
        ends = (change.norm(dim=-1) < TOLERANCE) | (damping > MAX_DAMPING)
        ends = ends | (is_better & (after - before < TOLERANCE))
        return SearchState(
            _put(state.address_codes, active, torch.where(is_better[:, None], y + change, y)),
            _put(state.objective, active, torch.where(is_better, after, before)),
            _put(state.damping, active, damping.clamp_max(MAX_DAMPING)),
            _put(state.has_converged, active, ends),
        )

    def _objective(self, address_codes: Tensor, active: Tensor) -> Tensor:
        """F(y) of the active cues, (n,), at address codes (n, Y)."""
        distance = self.precision[active] * (address_codes - self.centre[active]).square()
        code_var = self.variance(address_codes) + self.noise_var
        return -0.5 * distance.sum(-1) - 0.5 * self.code_size * code_var.log()

    def _change(self, y: Tensor, active: Tensor, damping: Tensor) -> Tensor:
        """The step of each active cue, (n, Y)."""
        precision = self.precision[active]
        weights, jacobian = self.keys(y), self.keys.jacobian(y)
        num, num_rows, size = jacobian.shape
        # J' U as one product: U is shared by all cues.
        spread = (jacobian.mT.reshape(-1, num_rows) @ self.row_cov).reshape(num, size, num_rows)
        code_var = self.variance(y) + self.noise_var
        strength = (self.code_size / code_var)[:, None]  # slope of the logarithm's tangent
        gradient = strength * (spread @ weights[..., None])[..., 0]
        gradient = gradient + precision * (y - self.centre[active])
        curvature = strength[..., None] * (spread @ jacobian) + torch.diag_embed(precision)
        diagonal = curvature.diagonal(dim1=-2, dim2=-1)
        damped = linalg.symmetrise(curvature) + torch.diag_embed(damping[:, None] * diagonal)
        damped, gradient = linalg.to_float64(damped), linalg.to_float64(gradient[..., None])
        return -linalg.solve(damped, gradient, name="curvature")[..., 0].to(y.dtype)


def _put(values: Tensor, active: Tensor, new: Tensor) -> Tensor:
    """A copy of values (N, ...) with those of the active cues replaced."""
    values = values.clone()
    values[active] = new
    return values
