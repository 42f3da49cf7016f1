"""Products and sums of matrices and conversion to float64, without factorisation."""

import torch
from torch import Tensor

from kanerva.linalg.values import is_transforming

WORKING_DTYPE = torch.float64
"""The dtype of all the memory's algebra."""


def to_float64(tensor: Tensor) -> Tensor:
    """The same numbers in float64, the precision of the memory's algebra."""
    return tensor.to(WORKING_DTYPE)


def broadcast_shapes(*shapes: torch.Size) -> torch.Size:
    """The common shape of all `shapes`, as `torch.broadcast_shapes` gives it.

    That function imports SymPy when it is first called, which can take seconds.
    """
    num_dims = max(map(len, shapes))
    common = []
    padded = ((1,) * (num_dims - len(shape)) + tuple(shape) for shape in shapes)
    for sizes in zip(*padded, strict=True):
        others = [size for size in sizes if size != 1]
        if any(size != others[0] for size in others):
            raise RuntimeError(f"shapes {shapes} do not broadcast")
        common.append(others[0] if others else 1)
    return torch.Size(common)


def concatenate_columns(left: Tensor, right: Tensor) -> Tensor:
    """[left right], broadcast to common leading dimensions."""
    if left.shape[:-2] != right.shape[:-2]:
        batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
        left = left.expand(*batch, *left.shape[-2:])
        right = right.expand(*batch, *right.shape[-2:])
    return torch.cat([left, right], dim=-1)


def subtract_product(value: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """value - left @ right, in one kernel if the whole batch shares `right`."""
    if right.dim() == 2 and value.shape[:-1] == left.shape[:-1]:
        flat = torch.addmm(value.flatten(0, -2), left.flatten(0, -2), right, alpha=-1)
        return flat.reshape(value.shape)
    return value - left @ right


def add_diagonal_(product: Tensor, diagonal: Tensor) -> Tensor:
    """product + diag(diagonal). Overwrites `product` if the shapes allow it; use the result."""
    fits = diagonal.dim() == 1 or diagonal.shape[:-1] == product.shape[:-2]
    if fits and not is_transforming():
        product.diagonal(dim1=-2, dim2=-1).add_(diagonal)
        return product
    return add_diagonal(product, diagonal)


def subtract_gram(matrix: Tensor, root: Tensor) -> Tensor:
    """matrix - X' X for X = `root`, in one kernel if there is one leading dimension."""
    if root.dim() == 3 and matrix.dim() <= 3:
        return torch.baddbmm(matrix, root.mT, root, alpha=-1)
    return matrix - root.mT @ root


def symmetrise(matrix: Tensor) -> Tensor:
    """The symmetric part (A + A') / 2."""
    return (matrix + matrix.mT) / 2


def add_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    """matrix + diag(diagonal); `diagonal` (..., n) broadcasts over the batch."""
    if matrix.shape[-1] == 1:
        return matrix + diagonal[..., None]
    return matrix + torch.diag_embed(diagonal)


def squared_length(vectors: Tensor) -> Tensor:
    """|x|^2 of each vector (..., n), in float64."""
    return torch.linalg.vector_norm(vectors, dim=-1, dtype=WORKING_DTYPE).square()
