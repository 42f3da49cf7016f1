"""Arrays and tensors that a user passes, as plain arrays of real numbers.

NumPy and torch have many kinds of arrays. Those whose numbers mean what they say are taken: any
order in memory, any byte order, files that are mapped, whole numbers, bool, and every precision.
The others (sparse, masked, nested, objects, complex, ...) are refused, with what to do about it.
"""

import numpy as np
import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.memory.tensor_checks import check_plain_tensor
from kanerva.store.exact_sums import Floats

LEAST_STEPS = 30
"""A vector must be this many rounding steps long, or what is stored is mostly rounding."""


def plain_array(argument: str, value: object) -> "np.ndarray | Tensor":
    """A dense tensor, or an ordinary array, of real numbers."""
    if isinstance(value, Tensor):
        check_plain_tensor(argument, value)
        if value.is_complex() or value.is_quantized:
            fix = "dequantize()" if value.is_quantized else "real"
            raise _not_real(argument, str(value.dtype), f"Pass {argument}.{fix}.")
        return value.detach()
    if not isinstance(value, np.ndarray):
        raise KanervaError(
            argument,
            expected="a tensor or an array of real numbers",
            got=type(value).__name__,
            fix=f"Convert it: numpy.asarray({argument}).",
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise KanervaError(
            argument,
            expected="numbers that are all there",
            got=f"a masked array in which {np.ma.count_masked(value)} are masked",
            fix=f"Leave those items out, or say what to put there: {argument}.filled(0.0).",
        )
    if value.dtype.kind not in "fiub":
        if value.dtype.names:
            fix = f"Take one field: {argument}[{value.dtype.names[0]!r}]."
            raise _not_real(argument, "a structured array", fix)
        how = "real" if value.dtype.kind == "c" else "astype(numpy.float32)"
        raise _not_real(argument, f"dtype {value.dtype}", f"Convert it: {argument}.{how}.")
    return np.asarray(value)


def to_float64(argument: str, value: object) -> Floats:
    """The numbers of an array or tensor in float64."""
    array = plain_array(argument, value)
    if isinstance(array, Tensor):
        return array.cpu().resolve_neg().to(torch.float64).numpy()
    with np.errstate(over="ignore"):  # of numbers with more than 64 bits; they become infinite
        return array.astype(np.float64)


def to_float_tensor(argument: str, value: object) -> Tensor:
    """The numbers of an array or tensor as a tensor in float32."""
    array = plain_array(argument, value)
    if isinstance(array, Tensor):
        return array.resolve_neg().float()
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, np.float32)
    return torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())


def checked_vectors(argument: str, vectors: object, size: int, *, first: int = 0) -> Floats:
    """Vectors (T, size) of finite numbers in float64; `first` is the number of the first row."""
    array = to_float64(argument, vectors)
    if array.ndim != 2 or array.shape[1] != size:
        raise KanervaError(
            argument,
            expected=f"a tensor or array of real numbers with shape (T, {size})",
            got=f"shape {array.shape}",
            fix=f"One vector is vectors[None]; this memory takes {size} numbers for each.",
        )
    bad = ~np.isfinite(array)
    if bad.any():
        raise KanervaError(
            argument,
            expected="finite numbers",
            got=f"{int(bad.sum())} NaN or Inf, first in row {first + int(bad.any(1).argmax())}",
            fix="Leave those vectors out.",
        )
    return array


def unit_length(vectors: Floats) -> Floats:
    """Vectors divided by their length, however large or small it is; zeros stay zeros."""
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not ((lengths > 1e-140) & (lengths < 1e140)).all():  # their squares lose digits
            largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
            exponents = -np.frexp(largest)[1]
            halves = exponents // 2  # in two steps, because 2^1074 is infinite
            vectors = np.ldexp(np.ldexp(vectors, halves), exponents - halves)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def check_directions(argument: str, vectors: Floats, step: float, *, first: int) -> None:
    """Refuse vectors without a direction, or too short for the steps they are rounded to."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    short = (largest < LEAST_STEPS * step) | (largest == 0)
    if not short.any():
        return
    row = int(short.argmax())
    if largest[row] == 0:
        got, fix = "zeros only", "Leave those vectors out: they have no direction to be found by."
    else:
        got = f"numbers up to {largest[row]:.3g}"
        fix = "Scale them, or create a memory for smaller ones: plan_vectors(..., largest=...)."
    raise KanervaError(
        argument,
        expected=f"vectors with an entry of at least {LEAST_STEPS * step:.3g} "
        "(after the centre of the plan is subtracted)"
        if step
        else "vectors that are not zero",
        got=f"{got} in row {first + row}, and {int(short.sum())} such rows",
        fix=fix,
    )


def check_range(argument: str, vectors: Floats, limit: float, *, first: int) -> None:
    """Refuse entries that the whole numbers of a memory cannot hold."""
    large = np.abs(vectors) > limit
    if large.any():
        row = int(large.any(1).argmax())
        raise KanervaError(
            argument,
            expected=f"numbers between -{limit:.4g} and {limit:.4g}, the range of this memory",
            got=f"{np.abs(vectors[row]).max():.4g} in row {first + row}",
            fix="Scale them, or create a memory for larger ones: plan_vectors(..., largest=...).",
        )


def _not_real(argument: str, got: str, fix: str) -> KanervaError:
    return KanervaError(argument, expected="real numbers", got=got, fix=fix)
