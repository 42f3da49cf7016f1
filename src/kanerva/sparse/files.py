"""A sparse distributed memory as a file."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.tensor_file import read_tensor_file, write_tensor_file

KIND = "sparse memory"


class SavedMemory(NamedTuple):
    """What a file holds."""

    addresses: Tensor
    """(K, D), bool."""
    counters: Tensor
    """(K, C), int32."""
    radius: int
    num_written: int


def write_memory(path: Path, memory: SavedMemory) -> None:
    """Write the file. Eight bits of an address take one byte."""
    packed = torch.from_numpy(np.packbits(memory.addresses.cpu().numpy(), axis=1))
    write_tensor_file(
        path,
        {"addresses": packed, "counters": memory.counters},
        {
            "kind": KIND,
            "num_bits": memory.addresses.shape[1],
            "radius": memory.radius,
            "num_written": memory.num_written,
        },
    )


def read_memory(path: Path) -> SavedMemory:
    """Read the file and check that its parts fit together."""
    tensors, metadata, _ = read_tensor_file(path, what="memory", otherwise="save it again")
    if metadata.get("kind") != KIND:
        raise _wrong(path, f"a file of kind {metadata.get('kind')!r}")
    num_bits, radius, num_written = (
        _whole_number(path, metadata, name) for name in ("num_bits", "radius", "num_written")
    )
    if set(tensors) != {"addresses", "counters"}:
        raise _wrong(path, f"tensors {', '.join(sorted(tensors)) or 'none'}")
    packed, counters = tensors["addresses"], tensors["counters"]
    if (
        packed.dtype != torch.uint8
        or packed.dim() != 2
        or len(packed) == 0
        or packed.shape[1] != -(-num_bits // 8)
        or counters.dtype != torch.int32
        or counters.dim() != 2
        or len(counters) != len(packed)
        or counters.shape[1] == 0
        or not radius <= num_bits
    ):
        raise _wrong(
            path,
            f"addresses {packed.dtype} {tuple(packed.shape)} of {num_bits} bits, "
            f"counters {counters.dtype} {tuple(counters.shape)}, radius {radius}",
        )
    bits = np.unpackbits(packed.numpy(), axis=1, count=num_bits)
    return SavedMemory(torch.from_numpy(bits).bool(), counters, radius, num_written)


def _whole_number(path: Path, metadata: dict[str, object], name: str) -> int:
    value = metadata.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(path, f"{name} {value!r}")
    return value


def _wrong(path: Path, got: str) -> KanervaError:
    return KanervaError(
        "memory",
        expected="a file that SparseMemory.save wrote",
        got=f"{got} in '{path}'",
        fix="Name another file, or save the memory again.",
    )
