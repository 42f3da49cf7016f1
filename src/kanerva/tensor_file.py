"""Tensors and facts in one safetensors file, with a schema version and a checksum."""

import hashlib
import json
import stat
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
    _check_unicode(path)
    contents = {name: _own_copy(tensor) for name, tensor in tensors.items()}
    words = {name: json.dumps(value) for name, value in metadata.items()}
    words["schema"] = str(SCHEMA)
    words["checksum"] = _checksum(contents, words)
    write_atomically(path, to_bytes(contents, words))


def read_tensor_file(
    path: Path,
    *,
    what: str = "checkpoint",
    otherwise: str = "take an earlier checkpoint, or train again",
) -> tuple[dict[str, Tensor], Metadata, int]:
    """The tensors, the metadata and the schema of a file that `write_tensor_file` wrote.

    Errors call the file `what`, and suggest `otherwise` if nobody can repair it.
    """
    _check_plain_file(path, what)
    try:
        with safe_open(path, framework="pt") as file:
            words = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        got = _kind(path) or " ".join(str(error).split())
        raise _damaged(path, got, what, otherwise) from None
    schema = words.get("schema")
    if schema is None:
        raise KanervaError(
            what,
            expected="a file that kanerva wrote",
            got=f"'{path}', a safetensors file of another program",
            fix=f"Name a file that kanerva wrote, or {otherwise}.",
        )
    if schema not in ("1", str(SCHEMA)):
        raise KanervaError(
            what,
            expected=f"schema 1 or {SCHEMA}",
            got=f"{schema!r} in '{path}'",
            fix=f"Load it with the version of kanerva that wrote it, or {otherwise}.",
        )
    # A file of schema 1 with a checksum is a newer one whose schema was changed.
    has_checksum = schema != "1" or "checksum" in words
    if has_checksum and words.pop("checksum", None) != _checksum(tensors, words):
        raise _damaged(path, "contents that do not match their checksum", what, otherwise)
    del words["schema"]
    try:
        metadata: Metadata = {name: json.loads(word) for name, word in words.items()}
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"metadata that is not JSON: {error}", what, otherwise) from None
    return tensors, metadata, int(schema)


def _check_plain_file(path: Path, what: str) -> None:
    """Check that there is a plain file that may be read (opening a pipe would wait for ever)."""
    got, fix = None, "Check the name and the folder."
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            got, fix = "a folder", "Name the file inside it."
        elif not stat.S_ISREG(mode):
            got = "not a plain file"
        else:
            path.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        got = "a name that does not exist"
    except PermissionError:
        got, fix = "no permission to read it", "Change its permissions, or copy it."
    except OSError as error:
        got = (error.strerror or str(error)).lower()
    if got is not None:
        raise KanervaError(
            what, expected="a file that can be read", got=f"{got}: '{path}'", fix=fix
        )


def _check_unicode(path: Path) -> None:
    """Check for a name that safetensors can read again."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise KanervaError(
            "path",
            expected="a name in Unicode",
            got=repr(str(path)),
            fix="Choose another name, such as 'memory.safetensors'.",
        ) from None


def _kind(path: Path) -> str | None:
    """What a file that is not safetensors is, if its first bytes tell."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError:
        return None
    if not start:
        return "an empty file"
    if start == b"PK\x03\x04":
        return "a file of torch.save or a zip archive, which could run code"
    return "a pickle, which could run code" if start[0] == 0x80 and start[1:2] < b"\x08" else None


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


def _damaged(path: Path, got: str, what: str, otherwise: str) -> DamagedFileError:
    return DamagedFileError(
        what,
        expected="a whole safetensors file",
        got=f"'{path}': {got}",
        fix=f"It was cut short, changed, or is something else: copy it again, or {otherwise}.",
    )
