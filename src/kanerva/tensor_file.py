"""Tensors and facts in one safetensors file, with a schema version and a checksum."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.errors import KanervaError

SCHEMA = 2
"""Schema 1 had no checksum and other names for the parameters of a model."""

Metadata = dict[str, object]
"""Whatever JSON can hold, by name."""


class DamagedFileError(KanervaError):
    """A file was cut short or changed after it was written."""


def write_tensor_file(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, object]
) -> None:
    """Write the file whole or not at all: a temporary file, fsync, rename."""
    contents = {name: _own_copy(tensor) for name, tensor in tensors.items()}
    words = {name: json.dumps(value) for name, value in metadata.items()}
    words["schema"] = str(SCHEMA)
    words["checksum"] = _checksum(contents, words)
    write_atomically(path, to_bytes(contents, words))


def read_tensor_file(path: Path) -> tuple[dict[str, Tensor], Metadata, int]:
    """The tensors, the metadata and the schema of a file that `write_tensor_file` wrote."""
    try:
        path.open("rb").close()  # safetensors reports a file without permission as missing
        with safe_open(path, framework="pt") as file:
            words = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except PermissionError:
        raise KanervaError(
            "checkpoint",
            expected="a file that may be read",
            got=f"'{path}', which may not",
            fix="Change its permissions, or copy it.",
        ) from None
    except (SafetensorError, OSError) as error:
        raise _damaged(path, " ".join(str(error).split())) from None
    schema = words.get("schema")
    if schema not in ("1", str(SCHEMA)):
        raise KanervaError(
            "checkpoint",
            expected=f"schema 1 or {SCHEMA}",
            got=f"{schema or 'none'} in '{path}'",
            fix="Load it with the version of kanerva that wrote it, or train again.",
        )
    if schema != "1" and words.pop("checksum", None) != _checksum(tensors, words):
        raise _damaged(path, "contents that do not match their checksum")
    del words["schema"]
    try:
        metadata: Metadata = {name: json.loads(word) for name, word in words.items()}
    except json.JSONDecodeError as error:
        raise _damaged(path, f"metadata that is not JSON: {error}") from None
    return tensors, metadata, int(schema)


def _own_copy(tensor: Tensor) -> Tensor:
    """A copy that shares no memory: parameters are views of one vector while training."""
    return tensor.detach().cpu().contiguous().clone()


def _checksum(tensors: Mapping[str, Tensor], words: Mapping[str, str]) -> str:
    """SHA-256 of all tensors and words, whatever their order."""
    digest = hashlib.sha256(json.dumps(sorted(words.items())).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _damaged(path: Path, what: str) -> DamagedFileError:
    return DamagedFileError(
        "checkpoint",
        expected="a whole safetensors file",
        got=f"'{path}': {what}",
        fix="It was cut short, changed, or is something else: copy it again, or take an "
        "earlier checkpoint.",
    )
