"""The sums of a memory in one safetensors file: to move it, and to merge what others wrote."""

from pathlib import Path

import numpy as np
import torch

from kanerva.errors import KanervaError
from kanerva.store.block_sums import SumsOfBlock
from kanerva.store.exact_sums import ExactSums
from kanerva.store.memory_config import MemoryConfig
from kanerva.tensor_file import read_tensor_file, write_tensor_file

KIND = "memory sums"
"""What the metadata of such a file say that it is."""


def write_snapshot(
    path: Path,
    config: MemoryConfig,
    blocks: dict[int, SumsOfBlock],
    *,
    state: str,
) -> None:
    """Write the sums of all blocks, with config, counts, state and a checksum, atomically."""
    places = [(block, epoch) for block, sums in sorted(blocks.items()) for epoch in sorted(sums)]
    contents = {
        f"{block}.{epoch}": torch.from_numpy(
            np.frombuffer(blocks[block][epoch].to_bytes(), "<i8").astype(np.int64)
        )
        for block, epoch in places
        if blocks[block][epoch].count
    }
    fields = {**vars(config), "grid": config.grid.to_dict()}
    count = sum(part.count for sums in blocks.values() for part in sums.values())
    metadata = {"kind": KIND, "config": fields, "state": state, "num_items": count}
    write_tensor_file(path, contents, metadata)


def read_snapshot(path: Path) -> tuple[MemoryConfig, dict[int, SumsOfBlock]]:
    """What `write_snapshot` wrote."""
    tensors, metadata, _ = read_tensor_file(path, what="memory", otherwise="export it again")
    fields = metadata.get("config")
    config = MemoryConfig.from_json(fields) if isinstance(fields, dict) else None
    if metadata.get("kind") != KIND or config is None:
        raise _foreign(path, "something else")
    blocks: dict[int, SumsOfBlock] = {}
    for name, tensor in tensors.items():
        try:
            block, epoch = map(int, name.split("."))
        except ValueError:
            raise _foreign(path, f"a part called {name!r}") from None
        contents = tensor.numpy().astype("<i8").tobytes()
        sums = ExactSums.from_bytes(contents, config.grid, config.num_rows, config.code_size)
        if sums is None:
            raise _foreign(path, f"a part of {tensor.numel()} numbers")
        blocks.setdefault(block, {})[epoch] = sums
    return config, blocks


def _foreign(path: Path, what: str) -> KanervaError:
    return KanervaError(
        "memory",
        expected="a file that MemoryStore.export wrote",
        got=f"{what} in '{path}'",
        fix="Export the memory again with this version of kanerva.",
    )
