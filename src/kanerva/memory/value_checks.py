"""Checks of the numbers in the memory's arguments: finite, positive, positive definite.

Each check raises a `KanervaError` that names the argument, what was expected, what came, and a fix.
While a CUDA graph is captured or a function is compiled there are no values yet, and nothing is
checked. Inside transforms of `torch.func` everything is checked. Checks of shapes, dtypes and
devices are in `kanerva.memory.tensor_checks`.
"""

import math
from numbers import Real

import numpy as np
import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.linalg import (
    WORKING_DTYPE,
    any_true,
    is_capturing_graph,
    is_positive_definite,
    numbers,
    smallest_eigenvalue,
    to_float64,
)
from kanerva.memory.tensor_checks import check_float_tensor


def check_finite(argument: str, tensor: Tensor) -> None:
    """Check that there is no NaN and no infinity."""
    # One cheap pass: if a sum is finite, everything in it is.
    if is_capturing_graph(tensor) or math.isfinite(numbers(tensor).sum().item()):
        return
    bad = ~numbers(tensor).isfinite()
    if bad.any():
        first = bad.flatten().int().argmax().item()  # inside torch.func lists of indices fail
        place = tuple(int(index) for index in np.unravel_index(int(first), bad.shape))
        raise KanervaError(
            argument,
            expected="finite values",
            got=f"{int(bad.sum())} NaN or Inf, first at {place}",
            fix="If they come from data, leave those items out. If a network made them, its "
            "training has diverged: go back to an earlier checkpoint and lower the learning rate "
            "(torch.autograd.set_detect_anomaly(True) finds the first bad step).",
        )


def check_no_overflow(argument: str, product: Tensor, *, expected: str, fix: str) -> None:
    """Check that what was computed from finite numbers is finite, too."""
    if is_capturing_graph(product) or math.isfinite(numbers(product).sum().item()):
        return
    if not numbers(product).isfinite().all():
        raise KanervaError(argument, expected=expected, got="numbers too large for that", fix=fix)


def check_result(*tensors: Tensor, of: str) -> None:
    """Check that what was computed from finite numbers, named in `of`, is finite, too."""
    for tensor in tensors:
        check_no_overflow(
            of,
            tensor,
            expected="numbers whose products are finite in float64",
            fix="Divide the codes, the weights or the covariance by a number first, so that all "
            "of them stay far below 1e150.",
        )


def infinite_if_overflown(value: Tensor, sign: float = 1.0) -> Tensor:
    """The value with an infinity in place of NaN, which finite numbers give only by overflow."""
    infinity = math.copysign(math.inf, sign)
    if is_capturing_graph(value):
        return value
    return value.nan_to_num(nan=infinity, posinf=math.inf, neginf=-math.inf)


def check_fits_dtype(argument: str, tensor: Tensor, dtype: torch.dtype) -> None:
    """Check that no number becomes infinite in another dtype."""
    if tensor.numel() == 0:
        return
    largest = numbers(tensor).abs().max()
    if not largest.to(dtype).isfinite():
        raise KanervaError(
            "dtype",
            expected=f"one that can hold the memory's {argument}, up to {largest.item():.3g}",
            got=f"{dtype}, which ends at {torch.finfo(dtype).max:.5g}",
            fix="Use torch.bfloat16 or torch.float32, or divide the codes by a number first.",
        )


def check_positive(argument: str, tensor: Tensor) -> None:
    """Check that all values are above zero."""
    if not is_capturing_graph(tensor) and any_true(~(tensor > 0)):
        raise KanervaError(
            argument,
            expected="positive values",
            got=f"a smallest value of {numbers(tensor).min().item():g}",
            fix="A variance is above zero: pass exp or softplus of an unbounded parameter.",
        )


def check_not_negative(argument: str, tensor: Tensor) -> None:
    """Check that no value is below zero."""
    if not is_capturing_graph(tensor) and any_true(~(tensor >= 0)):
        raise KanervaError(
            argument,
            expected="values of at least zero",
            got=f"a smallest value of {numbers(tensor).min().item():g}",
            fix="Pass variances, not log-variances: log_var.exp().",
        )


def number_like(tensor: Tensor, argument: str, number: Real) -> Tensor:
    """A number as a tensor of no dimensions with the dtype and on the device of another tensor."""
    try:
        value = float(number)
        if math.isfinite(value) and abs(value) > torch.finfo(tensor.dtype).max:
            raise OverflowError
    except OverflowError:
        raise KanervaError(
            argument,
            expected=f"a finite number in {tensor.dtype}",
            got="one that is too large",
            fix=f"Pass a number below {torch.finfo(tensor.dtype).max:.3g}.",
        ) from None
    return tensor.new_full((), value)


MIN_NOISE_VAR, MAX_NOISE_VAR = 1e-300, 1e300
"""Limits of `noise_var`: its inverse must be a finite number too."""


def checked_noise_var(value: object, *, like: Tensor) -> Tensor:
    """`noise_var` as a float64 tensor of no dimensions on the device of `like`.

    A number, or a learned number: a floating-point tensor of no dimensions.
    """
    if isinstance(value, Tensor) and value.is_floating_point() and value.dim() == 0:
        check_float_tensor("noise_var", value, "()", min_dims=0)
        scalar = to_float64(value).to(like.device)
    elif isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise _noise_var_error("a number too large for floating point") from None
        if not MIN_NOISE_VAR < number < MAX_NOISE_VAR:
            raise _noise_var_error(f"{number:g}")
        return like.new_full((), number, dtype=WORKING_DTYPE)
    else:
        if isinstance(value, Tensor) and not value.is_nested:
            raise _noise_var_error(f"shape {tuple(value.shape)}, {value.dtype}")
        raise _noise_var_error(f"{value} ({type(value).__name__})")
    if not is_capturing_graph(scalar):
        value = numbers(scalar)  # more than one inside vmap
        fits = (value > MIN_NOISE_VAR) & (value < MAX_NOISE_VAR)
        if not fits.all():
            raise _noise_var_error(str(value[~fits][0].item()))
    return scalar


def _noise_var_error(got: str) -> KanervaError:
    return KanervaError(
        "noise_var",
        expected=f"one positive number, above {MIN_NOISE_VAR:g} and below {MAX_NOISE_VAR:g} "
        "(or a floating-point tensor of no dimensions)",
        got=got,
        fix="Pass the variance of the noise on every code; the paper uses 1.0, and 1e-12 is nearly "
        "no noise. Variances of single items go into code_var.",
    )


def check_symmetric(argument: str, matrix: Tensor) -> None:
    """Check for a symmetric matrix, up to rounding."""
    if is_capturing_graph(matrix) or matrix.numel() == 0:
        return
    matrix = matrix.detach()
    largest = matrix.abs().amax((-2, -1))
    asymmetry = (matrix - matrix.mT).abs().amax((-2, -1))
    if any_true(asymmetry > 1000 * torch.finfo(matrix.dtype).eps * largest):
        most = numbers(asymmetry).max().item()
        raise KanervaError(
            argument,
            expected="a symmetric matrix",
            got=f"entries that differ from their mirror image by up to {most:g}",
            fix=f"Symmetrise it: ({argument} + {argument}.mT) / 2.",
        )


def check_positive_definite(argument: str, matrix: Tensor) -> None:
    """Check for a symmetric (up to rounding) and positive definite matrix."""
    check_symmetric(argument, matrix)
    if is_capturing_graph(matrix) or matrix.numel() == 0:
        return
    wide = to_float64(matrix.detach())
    if not is_positive_definite(wide):
        eye = f"torch.eye({matrix.shape[-1]})"
        smallest = numbers(smallest_eigenvalue(wide)).min().item()
        enough = max(-2 * smallest, 1e-6 * (numbers(wide).abs().max().item() or 1))
        raise KanervaError(
            argument,
            expected="a positive definite matrix",
            got=f"a smallest eigenvalue of {smallest:.3g}",
            fix=f"Add to its diagonal, {argument} + {enough:.3g} * {eye}, "
            f"or build it as A @ A.mT + {eye}.",
        )
