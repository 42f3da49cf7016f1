"""What rounding leaves of a difference: float64 holds 16 digits, and large weights need them all.

Shapes: T items, K rows; leading dimensions are free and broadcast.
"""

import warnings

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.errors import PrecisionWarning
from kanerva.memory.covariance import RowCovariance

MAX_SCALE = 1e14
"""How much larger than what is left the terms of a difference may be: 2 digits are right then."""


def may_be_lost(weights: Tensor, row_cov: RowCovariance, noise_var: Tensor) -> bool:
    """Whether w' U w may be so much larger than the noise that nothing is left of their difference.

    This is quick, and looks at the largest of all items and memories. Like all checks of numbers,
    it has nothing to look at while a graph is captured.
    """
    if linalg.is_capturing_graph(weights) or weights.numel() == 0:
        return False
    variances = linalg.numbers(row_cov.largest_variance())
    if variances.numel() == 0:
        return False
    squares = linalg.squared_length(linalg.numbers(weights)).sum().item()
    lowest = linalg.numbers(noise_var)
    largest, lowest = (
        one.item() if one.numel() == 1 else end(one).item()
        for one, end in ((variances, torch.max), (lowest, torch.min))
    )
    return squares * largest > MAX_SCALE * lowest


def check_precision(
    left: Tensor, scale: Tensor, *, what: str, ratio: str = "|w|^2 / noise"
) -> None:
    """Warn where `left` is the difference of numbers up to `scale` that have used up its digits."""
    if linalg.is_capturing_graph(left) or not linalg.any_true(MAX_SCALE * left < scale):
        return
    warnings.warn(
        f"{what} may be nothing but rounding errors: {ratio} is above {MAX_SCALE:g}, and "
        "float64 has 16 digits. Raise noise_var or scale the weights (or the memory) down.",
        PrecisionWarning,
        stacklevel=3,
    )


def check_factor(
    factor: Tensor, scale: Tensor | None = None, *, what: str, ratio: str = "|w|^2 / noise"
) -> None:
    """The same for the squares on the diagonal of a Cholesky factor (..., n, n), with n > 0.

    `scale` (...) is that of the factorised matrix, and otherwise its largest such square.
    """
    smallest, largest = factor.detach().diagonal(dim1=-2, dim2=-1).aminmax(dim=-1)
    scale = largest.square() if scale is None else scale
    check_precision(smallest.square(), scale, what=what, ratio=ratio)


def largest_var(weights: Tensor, row_cov: RowCovariance) -> Tensor:
    """A bound on w' U w of each item, (..., T), before anything cancels out."""
    rows = row_cov.largest_variance()[..., None].detach()
    return linalg.squared_length(weights.detach()) * rows


def check_read_var(var: Tensor, row_cov: RowCovariance, weights: Tensor, noise_var: Tensor) -> None:
    """Warn where nothing but rounding errors is left of w' U w + noise, (..., T)."""
    if may_be_lost(weights, row_cov, noise_var):
        check_precision(var, largest_var(weights, row_cov), what="the variance that is read")
