"""What the memory accepts. Each check raises a `KanervaError` that names the argument and the fix.

Shapes, dtypes and devices are always checked. Values (finite, positive, positive definite) are
looked at too, except while a CUDA graph is captured or a function compiled, when they cannot be.
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


def float_tensor(argument: str, value: object, shape: str, *, min_dims: int) -> None:
    """A floating-point tensor with at least `min_dims` dimensions."""
    if not isinstance(value, Tensor):
        raise KanervaError(
            argument,
            expected=f"a floating-point tensor of shape {shape}",
            got=type(value).__name__,
            fix=f"Pass torch.as_tensor({argument}).",
        )
    if value.layout is not torch.strided or value.is_meta:
        raise KanervaError(
            argument,
            expected="a dense tensor that holds numbers",
            got="a meta tensor" if value.is_meta else f"layout {value.layout}",
            fix=f"Pass {argument}.to_dense(), on a real device.",
        )
    if not value.is_floating_point():
        raise KanervaError(
            argument,
            expected="a floating-point tensor",
            got=str(value.dtype),
            fix=f"Convert it first: {argument}.float().",
        )
    if value.dim() < min_dims:
        raise KanervaError(
            argument,
            expected=f"shape {shape}",
            got=str(tuple(value.shape)),
            fix=f"Add the missing dimension, for one item {argument}[None].",
        )


def size(argument: str, value: Tensor, dim: int, expected: int, meaning: str) -> None:
    """Dimension `dim` has the `expected` size; `meaning` says whose size that is."""
    if value.shape[dim] != expected:
        raise KanervaError(
            argument,
            expected=f"size {expected} in dimension {dim} ({meaning})",
            got=f"{value.shape[dim]} in shape {tuple(value.shape)}",
            fix="Check which dimension is which: (..., T items, K rows or C code entries).",
        )


def broadcastable(**batches: torch.Size) -> torch.Size:
    """The common leading dimensions of all arguments."""
    first, *others = batches.values()
    if all(batch == first for batch in others):
        return first  # torch's own function is slow, and this is nearly always so
    try:
        return torch.broadcast_shapes(*batches.values())
    except RuntimeError:
        raise KanervaError(
            ", ".join(batches),
            expected="leading (batch) dimensions that broadcast",
            got=", ".join(f"{name} {tuple(batch)}" for name, batch in batches.items()),
            fix="Give them the same leading dimensions, or insert ones of size 1.",
        ) from None


SMALLEST, LARGEST = 1e-300, 1e300
"""Of a noise variance: its inverse must be a number too."""


class HasDtypeAndDevice(Protocol):
    """A tensor or a memory."""

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...


def alike(**things: HasDtypeAndDevice) -> None:
    """All on one device and of one dtype; under autocast, where mixing is asked for, of any."""
    (first_name, first), *others = things.items()
    for name, thing in others:
        if thing.device != first.device:
            raise KanervaError(
                name,
                expected=f"device {first.device} like {first_name}",
                got=str(thing.device),
                fix=f"Move it: {name}.to({str(first.device)!r}).",
            )
        if thing.dtype != first.dtype and not torch.is_autocast_enabled(first.device.type):
            dtype = str(first.dtype)
            raise KanervaError(
                name,
                expected=f"dtype {dtype} like {first_name}",
                got=str(thing.dtype),
                fix=f"Convert it: {name}.to({dtype}).",
            )


def finite(argument: str, tensor: Tensor) -> None:
    """No NaN and no infinity. One cheap pass: a sum is finite unless something in it is not."""
    if is_capturing_graph(tensor) or math.isfinite(tensor.detach().sum().item()):
        return
    bad = ~tensor.isfinite()
    if bad.any():
        raise KanervaError(
            argument,
            expected="finite values",
            got=f"{int(bad.sum())} NaN or Inf, first at {tuple(bad.nonzero()[0].tolist())}",
            fix="Find where they come from (torch.autograd.set_detect_anomaly helps), "
            "or mask those items out.",
        )


def positive(argument: str, tensor: Tensor) -> None:
    if not is_capturing_graph(tensor) and not bool((tensor > 0).all()):
        raise KanervaError(
            argument,
            expected="positive values",
            got=f"a smallest of {tensor.detach().min().item():g}",
            fix="A variance is above zero: pass exp or softplus of an unbounded parameter.",
        )


def not_negative(argument: str, tensor: Tensor) -> None:
    if not is_capturing_graph(tensor) and not bool((tensor >= 0).all()):
        raise KanervaError(
            argument,
            expected="values of at least zero",
            got=f"a smallest of {tensor.detach().min().item():g}",
            fix="Pass variances, not log-variances: log_var.exp().",
        )


def positive_integer(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise KanervaError(
            argument,
            expected="a whole number of at least 1",
            got=repr(value),
            fix="Count from 1.",
        )


def positive_scalar(argument: str, value: object, like: Tensor) -> Tensor:
    """A positive number, or a learned one (a tensor of no dimensions), widened."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.dim() == 0:
        float_tensor(argument, value, "()", min_dims=0)
        scalar = to_float64(value).to(like.device)
    elif isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise _bad_scalar(argument, "a number too large for floating point") from None
        if not SMALLEST < number < LARGEST:
            raise _bad_scalar(argument, f"{number:g}")
        return like.new_full((), number, dtype=WORKING_DTYPE)
    else:
        got = f"shape {tuple(value.shape)}, {value.dtype}" if isinstance(value, Tensor) else value
        raise _bad_scalar(argument, str(got))
    if not is_capturing_graph(scalar) and not SMALLEST < scalar.item() < LARGEST:
        raise _bad_scalar(argument, str(scalar.item()))
    return scalar


def _bad_scalar(argument: str, got: str) -> KanervaError:
    return KanervaError(
        argument,
        expected="one positive finite number (or a floating-point tensor of no dimensions)",
        got=got,
        fix="It is the variance of the noise on each code; the paper uses 1. "
        "Variances of single items go into code_var.",
    )


def square(argument: str, matrix: Tensor) -> None:
    if matrix.shape[-1] != matrix.shape[-2]:
        raise KanervaError(
            argument,
            expected="a square matrix (..., K, K)",
            got=str(tuple(matrix.shape)),
            fix="Pass the covariance between the K rows of the memory, "
            "or a DiagonalCovariance for variances alone.",
        )


def positive_definite(argument: str, matrix: Tensor) -> None:
    """Symmetric to rounding, and positive definite."""
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
        raise KanervaError(
            argument,
            expected="a positive definite matrix",
            got=f"a smallest eigenvalue of {smallest_eigenvalue(wide).min().item():.3g}",
            fix=f"Add a little to its diagonal, {argument} + 1e-6 * torch.eye(K), "
            "or build it as A @ A.mT + torch.eye(K).",
        )
