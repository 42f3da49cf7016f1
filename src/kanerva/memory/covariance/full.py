"""Full row covariance: what the paper uses, and exact."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.tensor_checks import (
    check_float_tensor,
    check_square,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_positive_definite,
)


@dataclass(frozen=True, eq=False)
class FullCovariance(RowCovariance):
    """The row covariance U as a full matrix: the paper's choice (section 3.1).

    Nothing is approximated. It holds K^2 numbers, and writing one item takes K^2 operations.
    `MemoryState(mean, matrix)` makes one of a plain matrix.

    Args:
        matrix: U, (..., K, K), symmetric and positive definite.

    Example:
        >>> import torch
        >>> from kanerva import FullCovariance, MemoryState
        >>> memory = MemoryState(torch.zeros(4, 2), FullCovariance(torch.eye(4)))
        >>> memory.cov.shape
        torch.Size([4, 4])

    """

    matrix: Tensor
    """U, (..., K, K), symmetric positive definite."""

    @property
    def num_rows(self) -> int:
        return self.matrix.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        return self.matrix.shape[:-2]

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (self.matrix,)

    def dense(self) -> Tensor:
        return self.matrix

    def _cross_cov(self, weights: Tensor) -> Tensor:
        return weights @ self.matrix

    def posterior_from_items(
        self, weights: Tensor, noise_var: Tensor, whitened_cross: Tensor
    ) -> "FullCovariance":
        return FullCovariance(linalg.subtract_gram(self.matrix, whitened_cross))

    def posterior_from_gram(self, gram: Tensor, posterior_root: Tensor) -> "FullCovariance":
        return FullCovariance(posterior_root.mT @ posterior_root)

    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> "FullCovariance":
        return FullCovariance(function(self.matrix))

    def expand_batch(self, batch_shape: torch.Size) -> "FullCovariance":
        return FullCovariance(self.matrix.expand(*batch_shape, *self.matrix.shape[-2:]))

    def repeat_for_columns(self, num_columns: int) -> "FullCovariance":
        columns = self.matrix.unsqueeze(-3)
        return FullCovariance(columns.expand(*self.batch_shape, num_columns, -1, -1))

    def check(self) -> None:
        check_float_tensor("cov", self.matrix, "(..., K, K)", min_dims=2)
        check_square("cov", self.matrix)
        check_finite("cov", self.matrix)
        check_positive_definite("cov", self.matrix)
