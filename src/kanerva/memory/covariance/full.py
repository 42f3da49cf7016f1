"""Full row covariance: the paper's own choice, and exact."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.memory import checks
from kanerva.memory.covariance.base import RowCovariance


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
    def first_tensor(self) -> Tensor:
        return self.matrix

    def dense(self) -> Tensor:
        return self.matrix

    def times(self, weights: Tensor) -> Tensor:
        return weights @ self.matrix

    def after_items(
        self, weights: Tensor, noise: Tensor, whitened_cross: Tensor
    ) -> "FullCovariance":
        return FullCovariance(linalg.minus_gram(self.matrix, whitened_cross))

    def after_gram(self, gram: Tensor, posterior_root: Tensor) -> "FullCovariance":
        return FullCovariance(posterior_root.mT @ posterior_root)

    def map(self, function: Callable[[Tensor], Tensor]) -> "FullCovariance":
        return FullCovariance(function(self.matrix))

    def with_batch(self, batch_shape: torch.Size) -> "FullCovariance":
        return FullCovariance(self.matrix.expand(*batch_shape, *self.matrix.shape[-2:]))

    def per_column(self, num_columns: int) -> "FullCovariance":
        columns = self.matrix.unsqueeze(-3)
        return FullCovariance(columns.expand(*self.batch_shape, num_columns, -1, -1))

    def check(self) -> None:
        checks.float_tensor("cov", self.matrix, "(..., K, K)", min_dims=2)
        checks.square("cov", self.matrix)
        checks.finite("cov", self.matrix)
        checks.positive_definite("cov", self.matrix)
