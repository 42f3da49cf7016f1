"""Checks of sufficient statistics: their shapes, their scale, and whether items can have them.

With G = W' W / sigma^2, H = W' Z / sigma^2 and S = Z' Z / sigma^2, evidence holds G as `gram`, H as
`cross` and tr S as `squares`.

Shapes: K rows, C code size; leading dimensions are free and broadcast.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.checks import check_integer
from kanerva.errors import KanervaError
from kanerva.memory.state import float64_copy
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
    check_square,
)
from kanerva.memory.value_checks import check_finite, check_no_overflow, check_symmetric

ROUNDING_TOLERANCE = 1e-6
"""How far off the remainder of a subtraction may be, relative to the largest entry. Weights and
codes that a network computes again in float32 differ this much from those that were written."""
LARGEST_LOSS = 1e-4
"""How much of a remainder may be rounding errors of what was there before."""


class LargestEntries(NamedTuple):
    """The largest entries that evidence ever had, for each memory of the batch, (...).

    Rounding errors are relative to them: evidence that is small now may be what is left of large
    evidence.
    """

    gram: Tensor
    cross: Tensor
    squares: Tensor

    def or_larger(self, other: "LargestEntries | None") -> "LargestEntries":
        """The larger ones of both."""
        return self if other is None else LargestEntries(*map(torch.maximum, self, other))


class CheckedStatistics(NamedTuple):
    """Float64 copies of statistics that were checked."""

    gram: Tensor
    cross: Tensor
    squares: Tensor | None
    largest: LargestEntries


def checked_statistics(
    gram: Tensor, cross: Tensor, squares: Tensor | None, count: int, largest: object
) -> CheckedStatistics:
    """Check and copy what a caller made: shapes, dtypes, devices and finite numbers."""
    check_float_tensor("gram", gram, "(..., K, K)", min_dims=2)
    check_float_tensor("cross", cross, "(..., K, C)", min_dims=2)
    check_square("gram", gram)
    check_size("cross", cross, -2, gram.shape[-1], "the K rows of gram")
    check_same_dtype_and_device(gram=gram, cross=cross)
    batch = broadcast_batches(gram=gram.shape[:-2], cross=cross.shape[:-2])
    if squares is not None:
        check_float_tensor("squares", squares, "(...)", min_dims=0)
        check_same_dtype_and_device(gram=gram, squares=squares)
        broadcast_batches(evidence=batch, squares=squares.shape)
    fix = "Make the evidence with Evidence.of(weights, codes), which counts the items."
    check_integer("count", count, at_least=0, fix=fix)
    if not isinstance(largest, LargestEntries | None):
        raise KanervaError(
            "largest",
            expected="what another evidence has there",
            got=type(largest).__name__,
            fix="Leave it out.",
        )
    check_symmetric("gram", gram)
    gram, cross = float64_copy(gram), float64_copy(cross)
    squares = None if squares is None else float64_copy(squares)
    history = largest_entries(gram, cross, squares).or_larger(largest)
    reason = why_impossible(gram, cross, squares, count, history)
    if reason is not None:
        raise KanervaError(
            "gram",
            expected="statistics that items can have",
            got=reason,
            fix="Make the evidence with Evidence.of(weights, codes).",
        )
    return CheckedStatistics(gram, cross, squares, history)


class Statistics(Protocol):
    """Evidence, as far as these functions look at it."""

    @property
    def gram(self) -> Tensor: ...
    @property
    def cross(self) -> Tensor: ...
    @property
    def squares(self) -> Tensor | None: ...
    @property
    def largest(self) -> LargestEntries | None: ...


def check_same_sizes(left: Statistics, right: Statistics) -> None:
    """Check that two evidences can be added: K, C, dtype, device and batch."""
    K, C = left.cross.shape[-2:]
    fix = "Add and subtract evidence for one memory only: the same rows K and code size C."
    check_size("evidence", right.gram, -1, K, "K of the evidence on the left", fix=fix)
    check_size("evidence", right.cross, -1, C, "C of the evidence on the left", fix=fix)
    fix = "Make both with Evidence.of, from weights and codes on one device."
    check_same_dtype_and_device(left=left.gram, right=right.gram, fix=fix)
    broadcast_batches(left=left.cross.shape[:-2], right=right.cross.shape[:-2])


def combined(
    left: Statistics, right: Statistics, operation: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor | None, LargestEntries]:
    """The statistics of both sides, added or subtracted, and the history of both sides."""
    check_same_sizes(left, right)
    squares = None
    if left.squares is not None and right.squares is not None:
        squares = finite_or_none(operation(left.squares, right.squares))
    assert left.largest is not None
    gram, cross = operation(left.gram, right.gram), operation(left.cross, right.cross)
    return gram, cross, squares, left.largest.or_larger(right.largest)


def largest_entries(gram: Tensor, cross: Tensor, squares: Tensor | None) -> LargestEntries:
    """The largest entries of evidence as it is now, which must be finite."""
    check_finite("gram", gram)
    check_finite("cross", cross)
    if squares is None:
        return LargestEntries(_largest(gram), _largest(cross), gram.new_zeros(()))
    check_finite("squares", squares)
    return LargestEntries(_largest(gram), _largest(cross), squares.detach().abs())


def check_sums(gram: Tensor, cross: Tensor) -> None:
    """Check that the sums over an episode are finite, in words about its weights and codes."""
    fix = "Scale the weights or the codes down, or raise noise_var."
    for argument, name, total in (("weights", "W", gram), ("weights, codes", "Z", cross)):
        wanted = f"numbers whose sums W' {name} / noise_var are finite in float64"
        check_no_overflow(argument, total, expected=wanted, fix=fix)


def check_remainder(
    gram: Tensor, cross: Tensor, squares: Tensor | None, count: int, history: LargestEntries
) -> None:
    """Check that `count` items can have the evidence that is left after a subtraction."""
    if count < 0:
        reason = f"{-count} items fewer than none"
    else:
        reason = why_impossible(gram, cross, squares, count, history)
    if reason is not None:
        raise KanervaError(
            "evidence",
            expected="to forget only items that were written here",
            got=f"a remainder with {reason}",
            fix="Subtract exactly the evidence that was added: the same weights, codes and noise.",
        )
    if count > 0 and not linalg.is_capturing_graph(gram):
        lost = torch.finfo(gram.dtype).eps * history.gram
        if linalg.any_true(lost > LARGEST_LOSS * _largest(gram)):
            raise KanervaError(
                "evidence",
                expected="items that leave something that can be told from rounding errors",
                got=f"a remainder up to {linalg.numbers(_largest(gram)).min().item():.3g} of "
                f"evidence that was up to {linalg.numbers(history.gram).max().item():.3g}",
                fix="Keep items with such weights, or such a small noise, in evidence of their own "
                "and add it last.",
            )


def why_impossible(
    gram: Tensor, cross: Tensor, squares: Tensor | None, count: int, largest: LargestEntries
) -> str | None:
    """Why `count` items cannot have this evidence; None if they can, up to rounding errors.

    The matrix [G H; H' S] of any items is positive semi-definite, and its rank is at most their
    number. So G is, a row of G that is zero is zero in H, and tr H' (G + slack)^-1 H <= tr S. While
    a graph is captured there are no values to look at.
    """
    if linalg.is_capturing_graph(gram):
        return None
    K, C = cross.shape[-2:]
    gram, cross = gram.detach(), cross.detach()
    slack = ROUNDING_TOLERANCE * K * largest.gram
    if not linalg.is_positive_definite(_shifted(gram, slack)):
        lowest = linalg.numbers(linalg.smallest_eigenvalue(gram)).min().item()
        return f"a negative eigenvalue of W' W, {lowest:.3g}"
    if count == 0:
        for part, scale in ((gram, largest.gram), (cross, largest.cross)):
            left = _largest(part)
            if linalg.any_true(left > ROUNDING_TOLERANCE * K * scale):
                return f"no items, but evidence of up to {linalg.numbers(left).max().item():.3g}"
    if 0 < count < K:
        surplus = linalg.eigenvalues(gram)[..., : K - count].amax(-1)
        if linalg.any_true(surplus > slack):
            return f"a rank of W' W above the number of items, {count}"
    unused = gram.diagonal(dim1=-2, dim2=-1) == 0
    unexplained = torch.where(unused[..., None], cross.abs(), 0).flatten(-2)
    if C and linalg.any_true(unexplained.amax(-1) > ROUNDING_TOLERANCE * largest.cross):
        return "codes in rows that no item has a weight on"
    if squares is None:
        return None
    rest = squares + ROUNDING_TOLERANCE * largest.squares
    if linalg.any_true(rest < 0):
        return f"codes with a sum of squares of {linalg.numbers(squares).min().item():.3g}"
    factor = linalg.cholesky(_shifted(gram, 2 * slack), name="W' W of the evidence")
    needed = linalg.solve_lower(factor, cross).square().sum((-2, -1)).sqrt()
    scale = torch.where(largest.gram > 0, largest.gram, 1).sqrt()
    rounding = math.sqrt(ROUNDING_TOLERANCE * C / 2) * largest.cross / scale
    if linalg.any_true((needed > rest.sqrt() + rounding) & needed.isfinite()):
        return "codes that do not belong to the weights"
    return None


def finite_or_none(squares: Tensor) -> Tensor | None:
    """Sums of squares, or None if they are too large for floating point: only checks need them."""
    finite = linalg.is_capturing_graph(squares) or not linalg.any_true(~squares.isfinite())
    return squares if finite else None


def _shifted(gram: Tensor, slack: Tensor) -> Tensor:
    """G + slack I; G + I where everything is zero."""
    shift = torch.where(slack > 0, slack, 1)
    return linalg.add_diagonal(gram, shift[..., None].expand(*shift.shape, gram.shape[-1]))


def _largest(part: Tensor) -> Tensor:
    """The largest entry of each matrix of a batch; 0 for a matrix without entries."""
    entries = part.detach().abs().flatten(-2)
    return entries.amax(-1) if entries.shape[-1] else entries.sum(-1)
