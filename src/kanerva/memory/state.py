"""The memory: a distribution over K x C matrices, never a bare matrix."""

from collections.abc import Callable

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory import checks
from kanerva.memory.covariance import FullCovariance, RowCovariance


class MemoryState:
    """p(M) = MN(R, U, I) of section 3.1: mean R, covariance U between rows, independent columns.

    `MemoryState(mean, cov)` takes a mean (..., K, C) and a covariance (..., K, K), or a
    `DiagonalCovariance` or `LowRankCovariance`. Leading dimensions are a batch of memories. States
    are immutable; writing returns a new one.

    `mean` and `cov` come back in the dtype they were given in. Inside, the state is kept in float64
    (see `kanerva.linalg`), so that writing on-line in float32 does not round a million times.
    """

    __slots__ = ("_mean", "dtype", "per_column", "rows")

    rows: RowCovariance
    """U in its own representation, in float64; batch (..., C) when `per_column`."""
    dtype: torch.dtype
    """Of everything that goes in and comes out."""
    per_column: bool
    """Whether each column has a covariance of its own (see `condition`)."""

    def __init__(self, mean: Tensor, cov: Tensor | RowCovariance) -> None:
        rows = cov if isinstance(cov, RowCovariance) else FullCovariance(cov)
        checks.float_tensor("mean", mean, "(..., K, C)", min_dims=2)
        rows.check()
        checks.alike(mean=mean, cov=rows.first_tensor)
        checks.finite("mean", mean)
        checks.size("mean", mean, -2, rows.num_rows, "the K rows of cov")
        if mean.shape[-2] == 0 or mean.shape[-1] == 0:
            raise KanervaError(
                "mean",
                expected="at least one row and one column",
                got=f"shape {tuple(mean.shape)}",
                fix="Choose K and C of at least 1.",
            )
        batch = checks.broadcastable(mean=mean.shape[:-2], cov=rows.batch_shape)
        self._fill(
            _snapshot(mean).expand(*batch, *mean.shape[-2:]),
            rows.map(_snapshot).with_batch(batch),
            mean.dtype,
            False,
        )

    @classmethod
    def _trusted(
        cls, mean: Tensor, rows: RowCovariance, dtype: torch.dtype, per_column: bool = False
    ) -> "MemoryState":
        """A state from what the algebra itself made: float64, nothing checked."""
        state = cls.__new__(cls)
        state._fill(mean, rows, dtype, per_column)
        return state

    def _fill(
        self, mean: Tensor, rows: RowCovariance, dtype: torch.dtype, per_column: bool
    ) -> None:
        for name, value in (
            ("_mean", mean),
            ("rows", rows),
            ("dtype", dtype),
            ("per_column", per_column),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"MemoryState is immutable: make a new one instead of setting {name}")

    def __reduce__(self):
        """Copies and pickles; the default way would set attributes."""
        return MemoryState._trusted, (self._mean, self.rows, self.dtype, self.per_column)

    @property
    def mean(self) -> Tensor:
        """R, (..., K, C)."""
        return self._mean.to(self.dtype, copy=True)

    @property
    def cov(self) -> Tensor:
        """U, (..., K, K); (..., C, K, K) when each column has its own."""
        matrix = linalg.rounded_covariance(linalg.symmetrise(self.rows.dense()), self.dtype)
        columns = (self.code_size,) if self.per_column else ()
        return matrix.expand(*self.batch_shape, *columns, *matrix.shape[-2:])

    @property
    def batch_shape(self) -> torch.Size:
        return self._mean.shape[:-2]

    @property
    def num_rows(self) -> int:
        """K."""
        return self._mean.shape[-2]

    @property
    def code_size(self) -> int:
        """C."""
        return self._mean.shape[-1]

    @property
    def device(self) -> torch.device:
        return self._mean.device

    def to(self, target: torch.dtype | torch.device | str) -> "MemoryState":
        """The same memory on another device, or speaking another dtype."""
        if isinstance(target, torch.dtype):
            if not target.is_floating_point:
                raise KanervaError(
                    "dtype",
                    expected="a floating-point dtype",
                    got=str(target),
                    fix="A memory holds real numbers: use torch.float32 or torch.float64.",
                )
            return MemoryState._trusted(self._mean, self.rows, target, self.per_column)
        return self._map(lambda tensor: tensor.to(target))

    def detach(self) -> "MemoryState":
        """The same memory, cut from the graph of its making."""
        return self._map(torch.Tensor.detach)

    def _map(self, function: Callable[[Tensor], Tensor]) -> "MemoryState":
        rows = self.rows.map(function)
        return MemoryState._trusted(function(self._mean), rows, self.dtype, self.per_column)

    def _with_batch(self, batch_shape: torch.Size) -> "MemoryState":
        """Broadcast to these leading dimensions (not for `per_column` states)."""
        if batch_shape == self.batch_shape == self.rows.batch_shape:
            return self
        mean = self._mean.expand(*batch_shape, *self._mean.shape[-2:])
        return MemoryState._trusted(mean, self.rows.with_batch(batch_shape), self.dtype)

    def _by_column(self) -> "MemoryState":
        """The same memory as a batch (..., C) of memories with one column each.

        Columns are independent, so this is exact, and every closed form for a shared covariance
        serves for separate ones.
        """
        rows = self.rows if self.per_column else self.rows.per_column(self.code_size)
        return MemoryState._trusted(self._mean.mT.unsqueeze(-1), rows, self.dtype)

    def _from_columns(self) -> "MemoryState":
        """Undo `_by_column`, each column keeping its covariance."""
        mean = self._mean.squeeze(-1).mT
        return MemoryState._trusted(mean, self.rows, self.dtype, True)

    def __repr__(self) -> str:
        kind = type(self.rows).__name__ + (" per column" if self.per_column else "")
        batch = f"batch={tuple(self.batch_shape)}, " if self.batch_shape else ""
        return (
            f"MemoryState({batch}num_rows={self.num_rows}, code_size={self.code_size}, "
            f"{kind}, {self.dtype}, {self.device})"
        )


def check_memory(argument: str, value: object) -> None:
    if not isinstance(value, MemoryState):
        raise KanervaError(
            argument,
            expected="a MemoryState",
            got=type(value).__name__,
            fix="A memory is a distribution: MemoryState(mean, cov), with torch.eye(K) to start.",
        )


def _snapshot(tensor: Tensor) -> Tensor:
    """A float64 copy: what the caller does to its tensor later does not reach the memory."""
    return tensor.to(linalg.WORKING_DTYPE, copy=True)
