"""Dense float64 oracles: the Kronecker form of appendix E with explicit inverses.

They take one memory at a time, are slow and simple on purpose, and share no code with the library.
vec stacks columns, so vec(M) of a K x C matrix has the covariance V (x) U (section 3.1), here with
V = I, or with a block diagonal where columns differ.
"""

import math

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

F64 = torch.float64


def vec(matrix: Tensor) -> Tensor:
    return matrix.mT.reshape(-1)


def unvec(vector: Tensor, num_rows: int) -> Tensor:
    return vector.reshape(-1, num_rows).mT


def joint(R: Tensor, U: Tensor, W: Tensor, noise: Tensor):
    """Mean and blocks of the joint Gaussian of vec(Z) and vec(M); noise (T, C)."""
    C = R.shape[1]
    eye = torch.eye(C, dtype=F64)
    cov_m = torch.kron(eye, U)
    lift = torch.kron(eye, W)  # vec(W M) = lift vec(M)
    cov_z = lift @ cov_m @ lift.mT + torch.diag(vec(noise))
    return vec(W @ R), vec(R), cov_z, lift @ cov_m, cov_m


def condition(R: Tensor, U: Tensor, W: Tensor, Z: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """mu_p (as K x C) and Sigma_p (KC x KC) of appendix E."""
    mean_z, mean_m, cov_z, cross, cov_m = joint(R, U, W, noise)
    gain = cross.mT @ torch.linalg.inv(cov_z)
    mean = mean_m + gain @ (vec(Z) - mean_z)
    return unvec(mean, R.shape[0]), cov_m - gain @ cross


def log_evidence(R: Tensor, U: Tensor, W: Tensor, Z: Tensor, noise: Tensor) -> Tensor:
    mean_z, _, cov_z, _, _ = joint(R, U, W, noise)
    return gaussian_log_prob(vec(Z), mean_z, cov_z)


def log_prob(R: Tensor, U: Tensor, M: Tensor) -> Tensor:
    return gaussian_log_prob(vec(M), vec(R), torch.kron(torch.eye(R.shape[1], dtype=F64), U))


def gaussian_log_prob(x: Tensor, mean: Tensor, cov: Tensor) -> Tensor:
    error = x - mean
    quadratic = error @ torch.linalg.inv(cov) @ error
    return -0.5 * (quadratic + torch.linalg.slogdet(cov)[1] + len(x) * math.log(2 * math.pi))


def kl(mean: Tensor, cov: Tensor, prior_mean: Tensor, prior_cov: Tensor) -> Tensor:
    """KL between Gaussians over vec(M), from torch.distributions."""
    return kl_divergence(
        MultivariateNormal(vec(mean), cov), MultivariateNormal(vec(prior_mean), prior_cov)
    )


def predict(R: Tensor, dense_cov: Tensor, W: Tensor, noise_var: float) -> tuple[Tensor, Tensor]:
    """Mean (T, C) and variance (T, C) of W M + noise for vec(M) ~ N(vec(R), dense_cov)."""
    C = R.shape[1]
    lift = torch.kron(torch.eye(C, dtype=F64), W)
    var = (lift @ dense_cov @ lift.mT).diagonal() + noise_var
    return W @ R, unvec(var, W.shape[0])
