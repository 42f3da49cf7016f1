"""Loading memories from files."""

from pathlib import Path

import torch

from kanerva.memory.memory_file import read_memory_file
from kanerva.memory.state import MemoryState
from kanerva.memory.tensor_checks import (
    checked_device,
)


def load_memory(path: str | Path, *, device: str | torch.device = "cpu") -> MemoryState:
    """Load a memory from a file that `MemoryState.save` wrote.

    Everything comes back bit for bit: the mean, the covariance in its own representation, the
    dtype and the batch. A checksum is verified, and nothing in the file can run code. The file does
    not know a model: read the memory with the model that wrote it, in the same state of training.
    `kanerva.open` keeps memories together with the fingerprint of their model.

    Args:
        path: the file.
        device: where to put the memory.

    Returns:
        The memory.

    Raises:
        KanervaError: there is no such file or device, the file is damaged, or it holds something
            else.

    Example:
        >>> import tempfile
        >>> import torch
        >>> from kanerva import MemoryState, load_memory
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     MemoryState(torch.zeros(3, 2), torch.eye(3)).save(f"{folder}/m.safetensors")
        ...     load_memory(f"{folder}/m.safetensors")
        MemoryState(num_rows=3, code_size=2, FullCovariance, torch.float32, cpu)

    """
    target = checked_device("device", device)
    return MemoryState._unchecked(*read_memory_file(path)).to(target)
