"""Eigenvalues, square roots and leading directions; equal eigenvalues do not break gradients."""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kanerva.linalg.products import symmetrise


def smallest_eigenvalue(matrix: Tensor) -> Tensor:
    """The smallest eigenvalue of each symmetric matrix of a batch."""
    return torch.linalg.eigvalsh(matrix)[..., 0]


def square_root(matrix: Tensor) -> Tensor:
    """F with F F' = matrix, for a symmetric positive semi-definite matrix.

    F is one of many such roots. Its gradient is right for everything that depends on F F' alone.
    """
    return _SquareRoot.apply(matrix)  # pyright: ignore[reportReturnType]


def split_leading_directions(matrix: Tensor, num_leading: int) -> tuple[Tensor, Tensor]:
    """Split F (..., n, m) into F1 (..., n, num_leading) and F2 with F F' = F1 F1' + F2 F2'.

    F1 spans the `num_leading` leading singular directions: the best approximation of that rank. A
    rotation of the columns within F1 or within F2 is arbitrary. The gradient is right for
    everything that depends on F1 F1' and F2 F2' alone.
    """
    rotation: Tensor = _LeadingDirections.apply(matrix.mT @ matrix, num_leading)  # pyright: ignore
    rotated = matrix @ rotation
    return rotated[..., :num_leading], rotated[..., num_leading:]


class _SquareRoot(torch.autograd.Function):
    """F = V sqrt(lambda), from the eigenvectors V and eigenvalues lambda of A.

    Let D be the gradient with respect to A, and P the projection on the range of A. Then
    dF = 2 D F, so D P = dF F^+ / 2 =: H, and D = H + H' - P H except for its block in the null
    space, where a positive semi-definite A cannot move to first order.
    """

    @staticmethod
    def forward(ctx, matrix: Tensor) -> Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        strengths = values.clamp_min(0).sqrt()
        ctx.save_for_backward(vectors, strengths)
        return vectors * strengths[..., None, :]

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> Tensor:
        vectors, strengths = ctx.saved_tensors
        seen = strengths > 1e-7 * strengths.amax(-1, keepdim=True)
        inverse = torch.where(seen, 1 / strengths, 0)
        half = 0.5 * (gradient * inverse[..., None, :]) @ vectors.mT
        seen_vectors = vectors * seen[..., None, :]
        return half + half.mT - seen_vectors @ (seen_vectors.mT @ half)


class _LeadingDirections(torch.autograd.Function):
    """Eigenvectors of A, largest eigenvalue first, used as two groups: `num_leading` and the rest.

    The spaces that the groups span change only where a vector of one group turns towards the other
    group. So the derivative needs only the gaps between the groups. Equal eigenvalues within a
    group, which make the derivative of `eigh` infinite, do no harm.
    """

    @staticmethod
    def forward(ctx, matrix: Tensor, num_leading: int) -> Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        values, vectors = values.flip(-1), vectors.flip(-1)
        ctx.save_for_backward(values, vectors)
        ctx.num_leading = num_leading
        return vectors

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor):
        values, vectors = ctx.saved_tensors
        num = ctx.num_leading
        gaps = values[..., None, :num] - values[..., num:, None]  # (rest, first), not negative
        apart = gaps > 1e-12 * values[..., :1, None].abs()
        inverse = torch.where(apart, 1 / gaps, 0)
        towards = vectors.mT @ gradient  # how far each vector should turn towards each other one
        turn = (towards[..., num:, :num] - towards[..., :num, num:].mT) * inverse
        outcome = vectors[..., num:] @ turn @ vectors[..., :num].mT
        return symmetrise(outcome), None
