"""Diagonal row covariance: the paper's ablation (fig:cov)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.tensor_checks import check_finite, check_float_tensor, check_positive


@dataclass(frozen=True, eq=False)
class DiagonalCovariance(RowCovariance):
    """U = diag(variances): K numbers.

    Approximation: a write computes the exact posterior of this prior, keeps its mean and its
    variances, and forgets the covariances between rows that the write created. One batch write is
    therefore exact in mean and variances; what follows it, and every chunk of a chunked write,
    starts from a memory that no longer knows how its rows are coupled: order and chunking matter.
    """

    variances: Tensor
    """(..., K), positive."""

    @property
    def num_rows(self) -> int:
        return self.variances.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        return self.variances.shape[:-1]

    @property
    def _first_tensor(self) -> Tensor:
        return self.variances

    def dense(self) -> Tensor:
        return torch.diag_embed(self.variances)

    def cross_cov(self, weights: Tensor) -> Tensor:
        return weights * self.variances[..., None, :]

    def posterior_from_items(
        self, weights: Tensor, noise_var: Tensor, whitened_cross: Tensor
    ) -> "DiagonalCovariance":
        return DiagonalCovariance(self.variances - whitened_cross.square().sum(-2))

    def posterior_from_gram(self, gram: Tensor, posterior_root: Tensor) -> "DiagonalCovariance":
        return DiagonalCovariance(posterior_root.square().sum(-2))

    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> "DiagonalCovariance":
        return DiagonalCovariance(function(self.variances))

    def expand_batch(self, batch_shape: torch.Size) -> "DiagonalCovariance":
        return DiagonalCovariance(self.variances.expand(*batch_shape, -1))

    def repeat_for_columns(self, num_columns: int) -> "DiagonalCovariance":
        columns = self.variances.unsqueeze(-2)
        return DiagonalCovariance(columns.expand(*self.batch_shape, num_columns, -1))

    def check(self) -> None:
        check_float_tensor("variances", self.variances, "(..., K)", min_dims=1)
        check_finite("variances", self.variances)
        check_positive("variances", self.variances)
