"""The search for addresses with Fourier keys: cheap steps, and one item after another.

It raises the same F(y) as `AddressSearch`, in a memory of the same items whose prior was u I:

    F(y) = ln q(y|x) - C / 2 ln(w(y)' U w(y) + sigma^2) + a constant.

Such a prior prefers no address, and with Fourier keys it makes every step cheap. Weights have
length 1, so w' U w = u (1 - |L' w|^2), with one column of L for each direction that was written.
And J' U J is at most u J' J, which is the same at each y. Its eigenvectors give the steps (a bound
in place of the Gauss-Newton matrix). A step that would lower F is not made, so F never falls.

Shapes: N cues, K rows, C code size, Y address code size.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.fourier_keys import FourierKeys

TOLERANCE = 0.01
"""A cue has converged when its next step is shorter than this, or raises F by fewer nats."""
LONGER, SHORTER = 1.5, 0.3
"""Factors of the next step after one that was made, and after one that was not."""
LONGEST = 4.0
"""The longest step. The bound on the curvature makes steps too short while F is flat."""
SHORTEST = 1e-3
"""A cue that needs a shorter step has converged: no step raises F."""
LEAST_EVIDENCE = 1e-3
"""Directions with less than this share of the evidence of one item are rounding errors."""
FOUND = 0.25
"""An item is where the variance is below this share of an empty memory's."""


class Traces(NamedTuple):
    """Where something was written in a memory: its covariance for a prior u I is u (I - L L')."""

    directions: Tensor
    """L, (K, n)."""
    prior_var: float
    """u."""
    fill: float
    """1 - tr(U U0^-1) / K: how full the memory is."""

    @staticmethod
    def of(row_cov: Tensor, prior_cov: Tensor) -> "Traces":
        """The traces in a memory with the covariance U (K, K), which was U0 when it was empty.

        W' W / sigma^2 = U^-1 - U0^-1 is what was written, exactly. With eigenvalues m of u times
        this matrix, those of L L' are m / (1 + m).
        """
        U, U0 = linalg.to_float64(row_cov), linalg.to_float64(prior_cov)
        prior_var = U0.diagonal().mean().item()
        identity = torch.eye(len(U), dtype=U.dtype, device=U.device)
        prior_precision = linalg.solve(U0, identity, name="U0")
        evidence = linalg.solve(U, identity, name="U") - prior_precision
        root = linalg.square_root(prior_var * linalg.symmetrise(evidence))
        sizes = root.square().sum(-2)
        directions = (root / (1 + sizes).sqrt())[:, sizes > LEAST_EVIDENCE * prior_var]
        fill = 1 - (U * prior_precision).sum().item() / len(U)
        return Traces(directions.to(row_cov.dtype), prior_var, fill)


class Places(NamedTuple):
    """Where the search for each cue stands."""

    address_codes: Tensor
    """y, (N, Y)."""
    weights: Tensor
    """w(y), (N, K)."""
    products: Tensor
    """L' w, (N, n)."""
    passed: Tensor
    """Products of w with the vectors of what was passed over, (N, p)."""
    variance: Tensor
    """w' U w, (N,), with what was passed over."""
    objective: Tensor
    """F(y) without its constants, (N,)."""


class SearchState(NamedTuple):
    """The places, how long the next step of each cue is, (N,), and whether it moves no more."""

    places: Places
    length: Tensor
    has_converged: Tensor


class FourierSearch:
    """The search for the addresses of cues in one memory.

    Args:
        keys: the map from address codes to weights.
        traces: what was written.
        posterior: q(y|x) of the cues, over (N, Y).
        code_size: C.
        noise_var: sigma^2.

    """

    def __init__(
        self,
        keys: FourierKeys,
        traces: Traces,
        posterior: Gaussian,
        *,
        code_size: int,
        noise_var: float,
    ) -> None:
        self.keys = keys
        self.traces = traces
        self.centre = posterior.mean
        self.precision = (-posterior.log_var).exp()
        self.code_size = code_size
        self.noise_var = noise_var
        # Vectors (n, p, K) of what is passed over. Each is for N / n searches in a row.
        self.passed = posterior.mean.new_zeros(len(posterior.mean), 0, len(traces.directions))
        self._curvature, self._axes = keys.curvature()

    def without(self, address_codes: Tensor) -> "FourierSearch":
        """The same search in memories that have nothing at these address codes (N, Y).

        Forgetting an item with the weights v adds a multiple of (U v)(U v)' to U. The multiple here
        is the one that makes the variance at v that of an empty memory, whatever else is written
        near it. A search that goes on from there finds the next item. Where nothing was found,
        nothing is passed over.
        """
        at = self._look(address_codes)
        spread = self._spread(at)
        var = at.variance.clamp_min(torch.finfo(spread.dtype).tiny)[:, None]
        size = (self.traces.prior_var - var).clamp_min(0).sqrt() / var
        size = torch.where(var < FOUND * self.traces.prior_var, size, 0)
        search = copy.copy(self)
        search.passed = torch.cat([self.passed, (size * spread)[:, None]], dim=1)
        return search

    def repeated(self, num: int) -> "FourierSearch":
        """So many searches for each cue, (N num): all those of the first cue come first."""
        search = copy.copy(self)
        search.centre = self.centre.repeat_interleave(num, 0)
        search.precision = self.precision.repeat_interleave(num, 0)
        return search

    def run(self, address_codes: Tensor, num_steps: int) -> Tensor:
        """Where searches from address codes (N, Y) are after at most so many steps, (N, Y)."""
        state = self.start(address_codes)
        for _ in range(num_steps):
            if state.has_converged.all():
                break
            state = self.step(state)
        return state.places.address_codes

    def start(self, address_codes: Tensor) -> SearchState:
        """The state before the first step, at address codes (N, Y)."""
        places = self._look(address_codes)
        length = torch.ones_like(places.objective)
        return SearchState(places, length, torch.zeros_like(length).bool())

    def step(self, state: SearchState) -> SearchState:
        """One step for each cue that has not converged. A step that would lower F is not made."""
        at = state.places
        change = state.length[:, None] * self._change(at)
        there = self._look(at.address_codes + change)
        is_better = (there.objective > at.objective) & ~state.has_converged
        gain = there.objective - at.objective
        length = torch.where(is_better, state.length * LONGER, state.length * SHORTER)
        ends = (change.norm(dim=-1) < TOLERANCE) | (length < SHORTEST)
        ends = ends | (is_better & (gain < TOLERANCE)) | state.has_converged
        places = Places(
            *(
                torch.where(is_better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
                for new, old in zip(there, at, strict=True)
            )
        )
        return SearchState(places, length.clamp_max(LONGEST), ends)

    def objective(self, address_codes: Tensor) -> Tensor:
        """F(y) without its constants, (N,)."""
        return self._look(address_codes).objective

    def variance(self, address_codes: Tensor) -> Tensor:
        """w' U w, (N,), with what was passed over."""
        return self._look(address_codes).variance

    def distance(self, address_codes: Tensor) -> Tensor:
        """Squared distance from the mean of q(y|x), in its standard deviations, (N,)."""
        return (self.precision * (address_codes - self.centre).square()).sum(-1)

    def merit(self, address_codes: Tensor) -> Tensor:
        """How well places (N, Y) that were found fit their cues, (N,).

        It is F with a variance w' U w of at least sigma^2. An item that was written has less, and
        how much less depends on its neighbours, which says nothing about the cue.
        """
        code_var = self.variance(address_codes).clamp_min(self.noise_var) + self.noise_var
        return -0.5 * self.distance(address_codes) - 0.5 * self.code_size * code_var.log()

    def _look(self, address_codes: Tensor) -> Places:
        weights = self.keys(address_codes)
        products = weights @ self.traces.directions
        passed = self._of_each_cue(weights, self.passed.mT)
        var = self.traces.prior_var * (1 - products.square().sum(-1)).clamp_min(0)
        var = var + passed.square().sum(-1)
        objective = -0.5 * self.distance(address_codes)
        objective = objective - 0.5 * self.code_size * (var + self.noise_var).log()
        return Places(address_codes, weights, products, passed, var, objective)

    def _spread(self, at: Places) -> Tensor:
        """U w, (N, K)."""
        spread = at.weights - at.products @ self.traces.directions.mT
        return self.traces.prior_var * spread + self._of_each_cue(at.passed, self.passed)

    def _of_each_cue(self, rows: Tensor, matrices: Tensor) -> Tensor:
        """Products of rows (N, a) with the matrices (n, a, b) of their cues, (N, b)."""
        return (rows.unflatten(0, (len(matrices), -1)) @ matrices).flatten(0, 1)

    def _change(self, at: Places) -> Tensor:
        """The step of each cue, (N, Y)."""
        strength = (self.code_size / (at.variance + self.noise_var))[:, None]  # the log's tangent
        slope = strength * self.keys.slope(at.weights, self._spread(at))
        slope = slope + self.precision * (at.address_codes - self.centre)
        curvature = strength * self.traces.prior_var * self._curvature
        curvature = curvature + self.precision.mean(-1, keepdim=True)
        return -(slope @ self._axes / curvature) @ self._axes.mT
