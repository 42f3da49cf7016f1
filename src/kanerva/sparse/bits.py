"""The check that a tensor holds bits."""

import torch
from torch import Tensor

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
