"""Diagonal Gaussians: parameters from a network, samples, log-densities and KL divergences."""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LOG_VAR_RANGE = (-20.0, 4.0)
"""The range of log-variances. Every prior here has a variance near 1, so a posterior variance far
above that shows that training has gone wrong, not that the network has learned it."""


class Gaussian(NamedTuple):
    """N(mean, diag(exp(log_var)))."""

    mean: Tensor
    log_var: Tensor

    def sample(self, noise: Tensor) -> Tensor:
        """A reparametrised sample from standard normal `noise`."""
        return self.mean + (0.5 * self.log_var).exp() * noise

    def draw(self, sample: bool, generator: torch.Generator | None) -> Tensor:
        """A sample with noise from `generator`, or the mean where `sample` is false."""
        if not sample:
            return self.mean
        noise = torch.randn(self.mean.shape, device=self.mean.device, generator=generator)
        return self.sample(noise)

    def log_prob_of_sample(self, noise: Tensor) -> Tensor:
        """The log-density of `sample(noise)`, summed over the last dimension."""
        return standard_log_prob(noise) - 0.5 * self.log_var.sum(-1)


def standard_log_prob(value: Tensor) -> Tensor:
    """The log-density of N(0, I), summed over the last dimension."""
    return -0.5 * (value.square() + math.log(2 * math.pi)).sum(-1)


def from_parameters(parameters: Tensor) -> Gaussian:
    """A network's output (..., 2n) as mean and log-variance, limited to `LOG_VAR_RANGE`.

    The limits keep variances from overflow and from zero. The upper limit is smooth, because a hard
    one passes no gradient: a log-variance that got above it would stay there.
    """
    mean, log_var = parameters.chunk(2, dim=-1)
    low, high = LOG_VAR_RANGE
    return Gaussian(mean, (high - functional.softplus(high - log_var)).clamp_min(low))


def kl_to_standard(posterior: Gaussian) -> Tensor:
    """The divergence KL( N(m, v) || N(0, I) ), summed over the last dimension."""
    mean, log_var = posterior
    return 0.5 * (mean.square() + log_var.exp() - 1 - log_var).sum(-1)


def kl(shift: Tensor, log_var: Tensor, prior_var: Tensor | float) -> Tensor:
    """The divergence KL( N(m + shift, v) || N(m, prior_var) ), summed over the last dimension.

    `log_var` is ln v. `prior_var` is a number, (..., 1) where it is the same for every entry, or
    (..., C).
    """
    log_prior = prior_var.log() if isinstance(prior_var, Tensor) else math.log(prior_var)
    inside = (shift.square() + log_var.exp()) / prior_var - 1 + log_prior - log_var
    return 0.5 * inside.sum(-1)
