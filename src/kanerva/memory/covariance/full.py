"""Full row covariance: the paper's own choice, and exact."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.tensor_checks import (
    check_finite,
    check_float_tensor,
    check_positive_definite,
    check_square,
)


@dataclass(frozen=True, eq=False)
class FullCovariance(RowCovariance):
    """U itself. Nothing is approximated; K^2 numbers, K^2 work an item."""

    matrix: Tensor
    """U, (..., K, K), symmetric positive definite."""

    @property
    def num_rows(self) -> int:
        return self.matrix.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        return self.matrix.shape[:-2]

    @property
    def _first_tensor(self) -> Tensor:
        return self.matrix

    def dense(self) -> Tensor:
        return self.matrix

    def cross_cov(self, weights: Tensor) -> Tensor:
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
