"""Distributions of a code z: p(z|y, M) as the memory gives it, q(z|x, y, M) as x corrects it."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian


class CodePrior(NamedTuple):
    """p(z|y, M) of eq:z_prior, and the weights it was read with."""

    mean: Tensor
    """(..., T, C)."""
    var: Tensor | float
    """sigma^2, or (..., T, 1) where it differs between items, or (..., T, C) between entries."""
    weights: Tensor
    """(..., T, K): how much each row of the memory counted."""

    @property
    def log_var(self) -> Tensor:
        """The log-variance of every entry of a code, (..., T, C)."""
        if isinstance(self.var, Tensor):
            return self.var.log().expand_as(self.mean)
        return torch.full_like(self.mean, math.log(self.var))

    @property
    def distribution(self) -> Gaussian:
        """p(z|y, M)."""
        return Gaussian(self.mean, self.log_var)

    def log_prob(self, codes: Tensor) -> Tensor:
        """ln p(z|y, M) of codes (..., T, C), (..., T)."""
        log_var = self.log_var
        standard = (codes - self.mean) * (-0.5 * log_var).exp()
        return gaussian.standard_log_prob(standard) - 0.5 * log_var.sum(-1)


class CodePosterior(NamedTuple):
    """The Gaussian q(z|x, y, M) of section 3.2: the prior p(z|y, M), a shift of its mean, and a
    variance of its own.

    Keeping the shift, not the mean, loses no digits where both means are large and nearly equal.
    """

    prior: CodePrior
    """p(z|y, M)."""
    shift: Tensor
    """Mean of q(z|x, y, M) minus the mean of the prior, (..., T, C)."""
    log_var: Tensor
    """Log-variance of q(z|x, y, M), (..., T, C)."""

    @property
    def distribution(self) -> Gaussian:
        """q(z|x, y, M)."""
        return Gaussian(self.prior.mean + self.shift, self.log_var)

    @property
    def kl(self) -> Tensor:
        """KL( q(z|x, y, M) || p(z|y, M) ), (..., T)."""
        return gaussian.kl(self.shift, self.log_var, self.prior.var)
