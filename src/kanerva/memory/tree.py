"""Memories as trees of tensors, so that they go into and out of `torch.func` transforms.

Importing this module tells torch how to take a `MemoryState` apart. The dimension that `vmap` maps
over is the first dimension of the batch.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory.covariance import FullCovariance, LowRankCovariance, RowCovariance
from kanerva.memory.state import MemoryState


class _Frame(NamedTuple):
    """What is left of a memory without its tensors."""

    kind: type[RowCovariance]
    rank: int
    dtype: torch.dtype
    per_column: bool


class _OtherLeaves(NamedTuple):
    """Stands in for a covariance while torch has put other things where its tensors were."""

    leaves: list[object]
    frame: _Frame


def _take_apart(state: MemoryState) -> tuple[list[object], _Frame]:
    if isinstance(state.row_cov, _OtherLeaves):
        return [state._mean, *state.row_cov.leaves], state.row_cov.frame
    row_cov = _with_whole_batch(state)
    rank = row_cov.rank if isinstance(row_cov, LowRankCovariance) else 0
    frame = _Frame(type(row_cov), rank, state.dtype, state.per_column)
    return [state._mean, *row_cov._tensors], frame


def _put_together(leaves: list[Tensor], frame: _Frame) -> MemoryState:
    mean, *tensors = leaves
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        row_cov = _OtherLeaves(tensors, frame)  # pyright: ignore[reportArgumentType]
    elif frame.kind is LowRankCovariance:
        row_cov = LowRankCovariance(tensors[0], frame.rank, *tensors[1:])
    else:
        row_cov = frame.kind(*tensors)
    return MemoryState._unchecked(mean, row_cov, frame.dtype, frame.per_column)  # pyright: ignore


def _with_whole_batch(state: MemoryState) -> RowCovariance:
    """The covariance with all leading dimensions of the memory; a batch may share it."""
    columns = (state.code_size,) if state.per_column else ()
    batch = torch.Size((*state.batch_shape, *columns))
    own_dims = [2] if isinstance(state.row_cov, FullCovariance) else [1, 2]
    pairs = zip(state.row_cov._tensors, own_dims, strict=False)
    if all(tensor.shape[: tensor.dim() - dims] == batch for tensor, dims in pairs):
        return state.row_cov
    if linalg.is_differentiating():  # too late: the result would belong to the transform
        raise KanervaError(
            "memory",
            expected="a covariance for each memory of the batch",
            got="one that they share",
            fix="Pass MemoryState(memory.mean, memory.cov) to the transform.",
        )
    return state.row_cov.expand_batch(batch)


_pytree.register_pytree_node(
    MemoryState,
    _take_apart,
    _put_together,  # pyright: ignore[reportArgumentType]
    serialized_type_name="kanerva.MemoryState",
)
