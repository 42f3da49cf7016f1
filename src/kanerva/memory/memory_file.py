"""Memories on disk: safetensors with schema and checksum. Nothing that is loaded can run code."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.checks import check_one_of, check_path
from kanerva.errors import KanervaError
from kanerva.linalg import is_transforming
from kanerva.memory.covariance import (
    DiagonalCovariance,
    FullCovariance,
    LowRankCovariance,
    RowCovariance,
)
from kanerva.memory.tensor_checks import (
    FLOAT_DTYPES,
    broadcast_batches,
    check_float_tensor,
    check_size,
    check_square,
)
from kanerva.memory.value_checks import (
    check_finite,
)
from kanerva.tensor_file import Metadata, read_tensor_file, write_tensor_file

KIND = "memory"
"""What the metadata of a memory's file say that it is."""
KINDS = {
    FullCovariance: "full",
    DiagonalCovariance: "diagonal",
    LowRankCovariance: "low-rank",
}
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in FLOAT_DTYPES}


class MemoryFields(NamedTuple):
    """The fields of a `MemoryState`; tensors are float64."""

    mean: Tensor
    row_cov: RowCovariance
    dtype: torch.dtype
    per_column: bool


def write_memory_file(path: str | Path, fields: MemoryFields) -> None:
    """Write a memory to a file, whole or not at all."""
    target = check_path("path", path)
    if is_transforming():
        raise KanervaError(
            "memory",
            expected="a memory outside of vmap, grad and other transforms",
            got="one inside, which has no numbers yet",
            fix="Return the memory from the function, and save what the transform gives back.",
        )
    row_cov = fields.row_cov
    if type(row_cov) not in KINDS:
        raise KanervaError(
            "cov",
            expected=f"one of {', '.join(kind.__name__ for kind in KINDS)}",
            got=type(row_cov).__name__,
            fix="Make a memory with MemoryState(memory.mean, memory.cov), and save that one.",
        )
    tensors = {"mean": fields.mean}
    metadata: Metadata = {
        "kind": KIND,
        "covariance": KINDS[type(row_cov)],
        "dtype": str(fields.dtype).removeprefix("torch."),
        "per_column": fields.per_column,
    }
    for name, value in vars(row_cov).items():
        if isinstance(value, Tensor):
            tensors[f"cov.{name}"] = value
        elif value is not None:
            metadata[name] = value
    write_tensor_file(target, tensors, metadata)


def read_memory_file(path: str | Path) -> MemoryFields:
    """The fields of the memory in a file that `write_memory_file` wrote."""
    source = check_path("path", path)
    tensors, metadata, _ = read_tensor_file(source, what=KIND, otherwise="save it again")
    if metadata.get("kind") != KIND:
        model = "model" in metadata
        raise KanervaError(
            KIND,
            expected="a memory that MemoryState.save wrote",
            got=f"{'a trained model' if model else 'something else'} in '{source}'",
            fix=f"Load it with kanerva.load({str(source)!r})."
            if model
            else "Name a file that MemoryState.save wrote.",
        )
    try:
        return _fields(tensors, metadata)
    except (KanervaError, KeyError) as error:
        raise KanervaError(
            KIND,
            expected="contents that MemoryState.save wrote",
            got=f"others in '{source}' ({error})",
            fix="Save the memory again with this version of kanerva.",
        ) from None


def _fields(tensors: dict[str, Tensor], metadata: Metadata) -> MemoryFields:
    """The fields, checked: a right checksum does not say who wrote the file."""
    for name in ("covariance", "dtype"):
        check_one_of(name, metadata[name], KINDS.values() if name == "covariance" else DTYPES)
    mean, row_cov = tensors["mean"], _row_cov(tensors, metadata)
    per_column = metadata["per_column"]
    if not isinstance(per_column, bool):
        raise KeyError("per_column is neither true nor false")
    check_float_tensor("mean", mean, "(..., K, C)", min_dims=2)
    check_size("mean", mean, -2, row_cov.num_rows, "the K rows of cov")
    columns = mean.shape[-1:] if per_column else ()
    batch = torch.Size((*mean.shape[:-2], *columns))
    if broadcast_batches(mean=batch, cov=row_cov.batch_shape) != batch or 0 in mean.shape[-2:]:
        raise KeyError(f"mean {tuple(mean.shape)}, cov {tuple(row_cov.batch_shape)}")
    for name, tensor in tensors.items():
        check_finite(name, tensor)
        if tensor.dtype != torch.float64:
            raise KeyError(f"{name} is {tensor.dtype}")
    return MemoryFields(mean, row_cov, DTYPES[str(metadata["dtype"])], per_column)


def _row_cov(tensors: dict[str, Tensor], metadata: Metadata) -> RowCovariance:
    """The covariance. Its shapes are checked, but not whether it is positive definite.

    Many writes may leave it so by rounding, and reading and writing cope with that.
    """
    if metadata["covariance"] == "full":
        matrix = tensors["cov.matrix"]
        check_float_tensor("cov", matrix, "(..., K, K)", min_dims=2)
        check_square("cov", matrix)
        return FullCovariance(matrix)
    variances = tensors["cov.variances"]
    if metadata["covariance"] == "diagonal":
        check_float_tensor("variances", variances, "(..., K)", min_dims=1)
        return DiagonalCovariance(variances)
    rank = metadata["rank"]
    if not isinstance(rank, int):
        raise KeyError("rank is not a number")
    row_cov = LowRankCovariance(variances, rank, tensors.get("cov.factor"))
    row_cov.check()
    return row_cov
