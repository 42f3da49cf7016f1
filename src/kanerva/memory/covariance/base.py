"""What every representation of the row covariance U can do.

Reading needs W U, writing needs the posterior's U; anything else (sampling, densities, KL) goes
through `dense`. Instances are immutable: writing returns a new one.

Shapes: T items, K rows; leading dimensions are free and broadcast.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor


class RowCovariance(ABC):
    """Covariance U between the K rows of the memory."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """K."""

    @property
    @abstractmethod
    def batch_shape(self) -> torch.Size:
        """The leading dimensions."""

    @property
    @abstractmethod
    def _first_tensor(self) -> Tensor:
        """One of its tensors: all of them share dtype and device."""

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its tensors."""
        return self._first_tensor.dtype

    @property
    def device(self) -> torch.device:
        """The device of its tensors."""
        return self._first_tensor.device

    @abstractmethod
    def dense(self) -> Tensor:
        """U as a matrix (..., K, K)."""

    @abstractmethod
    def cross_cov(self, weights: Tensor) -> Tensor:
        """W U (..., T, K): the cross-covariance of items and rows."""

    @abstractmethod
    def posterior_from_items(
        self, weights: Tensor, noise_var: Tensor, whitened_cross: Tensor
    ) -> Self:
        """The posterior's U after writing T items, given two views of the same items.

        With W `weights` (..., T, K) and N = diag(`noise_var`) (..., T),
        U'^-1 = U^-1 + W' N^-1 W. With `whitened_cross` V (..., T, K), V = L^-1 W U where
        L L' = W U W' + N, U' = U - V' V (eq:update-last).
        """

    @abstractmethod
    def posterior_from_gram(self, gram: Tensor, posterior_root: Tensor) -> Self:
        """The same from sufficient statistics.

        `gram` (..., K, K) is W' N^-1 W; `posterior_root` X (..., K, K) has X' X = U'.
        """

    @abstractmethod
    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same covariance with `function` applied to each tensor: casts, moves, detaching."""

    @abstractmethod
    def expand_batch(self, batch_shape: torch.Size) -> Self:
        """Broadcast to these leading dimensions."""

    @abstractmethod
    def repeat_for_columns(self, num_columns: int) -> Self:
        """A copy for each column: leading dimensions (..., num_columns)."""

    @abstractmethod
    def check(self) -> None:
        """Raise a `KanervaError` when this is no covariance."""
