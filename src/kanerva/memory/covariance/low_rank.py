"""Low-rank plus diagonal row covariance: the future direction that section 3.3 names at its end."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.checks import check_integer
from kanerva.errors import KanervaError
from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.tensor_checks import (
    check_float_tensor,
    check_same_dtype_and_device,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_positive,
)


@dataclass(frozen=True, eq=False)
class LowRankCovariance(RowCovariance):
    """A covariance with U^-1 = diag(1 / variances) + F F', exact for up to `rank` items.

    The low-rank part is in the inverse because writing adds to the inverse: an item with weights w
    appends the column w / sigma to F. U stays positive definite when columns are dropped. By the
    Woodbury identity, U is diag(variances) minus a matrix of the same rank.

    It holds K (rank + 1) numbers. It is exact until more than `rank` items are written. After that
    it is an approximation: the directions about which the memory knows least (in units of the
    prior's deviation) leave F, and their diagonal moves into `variances`. The mean is updated
    before anything is dropped.

    Writing and reading need no more memory than that. `dense`, `fill`, `memory_kl` and
    `sample_memory` form the whole U.

    Args:
        variances: (..., K), positive.
        rank: the largest number of columns that F may have.
        factor: F, (..., K, r) with r <= rank; None if nothing is written yet.

    Example:
        >>> import torch
        >>> from kanerva import LowRankCovariance, MemoryState, condition
        >>> prior = MemoryState(torch.zeros(4, 2), LowRankCovariance(torch.ones(4), rank=2))
        >>> memory = condition(prior, torch.eye(4)[:2], torch.ones(2, 2))  # exact: 2 items
        >>> memory.cov.diagonal()
        tensor([0.5000, 0.5000, 1.0000, 1.0000])

    """

    variances: Tensor
    """The diagonal part, (..., K)."""
    rank: int
    """The largest number of columns of F."""
    factor: Tensor | None = None
    """F, (..., K, r) with r <= rank; None while nothing is written."""

    @property
    def num_rows(self) -> int:
        return self.variances.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        if self.factor is None:
            return self.variances.shape[:-1]
        return linalg.broadcast_shapes(self.variances.shape[:-1], self.factor.shape[:-2])

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (self.variances,) if self.factor is None else (self.variances, self.factor)

    def dense(self) -> Tensor:
        diagonal = torch.diag_embed(self.variances)
        if self.factor is None:
            return diagonal
        root = self._reduction_root()
        return diagonal - root.mT @ root

    def largest_variance(self) -> Tensor:
        return self.variances.amax(-1)

    def _cross_cov(self, weights: Tensor) -> Tensor:
        scaled = weights * self.variances[..., None, :]
        if self.factor is None:
            return scaled
        root = self._reduction_root()
        return scaled - (weights @ root.mT) @ root

    def _reduction_root(self) -> Tensor:
        """X, (..., r, K), with U = diag(variances) - X' X (the Woodbury identity)."""
        assert self.factor is not None
        deviations = self.variances.sqrt()[..., None]
        scaled = self.factor * deviations
        inner = linalg.add_diagonal(scaled.mT @ scaled, scaled.new_ones(scaled.shape[-1]))
        inner_factor = linalg.cholesky(inner, name="the low-rank covariance")
        return linalg.solve_lower(inner_factor, (scaled * deviations).mT)

    def posterior_from_items(
        self, weights: Tensor, noise_var: Tensor, whitened_cross: Tensor
    ) -> "LowRankCovariance":
        return self._append_columns((weights / noise_var.sqrt()[..., None]).mT)

    def posterior_from_gram(self, gram: Tensor, posterior_root: Tensor) -> "LowRankCovariance":
        return self._append_columns(linalg.square_root(gram))

    def _append_columns(self, columns: Tensor) -> "LowRankCovariance":
        """Append columns to F. Keep the `rank` strongest, and fold the others into the diagonal."""
        factor = (
            columns if self.factor is None else linalg.concatenate_columns(self.factor, columns)
        )
        if factor.shape[-1] <= self.rank:
            return LowRankCovariance(self.variances, self.rank, factor)

        deviations = self.variances.sqrt()[..., None]
        kept, dropped = linalg.split_leading_directions(factor * deviations, self.rank)
        folded = (dropped / deviations).square().sum(-1)
        variances = self.variances / (1 + self.variances * folded)
        return LowRankCovariance(variances, self.rank, kept / deviations)

    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> "LowRankCovariance":
        factor = None if self.factor is None else function(self.factor)
        return LowRankCovariance(function(self.variances), self.rank, factor)

    def expand_batch(self, batch_shape: torch.Size) -> "LowRankCovariance":
        factor = self.factor
        if factor is not None:
            factor = factor.expand(*batch_shape, *factor.shape[-2:])
        return LowRankCovariance(self.variances.expand(*batch_shape, -1), self.rank, factor)

    def repeat_for_columns(self, num_columns: int) -> "LowRankCovariance":
        batch = torch.Size((*self.batch_shape, num_columns))
        factor = None if self.factor is None else self.factor.unsqueeze(-3)
        columns = LowRankCovariance(self.variances.unsqueeze(-2), self.rank, factor)
        return columns.expand_batch(batch)

    def __post_init__(self) -> None:
        check_integer(
            "rank",
            self.rank,
            fix="Pass the number of items that the covariance keeps exactly, for example rank=8.",
        )

    def check(self) -> None:
        check_float_tensor("variances", self.variances, "(..., K)", min_dims=1)
        check_finite("variances", self.variances)
        check_positive("variances", self.variances)
        if self.factor is None:
            return
        check_float_tensor("factor", self.factor, "(..., K, r)", min_dims=2)
        check_same_dtype_and_device(variances=self.variances, factor=self.factor)
        check_finite("factor", self.factor)
        num_columns = self.factor.shape[-1]
        if self.factor.shape[-2] != self.num_rows or num_columns > self.rank:
            raise KanervaError(
                "factor",
                expected=f"shape (..., {self.num_rows}, r) with r <= rank = {self.rank}",
                got=str(tuple(self.factor.shape)),
                fix=f"Pass one row for each of the {self.num_rows} variances and at most "
                f"{self.rank} columns, or rank={num_columns}.",
            )
