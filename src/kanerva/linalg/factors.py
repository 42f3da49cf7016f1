"""Cholesky factors, and linear systems that are solved with them."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from kanerva.errors import JitterWarning, NotPositiveDefiniteError
from kanerva.linalg.products import WORKING_DTYPE, add_diagonal, to_float64
from kanerva.linalg.values import any_true, is_capturing_graph, is_transforming, numbers

JITTERS = (1e-15, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
"""The jitters to try, in this order, each relative to the mean of the matrix's diagonal."""


def cholesky(matrix: Tensor, *, name: str) -> Tensor:
    """The lower Cholesky factor L with L L' = matrix, for each matrix of a batch.

    If rounding has made a matrix lose positive definiteness, a small jitter is added to its
    diagonal, and larger ones until it works. A `JitterWarning` says how much. If the largest jitter
    is not enough, a `NotPositiveDefiniteError` is raised. Only the matrices of the batch that fail
    are changed. Warnings and errors call the matrix `name`.
    """
    scalars = matrix.shape[-1] == 1 and not is_capturing_graph(matrix)
    if scalars and bool((numbers(matrix) > 0).all()):
        return matrix.sqrt()  # on-line writing: the system of one item is a scalar
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if is_capturing_graph(matrix) or not any_true(failed):
        return factor

    scale = matrix.diagonal(dim1=-2, dim2=-1).abs().mean(-1)
    for jitter in JITTERS:
        extra = jitter * torch.where(failed > 0, scale, torch.zeros_like(scale))
        shifted = matrix + torch.diag_embed(extra[..., None].expand(matrix.shape[:-1]))
        factor, still_failed = torch.linalg.cholesky_ex(shifted)
        if not any_true(still_failed):
            warnings.warn(
                f"{name} was not positive definite because of rounding; added {jitter:g} of its "
                "mean diagonal. The weights are very large compared with the noise, and the result "
                "is as if the items had a little more noise. Raise noise_var or scale the weights "
                "down to avoid this.",
                JitterWarning,
                stacklevel=2,
            )
            return factor
    raise NotPositiveDefiniteError(
        name,
        expected="a positive definite matrix",
        got=f"one that has no Cholesky factor even with a jitter of {JITTERS[-1]:g}",
        fix="Raise noise_var to 10 times its value or divide the weights by 10; if that does not "
        "help, check the covariance for mistakes.",
    )


def solve_lower(factor: Tensor, rhs: Tensor) -> Tensor:
    """L^-1 rhs for a lower triangular L."""
    if factor.shape[-1] == 1:
        return rhs / factor
    return torch.linalg.solve_triangular(factor, rhs, upper=False)


def solve_upper(factor: Tensor, rhs: Tensor) -> Tensor:
    """L'^-1 rhs for a lower triangular L; applied after `solve_lower`, it gives (L L')^-1 rhs."""
    if factor.shape[-1] == 1:
        return rhs / factor
    return torch.linalg.solve_triangular(factor.mT, rhs, upper=True)


def solve_and_project(
    matrix: Tensor, factor: Tensor, left: Tensor, right: Tensor
) -> tuple[Tensor, Tensor]:
    """L^-1 left and left' A^-1 right, for A = `matrix` with Cholesky factor L.

    The second result is differentiated through A itself, which costs one solve. To differentiate
    through L would need the derivative of the factorisation, which costs several times as much. It
    is done only inside transforms of `torch.func`, which know nothing else.
    """
    needs_grad = any(tensor.requires_grad for tensor in (matrix, left, right))
    if is_transforming() or not (torch.is_grad_enabled() and needs_grad):
        whitened, other = _solve_both(solve_lower, factor, left, right)
        return whitened, whitened.mT @ other
    product: Tensor = _ProjectedSolve.apply(matrix, factor.detach(), left, right)  # pyright: ignore
    return solve_lower(factor, left), product


class _ProjectedSolve(torch.autograd.Function):
    """P = B' A^-1 D, given the Cholesky factor L of A.

    With X = A^-1 B and Y = A^-1 D, the gradients are dB = Y dP', dD = X dP and dA = -X dP Y'. The
    forward pass keeps L^-1 B and L^-1 D, so X and Y need only one more triangular solve.
    """

    @staticmethod
    def forward(ctx, matrix: Tensor, factor: Tensor, left: Tensor, right: Tensor) -> Tensor:
        half_left, half_right = _solve_both(solve_lower, factor, left, right)
        ctx.save_for_backward(matrix, factor, left, right, half_left, half_right)
        return half_left.mT @ half_right

    @staticmethod
    def backward(ctx, gradient: Tensor):
        matrix, factor, left, right, half_left, half_right = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives
            X, Y = (_Solve.apply(matrix, factor, side) for side in (left, right))
        else:
            X, Y = _solve_both(solve_upper, factor, half_left, half_right)
        right_gradient = X @ gradient
        return (
            -(right_gradient @ Y.mT).sum_to_size(matrix.shape),
            None,
            (Y @ gradient.mT).sum_to_size(left.shape),
            right_gradient.sum_to_size(right.shape),
        )


class _Solve(torch.autograd.Function):
    """X = A^-1 B, given the Cholesky factor of A: dB = A^-1 dX, dA = -dB X'."""

    @staticmethod
    def forward(ctx, matrix: Tensor, factor: Tensor, rhs: Tensor) -> Tensor:
        solution = solve_upper(factor, solve_lower(factor, rhs))
        ctx.save_for_backward(matrix, factor, solution)
        ctx.rhs_shape = rhs.shape
        return solution

    @staticmethod
    def backward(ctx, gradient: Tensor):
        matrix, factor, solution = ctx.saved_tensors
        rhs_gradient = _Solve.apply(matrix, factor, gradient)
        matrix_gradient = -(rhs_gradient @ solution.mT)
        return (
            matrix_gradient.sum_to_size(matrix.shape),
            None,
            rhs_gradient.sum_to_size(ctx.rhs_shape),
        )


def solve(
    matrix: Tensor, rhs: Tensor, *, name: str, check: Callable[[Tensor], None] | None = None
) -> Tensor:
    """A^-1 rhs for a positive definite A, differentiated through A itself and not its factor.

    `check` is shown the factor, outside transforms of `torch.func`.
    """
    if is_transforming():
        factor = cholesky(matrix, name=name)
        return solve_upper(factor, solve_lower(factor, rhs))
    factor = cholesky(matrix.detach(), name=name)
    if check is not None:
        check(factor)
    return _Solve.apply(matrix, factor, rhs)  # pyright: ignore[reportReturnType]


def _solve_both(
    solve: Callable[[Tensor, Tensor], Tensor], factor: Tensor, left: Tensor, right: Tensor
) -> tuple[Tensor, Tensor]:
    """Solve for two right-hand sides at once, if their leading dimensions are the same."""
    if left.shape[:-2] != right.shape[:-2]:
        return solve(factor, left), solve(factor, right)
    both = solve(factor, torch.cat([left, right], dim=-1))
    return both[..., : left.shape[-1]], both[..., left.shape[-1] :]


def log_det(factor: Tensor) -> Tensor:
    """log |L L'| from the Cholesky factor L."""
    return 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def is_positive_definite(matrix: Tensor) -> bool:
    """Whether every symmetric matrix of the batch is positive definite, without jitter."""
    return not any_true(torch.linalg.cholesky_ex(matrix).info)


def rounded_covariance(matrix: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a positive definite matrix to a narrower dtype so that it stays positive definite.

    Rounding moves eigenvalues by at most eps times the Frobenius norm. Where that makes an
    eigenvalue negative, twice as much is added to the diagonal.
    """
    rounded = matrix.to(dtype)
    if (
        dtype == WORKING_DTYPE
        or is_capturing_graph(matrix)
        or is_positive_definite(to_float64(rounded))
    ):
        return rounded
    lift = 2 * torch.finfo(dtype).eps * torch.linalg.matrix_norm(matrix)
    return add_diagonal(matrix, lift[..., None].expand(matrix.shape[:-1])).to(dtype)
