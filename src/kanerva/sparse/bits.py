"""Checks that tensors hold bits, as many as a memory needs."""

import torch
from torch import Tensor

from kanerva.checks import check_outside_vmap
from kanerva.errors import KanervaError


def check_bits(
    argument: str, value: Tensor, size: int | None, device: torch.device | None
) -> Tensor:
    """Return a bool tensor (..., size), from one or from numbers that are 0 or 1."""
    if not isinstance(value, Tensor):
        raise KanervaError(
            argument,
            expected="a tensor of bits",
            got=type(value).__name__,
            fix=f"Pass torch.as_tensor({argument}).",
        )
    check_outside_vmap(argument, value)
    if value.is_nested:
        raise KanervaError(
            argument,
            expected="a tensor with one shape",
            got="a nested tensor",
            fix=f"Pad it: {argument}.to_padded_tensor(0.0).",
        )
    if value.layout is not torch.strided or value.is_quantized:
        raise KanervaError(
            argument,
            expected="an ordinary tensor",
            got="a quantised one" if value.is_quantized else f"layout {value.layout}",
            fix=f"Pass {argument}.dequantize()."
            if value.is_quantized
            else f"Pass {argument}.to_dense().",
        )
    if value.is_meta and device is None:
        raise KanervaError(
            argument,
            expected="a tensor with numbers",
            got="one on the device meta, which has none",
            fix="Make it on the CPU or on a GPU.",
        )
    if value.dim() == 0 or (size is not None and value.shape[-1] != size):
        raise KanervaError(
            argument,
            expected=f"{'D' if size is None else size} bits in the last dimension",
            got=f"shape {tuple(value.shape)}",
            fix="Check which dimension is which: (..., patterns, bits).",
        )
    if device is not None and value.device != device:
        raise KanervaError(
            argument,
            expected=f"device {device} like the memory",
            got=str(value.device),
            fix=f"Move it: {argument}.to({str(device)!r}).",
        )
    if value.dtype is torch.bool:
        return value
    bits = value == 1
    if not (bits | (value == 0)).all():
        raise KanervaError(
            argument,
            expected="bits: bool, or numbers that are 0 or 1",
            got=f"other numbers, {value.dtype}",
            fix=f"For signs pass {argument} > 0; for real numbers choose a threshold.",
        )
    return bits


def check_patterns(
    patterns: Tensor, at: Tensor | None, *, num_bits: int, num_data_bits: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return bool tensors: patterns (..., C), and where to write them, (..., D)."""
    data = check_bits("patterns", patterns, num_data_bits, device)
    if at is None and num_data_bits == num_bits:
        return data, data
    if at is None:
        raise KanervaError(
            "at",
            expected=f"where to write: {num_bits} bits for each pattern",
            got=f"None, but patterns of {num_data_bits} bits are not addresses",
            fix="Pass write(patterns, at=bits).",
        )
    where = check_bits("at", at, num_bits, device)
    if where.shape[:-1] != data.shape[:-1]:
        raise KanervaError(
            "at",
            expected=f"leading dimensions {tuple(data.shape[:-1])} like patterns",
            got=str(tuple(where.shape[:-1])),
            fix="Give one row of bits for each pattern.",
        )
    return data, where
