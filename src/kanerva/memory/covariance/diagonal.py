"""Diagonal row covariance: the cheaper variant that the paper compares with (fig:cov)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.tensor_checks import (
    check_float_tensor,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_positive,
)


@dataclass(frozen=True, eq=False)
class DiagonalCovariance(RowCovariance):
    """A diagonal row covariance U = diag(variances), which holds K numbers (fig:cov).

    It is an approximation. A write computes the exact posterior of this prior, keeps the mean and
    the variances, and drops the covariances between rows that the write created. The first write of
    a whole episode is therefore exact in mean and variances. Later writes, and all chunks but the
    first, start from a memory that no longer knows how its rows are coupled: the result depends on
    order and chunks.

    Args:
        variances: the diagonal of U, (..., K), positive.

    Example:
        >>> import torch
        >>> from kanerva import DiagonalCovariance, MemoryState, condition
        >>> prior = MemoryState(torch.zeros(4, 2), DiagonalCovariance(torch.ones(4)))
        >>> memory = condition(prior, torch.eye(4)[:2], torch.ones(2, 2))
        >>> memory.cov.diagonal()
        tensor([0.5000, 0.5000, 1.0000, 1.0000])

    """

    variances: Tensor
    """The diagonal of U, (..., K)."""

    @property
    def num_rows(self) -> int:
        return self.variances.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        return self.variances.shape[:-1]

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (self.variances,)

    def dense(self) -> Tensor:
        return torch.diag_embed(self.variances)

    def largest_variance(self) -> Tensor:
        return self.variances.amax(-1)

    def _cross_cov(self, weights: Tensor) -> Tensor:
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
