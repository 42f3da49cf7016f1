"""The interface of the row covariance U, which every representation implements.

Reading needs W U, and writing needs the U of the posterior. Everything else (samples, densities,
KL) uses `dense`. Instances are immutable: writing returns a new one.

Shapes: T items, K rows; leading dimensions are free and broadcast.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor

from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
)


class RowCovariance(ABC):
    """The covariance U between the K rows of a memory (section 3.1), in some representation.

    This is the interface; use `FullCovariance`, `DiagonalCovariance` or `LowRankCovariance`. The
    methods that `condition` and `Evidence` build on (`posterior_from_items`, `posterior_from_gram`,
    `expand_batch`, `repeat_for_columns`, `map_tensors`) do not check what they are given.

    Example:
        >>> import torch
        >>> from kanerva import DiagonalCovariance, FullCovariance
        >>> full, diagonal = FullCovariance(torch.eye(3)), DiagonalCovariance(torch.ones(3))
        >>> torch.equal(full.dense(), diagonal.dense())
        True

    """

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """The number of rows K."""

    @property
    @abstractmethod
    def batch_shape(self) -> torch.Size:
        """The leading dimensions: the shape of the batch of covariances."""

    @property
    @abstractmethod
    def _tensors(self) -> tuple[Tensor, ...]:
        """Its tensors, in the order of its fields; all of them share dtype and device."""

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its tensors."""
        return self._tensors[0].dtype

    @property
    def device(self) -> torch.device:
        """The device of its tensors."""
        return self._tensors[0].device

    @abstractmethod
    def dense(self) -> Tensor:
        """The row covariance U as a full matrix (..., K, K).

        Returns:
            U, (..., K, K). It may be the covariance's own tensor: copy it before you change it.

        """

    def largest_variance(self) -> Tensor:
        """A bound on the variance of every row, (...), which sets the scale of rounding errors.

        Returns:
            The largest entry of the diagonal of U, or more.

        """
        return self.dense().diagonal(dim1=-2, dim2=-1).amax(-1)

    def cross_cov(self, weights: Tensor) -> Tensor:
        """The covariance Sigma_c = W U between items and rows (section 3.3).

        Args:
            weights: W, (..., T, K).

        Returns:
            W U, (..., T, K).

        Example:
            >>> import torch
            >>> from kanerva import DiagonalCovariance
            >>> cov = DiagonalCovariance(torch.tensor([1.0, 2.0]))
            >>> cov.cross_cov(torch.tensor([[3.0, 4.0]]))
            tensor([[3., 8.]])

        """
        check_float_tensor("weights", weights, "(..., T, K)", min_dims=2)
        check_size("weights", weights, -1, self.num_rows, "the rows K of the covariance")
        check_same_dtype_and_device(covariance=self._tensors[0], weights=weights)
        broadcast_batches(covariance=self.batch_shape, weights=weights.shape[:-2])
        return self._cross_cov(weights)

    @abstractmethod
    def _cross_cov(self, weights: Tensor) -> Tensor:
        """W U for checked weights."""

    @abstractmethod
    def posterior_from_items(
        self, weights: Tensor, noise_var: Tensor, whitened_cross: Tensor
    ) -> Self:
        """The covariance U' after writing T items, from what `condition` knows (eq:update-last).

        The items come in two forms, and each representation uses the one it needs:
        U'^-1 = U^-1 + W' N^-1 W, and U' = U - V' V.

        Args:
            weights: W, (..., T, K).
            noise_var: the diagonal of N = Sigma_xi, (..., T).
            whitened_cross: V = L^-1 W U, (..., T, K), where L L' = W U W' + N.

        Returns:
            The covariance of the posterior.

        Example:
            >>> import torch
            >>> from kanerva import FullCovariance
            >>> cov = FullCovariance(torch.eye(2))
            >>> weights = torch.eye(2)[:1]
            >>> whitened_cross = weights / 2**0.5  # L = sqrt(1 + 1)
            >>> cov.posterior_from_items(weights, torch.ones(1), whitened_cross).dense()
            tensor([[0.5000, 0.0000],
                    [0.0000, 1.0000]])

        """

    @abstractmethod
    def posterior_from_gram(self, gram: Tensor, posterior_root: Tensor) -> Self:
        """The covariance U' after writing, where `condition` has solved a K x K system of sums.

        The statistics come in two forms, and each representation uses the one it needs.

        Args:
            gram: W' N^-1 W, (..., K, K).
            posterior_root: X, (..., K, K), with X' X = U'.

        Returns:
            The covariance of the posterior.

        Example:
            >>> import torch
            >>> from kanerva import FullCovariance
            >>> gram = 3 * torch.eye(2)  # U'^-1 = I + 3 I
            >>> FullCovariance(torch.eye(2)).posterior_from_gram(gram, torch.eye(2) / 2).dense()
            tensor([[0.2500, 0.0000],
                    [0.0000, 0.2500]])

        """

    @abstractmethod
    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same covariance with a function applied to its tensors: to convert, move or detach.

        Args:
            function: takes a tensor and returns a tensor of the same shape.

        Returns:
            A covariance of the same kind.

        Example:
            >>> import torch
            >>> from kanerva import FullCovariance
            >>> FullCovariance(torch.eye(2)).map_tensors(torch.Tensor.double).dtype
            torch.float64

        """

    @abstractmethod
    def expand_batch(self, batch_shape: torch.Size) -> Self:
        """Broadcast to the given leading dimensions.

        Args:
            batch_shape: the leading dimensions of the result.

        Returns:
            The same covariance for each memory of the batch.

        Example:
            >>> import torch
            >>> from kanerva import FullCovariance
            >>> FullCovariance(torch.eye(2)).expand_batch(torch.Size([5])).batch_shape
            torch.Size([5])

        """

    @abstractmethod
    def repeat_for_columns(self, num_columns: int) -> Self:
        """One copy of the covariance for each of the C columns, which may then become different.

        Args:
            num_columns: the code size C.

        Returns:
            A covariance with leading dimensions (..., C).

        Example:
            >>> import torch
            >>> from kanerva import FullCovariance
            >>> FullCovariance(torch.eye(2)).repeat_for_columns(3).batch_shape
            torch.Size([3])

        """

    @abstractmethod
    def check(self) -> None:
        """Raise a `KanervaError` if this is not a valid covariance."""
