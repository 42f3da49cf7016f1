"""The matrix normal distribution MN(R, U, I) of section 3.1.

Its C columns are independent, each N(r_c, U): vec(M) ~ N(vec(R), I (x) U). The functions take the
lower Cholesky factor L of U = L L' as `factor`.

Shapes: K rows, C columns; leading dimensions are free and broadcast.
"""

import math

from torch import Tensor

from kanerva import linalg


def sample(mean: Tensor, factor: Tensor, noise: Tensor) -> Tensor:
    """A reparametrised sample R + L E, with E standard normal: gradients flow to R and L."""
    return mean + factor @ noise


def log_prob(value: Tensor, mean: Tensor, factor: Tensor) -> Tensor:
    """log p(M) = -1/2 [ tr (M - R)' U^-1 (M - R) + C log |U| + K C log 2 pi ]."""
    K, C = mean.shape[-2:]
    error = linalg.solve_lower(factor, value - mean)
    return -0.5 * (
        error.square().sum((-2, -1)) + C * linalg.log_det(factor) + K * C * math.log(2 * math.pi)
    )


def kl(mean: Tensor, factor: Tensor, other_mean: Tensor, other_factor: Tensor) -> Tensor:
    """The exact divergence KL( MN(R, U, I) || MN(R0, U0, I) ).

    1/2 [ C tr(U0^-1 U) + tr (R - R0)' U0^-1 (R - R0) - K C + C (log |U0| - log |U|) ]
    """
    K, C = mean.shape[-2:]
    spread = linalg.solve_lower(other_factor, factor).square().sum((-2, -1))
    shift = linalg.solve_lower(other_factor, mean - other_mean).square().sum((-2, -1))
    volume = linalg.log_det(other_factor) - linalg.log_det(factor)
    return 0.5 * (C * (spread - K + volume) + shift)
