"""Eigenvalues, square roots and leading directions; equal eigenvalues do not break gradients."""

import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.linalg.products import symmetrise
from kanerva.linalg.values import is_transforming


def eigenvalues(matrix: Tensor) -> Tensor:
    """The eigenvalues of each symmetric matrix of a batch, in rising order."""
    return torch.linalg.eigvalsh(matrix)


def eigenvectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues of symmetric matrices, in rising order, and the eigenvectors as columns."""
    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors


def smallest_eigenvalue(matrix: Tensor) -> Tensor:
    """The smallest eigenvalue of each symmetric matrix of a batch."""
    return torch.linalg.eigvalsh(matrix)[..., 0]


def square_root(matrix: Tensor) -> Tensor:
    """F with F F' = matrix, for a symmetric positive semi-definite matrix.

    F is one of many such roots. Its gradient is right for everything that depends on F F' alone.
    """
    function = _ForwardSquareRoot if is_transforming() else _SquareRoot
    root, _, _ = function.apply(matrix)  # pyright: ignore[reportGeneralTypeIssues]
    return root


def split_leading_directions(matrix: Tensor, num_leading: int) -> tuple[Tensor, Tensor]:
    """Split F (..., n, m) into F1 (..., n, num_leading) and F2 with F F' = F1 F1' + F2 F2'.

    F1 spans the `num_leading` leading singular directions: the best approximation of that rank. A
    rotation of the columns within F1 or within F2 is arbitrary. The gradient is right for
    everything that depends on F1 F1' and F2 F2' alone.
    """
    function = _ForwardLeadingDirections if is_transforming() else _LeadingDirections
    rotation, _ = function.apply(matrix.mT @ matrix, num_leading)  # pyright: ignore
    rotated = matrix @ rotation
    return rotated[..., :num_leading], rotated[..., num_leading:]


class _SquareRoot(torch.autograd.Function):
    """F = V sqrt(lambda), from the eigenvectors V and eigenvalues lambda of A.

    Let D be the gradient with respect to A, and P the projection on the range of A. Then
    dF = 2 D F, so D P = dF F^+ / 2 =: H, and D = H + H' - P H except for its block in the null
    space, where a positive semi-definite A cannot move to first order.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, vectors = torch.linalg.eigh(matrix)
        strengths = values.clamp_min(0).sqrt()
        return vectors * strengths[..., None, :], vectors, strengths

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor], output: tuple[Tensor, Tensor, Tensor]) -> None:
        _, vectors, strengths = output
        ctx.mark_non_differentiable(vectors, strengths)
        ctx.save_for_backward(*inputs, vectors, strengths)
        ctx.save_for_forward(vectors, strengths)

    @staticmethod
    def backward(ctx, gradient: Tensor, *_: Tensor | None) -> Tensor:
        matrix, vectors, strengths = ctx.saved_tensors
        with torch.no_grad():
            outcome = _square_root_gradient(gradient, vectors, strengths)
        return _differentiable_once(outcome, gradient, matrix)


class _ForwardSquareRoot(_SquareRoot):
    """The same with a forward-mode derivative, which `torch.compile` does not accept."""

    @staticmethod
    def jvp(ctx, tangent: Tensor) -> tuple[Tensor, None, None]:
        """dF = dA F^+' - F (F^+ dA F^+') / 2, so that dF F' + F dF' = dA."""
        vectors, strengths = ctx.saved_tensors
        pseudo_inverse = vectors * _inverse_strengths(strengths)[..., None, :]
        towards = tangent @ pseudo_inverse
        root = vectors * strengths[..., None, :]
        return towards - 0.5 * root @ (pseudo_inverse.mT @ towards), None, None


def _square_root_gradient(gradient: Tensor, vectors: Tensor, strengths: Tensor) -> Tensor:
    inverse = _inverse_strengths(strengths)
    half = 0.5 * (gradient * inverse[..., None, :]) @ vectors.mT
    seen_vectors = vectors * (inverse > 0)[..., None, :]
    return half + half.mT - seen_vectors @ (seen_vectors.mT @ half)


def _inverse_strengths(strengths: Tensor) -> Tensor:
    """1 / sqrt(lambda), and 0 in the null space."""
    seen = strengths > 1e-7 * strengths.amax(-1, keepdim=True)
    return torch.where(seen, 1 / strengths, 0)


class _LeadingDirections(torch.autograd.Function):
    """Eigenvectors of A, largest eigenvalue first, used as two groups: `num_leading` and the rest.

    The spaces that the groups span change only where a vector of one group turns towards the other
    group. So the derivative needs only the gaps between the groups. Equal eigenvalues within a
    group, which make the derivative of `eigh` infinite, do no harm.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(matrix: Tensor, num_leading: int) -> tuple[Tensor, Tensor]:
        values, vectors = torch.linalg.eigh(matrix)
        return vectors.flip(-1), values.flip(-1)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, int], output: tuple[Tensor, Tensor]) -> None:
        matrix, ctx.num_leading = inputs
        vectors, values = output
        ctx.mark_non_differentiable(values)
        ctx.save_for_backward(matrix, vectors, values)
        ctx.save_for_forward(vectors, values)

    @staticmethod
    def backward(ctx, gradient: Tensor, _: Tensor | None):
        matrix, vectors, values = ctx.saved_tensors
        with torch.no_grad():
            outcome = _turn_gradient(gradient, vectors, values, ctx.num_leading)
        return _differentiable_once(outcome, gradient, matrix), None


class _ForwardLeadingDirections(_LeadingDirections):
    """The same with a forward-mode derivative, which `torch.compile` does not accept."""

    @staticmethod
    def jvp(ctx, tangent: Tensor, _: None) -> tuple[Tensor, None]:
        """Vectors of one group turn towards those of the other: dV1 = V2 (V2' dA V1 / gaps)."""
        vectors, values = ctx.saved_tensors
        num = ctx.num_leading
        first, rest = vectors[..., :num], vectors[..., num:]
        turn = (rest.mT @ tangent @ first) * _inverse_gaps(values, num)
        return torch.cat([rest @ turn, -first @ turn.mT], dim=-1), None


def _turn_gradient(gradient: Tensor, vectors: Tensor, values: Tensor, num: int) -> Tensor:
    towards = vectors.mT @ gradient  # how far each vector should turn towards each other one
    turn = (towards[..., num:, :num] - towards[..., :num, num:].mT) * _inverse_gaps(values, num)
    return symmetrise(vectors[..., num:] @ turn @ vectors[..., :num].mT)


def _inverse_gaps(values: Tensor, num: int) -> Tensor:
    """1 / (gap between eigenvalues of the two groups), (rest, first); 0 where they are equal."""
    gaps = values[..., None, :num] - values[..., num:, None]  # not negative
    apart = gaps > 1e-12 * values[..., :1, None].abs()
    return torch.where(apart, 1 / gaps, 0)


class _OnceDifferentiable(torch.autograd.Function):
    """A gradient that has no derivative of its own, with an error that says what has one."""

    generate_vmap_rule = True

    @staticmethod
    def forward(result: Tensor, gradient: Tensor, matrix: Tensor) -> Tensor:
        return result.clone()

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx, gradient: Tensor):
        raise _no_second_derivative()


class _ForwardOnceDifferentiable(_OnceDifferentiable):
    """The same where the second derivative is a forward-mode one."""

    @staticmethod
    def jvp(ctx, *tangents: Tensor):
        raise _no_second_derivative()


def _differentiable_once(result: Tensor, gradient: Tensor, matrix: Tensor) -> Tensor:
    if not torch.is_grad_enabled():
        return result  # nobody will ask for more
    function = _ForwardOnceDifferentiable if is_transforming() else _OnceDifferentiable
    return function.apply(result, gradient, matrix)  # pyright: ignore[reportReturnType]


def _no_second_derivative() -> KanervaError:
    return KanervaError(
        "derivative",
        expected="a first derivative of a low-rank covariance",
        got="a second one",
        fix="Use a FullCovariance, or write with condition into a LowRankCovariance whose rank is "
        "at least the number of items: they have derivatives of every order.",
    )
