"""Checks of the memory's arguments: shapes, dtypes and devices of tensors.

Each check raises a `KanervaError` that names the argument, what was expected, what came, and a fix.
Checks of the numbers inside are in `kanerva.memory.value_checks`, and checks of plain numbers and
words in `kanerva.checks`.
"""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor

from kanerva.checks import check_device
from kanerva.errors import KanervaError
from kanerva.linalg import broadcast_shapes

FLOAT_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""The dtypes of memories and of what is written; torch cannot even add numbers in smaller ones."""


NOT_PLAIN = ("MaskedTensor", "FakeTensor")
"""Subclasses of tensors whose numbers are not there, or not all meant."""


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
    check_plain_tensor(argument, value)
    if value.dtype not in FLOAT_DTYPES:
        raise KanervaError(
            argument,
            expected="a floating-point tensor",
            got=str(value.dtype),
            fix=f"Convert it first: {argument}.{_to_float(value)}.",
        )
    if value.dim() < min_dims:
        raise KanervaError(
            argument,
            expected=f"shape {shape}",
            got=str(tuple(value.shape)),
            fix=f"Add what is missing: {argument}[None] adds a dimension in front "
            f"(one item), {argument}[..., None] one at the end.",
        )


def check_plain_tensor(argument: str, value: Tensor) -> None:
    """Check for a dense tensor whose numbers are all there and all meant."""
    if value.is_nested:
        raise KanervaError(
            argument,
            expected="a tensor with one shape",
            got="a nested tensor",
            fix=f"Pad with zeros: {argument}.to_padded_tensor(0.0). An item whose weights are zero "
            "does not change a memory, and images can be written one by one.",
        )
    if value.is_meta:
        raise KanervaError(
            argument,
            expected="a tensor that holds numbers",
            got="a meta tensor",
            fix="A meta tensor has a shape but no values: create it on 'cpu' or 'cuda'.",
        )
    if type(value).__name__ in NOT_PLAIN and not torch.compiler.is_compiling():
        raise KanervaError(
            argument,
            expected="a plain tensor",
            got=f"a {type(value).__name__}",
            fix="Pass a tensor whose numbers are all there and all meant.",
        )
    if value.layout is not torch.strided:
        raise KanervaError(
            argument,
            expected="a dense tensor",
            got=f"layout {value.layout}",
            fix=f"Pass {argument}.to_dense().",
        )


def _to_float(tensor: Tensor) -> str:
    """How to make a floating-point tensor of this one."""
    if tensor.is_quantized:
        return "dequantize()"
    return "real" if tensor.is_complex() else "float()"


def check_float_dtype(argument: str, dtype: torch.dtype) -> None:
    """Check for a dtype that a memory can have."""
    if dtype not in FLOAT_DTYPES:
        raise KanervaError(
            argument,
            expected=f"one of {', '.join(map(str, FLOAT_DTYPES))}",
            got=str(dtype),
            fix="A memory holds real numbers: use torch.float32 or torch.float64.",
        )


def checked_device(argument: str, value: object) -> torch.device:
    """A device that exists here."""
    if isinstance(value, str) and isinstance(getattr(torch, value, None), torch.dtype):
        raise KanervaError(
            argument,
            expected="a device or a dtype",
            got=f"the string {value!r}",
            fix=f"Pass the dtype itself: torch.{value}.",
        )
    if isinstance(value, torch.dtype):
        raise KanervaError(
            argument,
            expected="a device",
            got=str(value),
            fix="Pass a device such as 'cpu'; the memory decides on the dtype: memory.to(dtype).",
        )
    return check_device(argument, value)


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
        return first  # nearly always the case
    try:
        return broadcast_shapes(*batches.values())
    except RuntimeError:
        raise KanervaError(
            ", ".join(batches),
            expected="leading (batch) dimensions that broadcast",
            got=", ".join(f"{name} {tuple(batch)}" for name, batch in batches.items()),
            fix="Give them the same leading dimensions, or insert dimensions of size 1.",
        ) from None


def check_flag(argument: str, value: object) -> None:
    """Check for True or False; other things that count as true are mostly mistakes."""
    if not isinstance(value, bool):
        raise KanervaError(
            argument,
            expected="True or False",
            got=repr(value),
            fix=f"Pass {argument}=True or {argument}=False.",
        )


def check_gradients(**arguments: Iterable[Tensor]) -> None:
    """Check that gradients can flow: tensors made in inference mode do not allow it."""
    if torch.compiler.is_compiling() or not torch.is_grad_enabled():
        return
    if not any(tensor.requires_grad for tensors in arguments.values() for tensor in tensors):
        return
    for name, tensors in arguments.items():
        if any(tensor.is_inference() for tensor in tensors):
            raise KanervaError(
                name,
                expected="tensors that gradients can flow through",
                got="some that were made in torch.inference_mode()",
                fix="Make them in torch.no_grad() instead, or use them in torch.no_grad().",
            )


class HasDtypeAndDevice(Protocol):
    """A tensor, a memory or a covariance."""

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...


def check_same_device(*, fix: str | None = None, **arguments: HasDtypeAndDevice) -> None:
    """Check that all arguments are on the device of the first."""
    (first_name, first), *others = arguments.items()
    for name, value in others:
        if value.device != first.device:
            raise KanervaError(
                name,
                expected=f"device {first.device} like {first_name}",
                got=str(value.device),
                fix=fix or f"Move it: {name}.to({str(first.device)!r}).",
            )


def check_same_dtype_and_device(*, fix: str | None = None, **arguments: HasDtypeAndDevice) -> None:
    """Check that all arguments have the dtype and the device of the first.

    Autocast mixes dtypes on purpose, so dtypes may differ under it.
    """
    check_same_device(fix=fix, **arguments)
    (first_name, first), *others = arguments.items()
    for name, value in others:
        if value.dtype != first.dtype and not torch.is_autocast_enabled(first.device.type):
            dtype = str(first.dtype)
            raise KanervaError(
                name,
                expected=f"dtype {dtype} like {first_name}",
                got=str(value.dtype),
                fix=fix or f"Convert it: {name}.to({dtype}).",
            )


def check_generator(generator: object, device: torch.device) -> None:
    """Check for a random generator on this device, or None."""
    wanted = f"torch.Generator(device={device.type!r})"
    if generator is None:
        return
    if not isinstance(generator, torch.Generator):
        seed = generator if isinstance(generator, int) else 0
        raise KanervaError(
            "generator",
            expected="a torch.Generator",
            got=type(generator).__name__,
            fix=f"Pass {wanted}.manual_seed({seed}).",
        )
    if generator.device.type != device.type:
        raise KanervaError(
            "generator",
            expected=f"device {device} like the memory",
            got=str(generator.device),
            fix=f"Make it with {wanted}.",
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
