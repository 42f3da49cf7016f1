"""The large tensors of a sparse distributed memory: addresses drawn at random, empty counters."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

from kanerva.errors import KanervaError


def draw_addresses(num_addresses: int, num_bits: int, generator: torch.Generator | None) -> Tensor:
    """(K, D), bool: each bit is 0 or 1 with the same probability."""
    if not isinstance(generator, torch.Generator | None):
        raise KanervaError(
            "generator",
            expected="a torch.Generator",
            got=type(generator).__name__,
            fix="Pass torch.Generator().manual_seed(0), or None.",
        )
    with _enough_memory(num_addresses, num_bits):
        return torch.randint(
            2,
            (num_addresses, num_bits),
            dtype=torch.bool,
            generator=generator,
            device="cpu" if generator is None else generator.device,
        )


def empty_counters(num_addresses: int, num_data_bits: int, device: torch.device) -> Tensor:
    """(K, C), int32, all 0."""
    with _enough_memory(num_addresses, num_data_bits):
        return torch.zeros(num_addresses, num_data_bits, dtype=torch.int32, device=device)


@contextlib.contextmanager
def _enough_memory(num_addresses: int, num_bits: int) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, MemoryError, OverflowError, TypeError):
        raise KanervaError(
            "num_addresses",
            expected="a memory that fits onto its device",
            got=f"{num_addresses:,} addresses of {num_bits:,} bits",
            fix="Choose fewer addresses or bits; each counter takes 4 bytes.",
        ) from None
