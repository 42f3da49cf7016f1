"""The one place that factorises, and the memory's own precision.

Every function of the memory works in float64, whatever precision surrounds it. Learned weights
grow, and the T x T system W U W' + s2 I then loses positive definiteness in float32; products of
float32 numbers are exact in float64, and float64 tensors are touched neither by autocast nor by
TF32. Callers see their own dtype: they pass it in and get it back.

There is no explicit inverse here, only triangular solves.
"""

import warnings

import torch
from torch import Tensor

from kanerva.errors import JitterWarning, NotPositiveDefiniteError

WORKING_DTYPE = torch.float64

JITTERS = (1e-12, 1e-10, 1e-8, 1e-6)
"""Tried in this order, each relative to the mean of the matrix's diagonal."""


def widen(tensor: Tensor) -> Tensor:
    """The same numbers in the precision of the memory's algebra."""
    return tensor.to(WORKING_DTYPE)


def is_recording(tensor: Tensor) -> bool:
    """Whether a CUDA graph is being captured or compiled, when no value may be looked at."""
    if torch.compiler.is_compiling():
        return True
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def cholesky(matrix: Tensor, *, name: str) -> Tensor:
    """Lower Cholesky factor; `name` says in warnings and errors which matrix it is.

    A matrix that rounding has pushed off positive definiteness gets an escalating jitter on its
    diagonal, with a `JitterWarning` that says how much; beyond the last jitter it is a
    `NotPositiveDefiniteError`. Only the failing matrices of a batch are touched.
    """
    if matrix.shape[-1] == 1 and not is_recording(matrix) and bool((matrix > 0).all()):
        return matrix.sqrt()  # on-line writing: one item's system is a scalar
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if is_recording(matrix) or not bool(failed.any()):
        return factor

    scale = matrix.diagonal(dim1=-2, dim2=-1).abs().mean(-1)
    for jitter in JITTERS:
        extra = jitter * torch.where(failed > 0, scale, torch.zeros_like(scale))
        shifted = matrix + torch.diag_embed(extra[..., None].expand(matrix.shape[:-1]))
        factor, still_failed = torch.linalg.cholesky_ex(shifted)
        if not bool(still_failed.any()):
            warnings.warn(
                f"{name} was not positive definite to rounding; added {jitter:g} of its mean "
                "diagonal. The weights are large against the noise: results lose some digits.",
                JitterWarning,
                stacklevel=2,
            )
            return factor
    raise NotPositiveDefiniteError(
        name,
        expected="a positive definite matrix",
        got=f"one that has no Cholesky factor even with a jitter of {JITTERS[-1]:g}",
        fix="Raise noise_var, scale the weights down, or check the covariance for mistakes.",
    )


def solve_lower(factor: Tensor, rhs: Tensor) -> Tensor:
    """L^-1 rhs for a lower triangular L."""
    if factor.shape[-1] == 1:
        return rhs / factor
    return torch.linalg.solve_triangular(factor, rhs, upper=False)


def solve_upper(factor: Tensor, rhs: Tensor) -> Tensor:
    """L'^-1 rhs for a lower triangular L: after `solve_lower`, (L L')^-1 of what went in there."""
    if factor.shape[-1] == 1:
        return rhs / factor
    return torch.linalg.solve_triangular(factor.mT, rhs, upper=True)


def join_columns(left: Tensor, right: Tensor) -> Tensor:
    """[left right], broadcast to common leading dimensions."""
    if left.shape[:-2] != right.shape[:-2]:
        batch = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        left = left.expand(*batch, *left.shape[-2:])
        right = right.expand(*batch, *right.shape[-2:])
    return torch.cat([left, right], dim=-1)


def log_det(factor: Tensor) -> Tensor:
    """log |L L'| from the Cholesky factor L."""
    return 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def symmetrise(matrix: Tensor) -> Tensor:
    return (matrix + matrix.mT) / 2


def add_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    """matrix + diag(diagonal); `diagonal` (..., n) broadcasts over the batch."""
    if matrix.shape[-1] == 1:
        return matrix + diagonal[..., None]
    return matrix + torch.diag_embed(diagonal)


def is_positive_definite(matrix: Tensor) -> bool:
    """Whether every symmetric matrix of the batch is, with no jitter."""
    return not bool(torch.linalg.cholesky_ex(matrix).info.any())


def smallest_eigenvalue(matrix: Tensor) -> Tensor:
    """Of a symmetric matrix, for each in the batch."""
    return torch.linalg.eigvalsh(matrix)[..., 0]


def square_root(matrix: Tensor) -> Tensor:
    """F with F F' = matrix, for a symmetric matrix that is positive definite or only semi-definite.

    Differentiable where the eigenvalues are distinct.
    """
    values, vectors = torch.linalg.eigh(matrix)
    return vectors * values.clamp_min(0).sqrt()[..., None, :]


def strongest_directions(matrix: Tensor, num: int) -> tuple[Tensor, Tensor]:
    """Split F (..., n, m) into F1 (..., n, num) and F2 with F F' = F1 F1' + F2 F2'.

    F1 spans the `num` leading singular directions: the best approximation of that rank.
    """
    vectors, strengths, _ = torch.linalg.svd(matrix, full_matrices=False)
    scaled = vectors * strengths[..., None, :]
    return scaled[..., :num], scaled[..., num:]
