"""Checks of the memory's arguments: shapes, dtypes, devices and values of tensors.

Each check raises a `KanervaError` that names the argument, what was expected, what came, and a fix.
Shapes, dtypes and devices are always checked. Values (finite, positive, positive definite) are
checked too, except while a CUDA graph is captured or a function is compiled: they do not exist yet
at that time. Checks of plain numbers and words are in `kanerva.checks`.
"""

import math
from numbers import Real
from typing import Protocol

import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.linalg import (
    WORKING_DTYPE,
    is_capturing_graph,
    is_positive_definite,
    smallest_eigenvalue,
    to_float64,
)


def check_float_tensor(argument: str, value: object, shape: str, *, min_dims: int) -> None:
    """Check for a dense floating-point tensor with at least `min_dims` dimensions."""
    if not isinstance(value, Tensor):
        converted = f"torch.as_tensor({argument}, dtype=torch.float32)"
        raise KanervaError(
            argument,
            expected=f"a floating-point tensor of shape {shape}",
            got=type(value).__name__,
            fix=f"Pass a torch.Tensor; {converted} makes one of lists and arrays.",
        )
    if value.is_meta:
        raise KanervaError(
            argument,
            expected="a tensor that holds numbers",
            got="a meta tensor",
            fix="A meta tensor has a shape but no values: create it on 'cpu' or 'cuda'.",
        )
    if value.layout is not torch.strided:
        raise KanervaError(
            argument,
            expected="a dense tensor",
            got=f"layout {value.layout}",
            fix=f"Pass {argument}.to_dense().",
        )
    if not value.is_floating_point():
        raise KanervaError(
            argument,
            expected="a floating-point tensor",
            got=str(value.dtype),
            fix=f"Convert it first: {argument}.{'real' if value.is_complex() else 'float()'}.",
        )
    if value.dim() < min_dims:
        raise KanervaError(
            argument,
            expected=f"shape {shape}",
            got=str(tuple(value.shape)),
            fix=f"Add what is missing: {argument}[None] adds a dimension in front "
            f"(one item), {argument}[..., None] one at the end.",
        )


def check_size(
    argument: str, value: Tensor, dim: int, expected: int, meaning: str, *, fix: str | None = None
) -> None:
    """Check the size of dimension `dim`; `meaning` says in words what that size is."""
    if value.shape[dim] == expected:
        return
    if fix is None:
        if value.dim() > 1 and value.shape[-1 if dim == -2 else -2] == expected:
            fix = f"Its last two dimensions may be swapped: pass {argument}.mT."
        else:
            fix = "Check which dimension is which: (..., T items, K rows or C code entries)."
    raise KanervaError(
        argument,
        expected=f"size {expected} in dimension {dim} ({meaning})",
        got=f"{value.shape[dim]} in shape {tuple(value.shape)}",
        fix=fix,
    )


def broadcast_batches(**batches: torch.Size) -> torch.Size:
    """The leading dimensions that all arguments broadcast to; an error where they do not."""
    first, *others = batches.values()
    if all(batch == first for batch in others):
        return first  # nearly always the case, and torch.broadcast_shapes is slow
    try:
        return torch.broadcast_shapes(*batches.values())
    except RuntimeError:
        raise KanervaError(
            ", ".join(batches),
            expected="leading (batch) dimensions that broadcast",
            got=", ".join(f"{name} {tuple(batch)}" for name, batch in batches.items()),
            fix="Give them the same leading dimensions, or insert dimensions of size 1.",
        ) from None


class HasDtypeAndDevice(Protocol):
    """A tensor, a memory or a covariance."""

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...


def check_same_dtype_and_device(*, fix: str | None = None, **arguments: HasDtypeAndDevice) -> None:
    """Check that all arguments have the dtype and the device of the first.

    Autocast mixes dtypes on purpose, so dtypes may differ under it.
    """
    (first_name, first), *others = arguments.items()
    for name, value in others:
        if value.device != first.device:
            raise KanervaError(
                name,
                expected=f"device {first.device} like {first_name}",
                got=str(value.device),
                fix=fix or f"Move it: {name}.to({str(first.device)!r}).",
            )
        if value.dtype != first.dtype and not torch.is_autocast_enabled(first.device.type):
            dtype = str(first.dtype)
            raise KanervaError(
                name,
                expected=f"dtype {dtype} like {first_name}",
                got=str(value.dtype),
                fix=fix or f"Convert it: {name}.to({dtype}).",
            )


def check_finite(argument: str, tensor: Tensor) -> None:
    """Check that there is no NaN and no infinity."""
    # One cheap pass: if a sum is finite, everything in it is.
    if is_capturing_graph(tensor) or math.isfinite(tensor.detach().sum().item()):
        return
    bad = ~tensor.isfinite()
    if bad.any():
        raise KanervaError(
            argument,
            expected="finite values",
            got=f"{int(bad.sum())} NaN or Inf, first at {tuple(bad.nonzero()[0].tolist())}",
            fix="Find where they come from (torch.autograd.set_detect_anomaly helps), "
            "or leave those items out.",
        )


def check_positive(argument: str, tensor: Tensor) -> None:
    """Check that all values are above zero."""
    if not is_capturing_graph(tensor) and not bool((tensor > 0).all()):
        raise KanervaError(
            argument,
            expected="positive values",
            got=f"a smallest value of {tensor.detach().min().item():g}",
            fix="A variance is above zero: pass exp or softplus of an unbounded parameter.",
        )


def check_not_negative(argument: str, tensor: Tensor) -> None:
    """Check that no value is below zero."""
    if not is_capturing_graph(tensor) and not bool((tensor >= 0).all()):
        raise KanervaError(
            argument,
            expected="values of at least zero",
            got=f"a smallest value of {tensor.detach().min().item():g}",
            fix="Pass variances, not log-variances: log_var.exp().",
        )


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
        got = f"shape {tuple(value.shape)}, {value.dtype}" if isinstance(value, Tensor) else value
        raise _noise_var_error(str(got))
    if not is_capturing_graph(scalar) and not MIN_NOISE_VAR < scalar.item() < MAX_NOISE_VAR:
        raise _noise_var_error(str(scalar.item()))
    return scalar


def _noise_var_error(got: str) -> KanervaError:
    return KanervaError(
        "noise_var",
        expected="one positive finite number (or a floating-point tensor of no dimensions)",
        got=got,
        fix="Pass the variance of the noise on every code; the paper uses 1.0. "
        "Variances of single items go into code_var.",
    )


def check_square(argument: str, matrix: Tensor) -> None:
    """Check for a square matrix."""
    if matrix.shape[-1] != matrix.shape[-2]:
        raise KanervaError(
            argument,
            expected="a square matrix (..., K, K)",
            got=str(tuple(matrix.shape)),
            fix="Pass the covariance between the K rows of the memory, "
            "or a DiagonalCovariance for variances alone.",
        )


def check_positive_definite(argument: str, matrix: Tensor) -> None:
    """Check for a symmetric (up to rounding) and positive definite matrix."""
    if is_capturing_graph(matrix) or matrix.numel() == 0:
        return
    matrix = matrix.detach()
    largest = matrix.abs().amax((-2, -1))
    asymmetry = (matrix - matrix.mT).abs().amax((-2, -1))
    if bool((asymmetry > 1000 * torch.finfo(matrix.dtype).eps * largest).any()):
        raise KanervaError(
            argument,
            expected="a symmetric matrix",
            got=f"entries that differ from their mirror image by up to {asymmetry.max().item():g}",
            fix=f"Symmetrise it: ({argument} + {argument}.mT) / 2.",
        )
    wide = to_float64(matrix)
    if not is_positive_definite(wide):
        eye = f"torch.eye({matrix.shape[-1]})"
        smallest = smallest_eigenvalue(wide).min().item()
        enough = max(-2 * smallest, 1e-6 * (largest.max().item() or 1))
        raise KanervaError(
            argument,
            expected="a positive definite matrix",
            got=f"a smallest eigenvalue of {smallest:.3g}",
            fix=f"Add to its diagonal, {argument} + {enough:.3g} * {eye}, "
            f"or build it as A @ A.mT + {eye}.",
        )
