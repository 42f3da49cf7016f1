"""The memory: a distribution over K x C matrices, never a bare matrix.

Shapes: K rows, C code size; leading dimensions are a batch of memories.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory.covariance import FullCovariance, RowCovariance
from kanerva.memory.memory_file import MemoryFields, write_memory_file
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_dtype,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
    checked_device,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_fits_dtype,
)


class MemoryState:
    """A memory, p(M) = MN(R, U, I): a value that `condition` makes and that never changes.

    R is the mean, U is the covariance between rows, and columns are independent (section 3.1). A
    state is immutable: writing returns a new one. `mean` and `cov` come back in the dtype they were
    given in. Inside, the state is kept in float64 (see `kanerva.linalg`), so that a million on-line
    writes in float32 do not add up a million rounding errors.

    Args:
        mean: R, (..., K, C). Leading dimensions are a batch of memories.
        cov: U, a positive definite matrix (..., K, K), or a `DiagonalCovariance` or
            `LowRankCovariance`. Its leading dimensions broadcast with those of `mean`.

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or `cov` is not positive definite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState
        >>> prior = MemoryState(torch.zeros(64, 20), torch.eye(64))
        >>> prior.num_rows, prior.code_size
        (64, 20)
        >>> many = MemoryState(torch.zeros(8, 64, 20), torch.eye(64))  # 8 memories
        >>> many.batch_shape
        torch.Size([8])
        >>> many.to(torch.float64).mean.dtype
        torch.float64

    """

    __slots__ = ("_mean", "dtype", "per_column", "row_cov")

    row_cov: RowCovariance
    """U in its own representation, in float64; leading dimensions (..., C) when `per_column`."""
    dtype: torch.dtype
    """The dtype of everything that goes in and comes out."""
    per_column: bool
    """Whether each column has a covariance of its own (see `condition`)."""

    def __init__(self, mean: Tensor, cov: Tensor | RowCovariance) -> None:
        row_cov = cov if isinstance(cov, RowCovariance) else FullCovariance(cov)
        check_float_tensor("mean", mean, "(..., K, C)", min_dims=2)
        row_cov.check()
        check_same_dtype_and_device(
            mean=mean,
            cov=row_cov,
            fix="Make cov with the dtype and on the device of mean.",
        )
        check_finite("mean", mean)
        check_size("mean", mean, -2, row_cov.num_rows, "the K rows of cov")
        if mean.shape[-2] == 0 or mean.shape[-1] == 0:
            raise KanervaError(
                "mean",
                expected="at least one row and one column",
                got=f"shape {tuple(mean.shape)}",
                fix="Give the memory at least one row and one column: K and C of at least 1.",
            )
        batch = broadcast_batches(mean=mean.shape[:-2], cov=row_cov.batch_shape)
        self._set_fields(
            float64_copy(mean).expand(*batch, *mean.shape[-2:]),
            row_cov.map_tensors(float64_copy).expand_batch(batch),
            mean.dtype,
            False,
        )

    @classmethod
    def _unchecked(
        cls, mean: Tensor, row_cov: RowCovariance, dtype: torch.dtype, per_column: bool = False
    ) -> "MemoryState":
        """A state from float64 tensors that the algebra itself made, without checks."""
        state = cls.__new__(cls)
        state._set_fields(mean, row_cov, dtype, per_column)
        return state

    def _set_fields(
        self, mean: Tensor, row_cov: RowCovariance, dtype: torch.dtype, per_column: bool
    ) -> None:
        for name, value in (
            ("_mean", mean),
            ("row_cov", row_cov),
            ("dtype", dtype),
            ("per_column", per_column),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"MemoryState is immutable: make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"MemoryState is immutable: {name} cannot be deleted")

    def __deepcopy__(self, memo: dict[int, object]) -> "MemoryState":
        if any(tensor.requires_grad for tensor in self._tensors):
            raise KanervaError(
                "memory",
                expected="a memory without an autograd graph",
                got="one that gradients flow through",
                fix="Copy memory.detach(), or use the memory itself: it never changes.",
            )
        return self._map_tensors(torch.clone)

    def __reduce__(self):
        """Support copying and pickling; the default would set attributes."""
        return MemoryState._unchecked, (self._mean, self.row_cov, self.dtype, self.per_column)

    @property
    def mean(self) -> Tensor:
        """The mean R, (..., K, C), as a copy."""
        return self._mean.to(self.dtype, copy=True)

    @property
    def cov(self) -> Tensor:
        """The covariance U as a matrix, (..., K, K); (..., C, K, K) when `per_column`."""
        matrix = linalg.rounded_covariance(linalg.symmetrise(self.row_cov.dense()), self.dtype)
        columns = (self.code_size,) if self.per_column else ()
        return matrix.expand(*self.batch_shape, *columns, *matrix.shape[-2:])

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (self._mean, *self.row_cov._tensors)

    @property
    def batch_shape(self) -> torch.Size:
        """The leading dimensions: the shape of the batch of memories."""
        return self._mean.shape[:-2]

    @property
    def num_rows(self) -> int:
        """The number of rows K."""
        return self._mean.shape[-2]

    @property
    def code_size(self) -> int:
        """The code size C, the number of columns."""
        return self._mean.shape[-1]

    @property
    def device(self) -> torch.device:
        """The device of the memory's tensors."""
        return self._mean.device

    def to(self, target: torch.dtype | torch.device | str) -> "MemoryState":
        """The same memory on another device, or with another dtype.

        Args:
            target: a device, or a floating-point dtype for `mean`, `cov` and all that is read. The
                numbers inside stay float64, so nothing is lost. A result of a later call that is
                too large for the dtype becomes infinite, as everywhere in torch.

        Returns:
            A new memory.

        Raises:
            KanervaError: there is no such device here, the dtype is not a floating-point dtype, or
                a number of the memory does not fit into it (float16 ends at 65,504).

        Example:
            >>> import torch
            >>> from kanerva import MemoryState
            >>> memory = MemoryState(torch.zeros(3, 2), torch.eye(3))
            >>> memory.to(torch.float64).to("cpu")
            MemoryState(num_rows=3, code_size=2, FullCovariance, torch.float64, cpu)

        """
        if isinstance(target, torch.dtype):
            check_float_dtype("dtype", target)
            if not linalg.is_capturing_graph(self._mean):
                check_fits_dtype("mean", self._mean, target)
                check_fits_dtype("cov", self.row_cov.dense().diagonal(dim1=-2, dim2=-1), target)
            return MemoryState._unchecked(self._mean, self.row_cov, target, self.per_column)
        device = checked_device("device", target)
        return self._map_tensors(lambda tensor: tensor.to(device))

    def save(self, path: str | Path) -> None:
        """Write the memory to a file; `kanerva.load_memory` reads it back bit for bit.

        The file is a safetensors file with a schema version and a checksum. It is written whole or
        not at all, and replaces an older one. Missing folders are made. Gradients are not saved.

        Args:
            path: the file, for example "memory.safetensors".

        Raises:
            KanervaError: the file cannot be written. What was there before is untouched.

        Example:
            >>> import tempfile
            >>> import torch
            >>> from kanerva import MemoryState, load_memory
            >>> memory = MemoryState(torch.ones(3, 2), torch.eye(3))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     memory.save(f"{folder}/memory.safetensors")
            ...     loaded = load_memory(f"{folder}/memory.safetensors")
            >>> torch.equal(loaded.mean, memory.mean)
            True

        """
        write_memory_file(path, MemoryFields(self._mean, self.row_cov, self.dtype, self.per_column))

    def detach(self) -> "MemoryState":
        """The same memory without its autograd graph: no gradient flows back through it.

        Returns:
            A new memory.

        """
        return self._map_tensors(torch.Tensor.detach)

    def _map_tensors(self, function: Callable[[Tensor], Tensor]) -> "MemoryState":
        row_cov = self.row_cov.map_tensors(function)
        return MemoryState._unchecked(function(self._mean), row_cov, self.dtype, self.per_column)

    def _expand_batch(self, batch_shape: torch.Size) -> "MemoryState":
        """The same memory broadcast to these leading dimensions (not for `per_column` states)."""
        if batch_shape == self.batch_shape == self.row_cov.batch_shape:
            return self
        mean = self._mean.expand(*batch_shape, *self._mean.shape[-2:])
        return MemoryState._unchecked(mean, self.row_cov.expand_batch(batch_shape), self.dtype)

    def _split_columns(self) -> "MemoryState":
        """The same memory as a batch (..., C) of memories with one column each.

        Columns are independent, so this is exact: every closed form for a shared covariance can be
        used for separate ones.
        """
        row_cov = (
            self.row_cov if self.per_column else self.row_cov.repeat_for_columns(self.code_size)
        )
        return MemoryState._unchecked(self._mean.mT.unsqueeze(-1), row_cov, self.dtype)

    def _join_columns(self) -> "MemoryState":
        """Undo `_split_columns`; each column keeps its covariance."""
        mean = self._mean.squeeze(-1).mT
        return MemoryState._unchecked(mean, self.row_cov, self.dtype, True)

    def __repr__(self) -> str:
        kind = type(self.row_cov).__name__ + (" per column" if self.per_column else "")
        batch = f"batch={tuple(self.batch_shape)}, " if self.batch_shape else ""
        return (
            f"MemoryState({batch}num_rows={self.num_rows}, code_size={self.code_size}, "
            f"{kind}, {self.dtype}, {self.device})"
        )


def check_memory(argument: str, value: object) -> None:
    """Check for a `MemoryState`."""
    if not isinstance(value, MemoryState):
        raise KanervaError(
            argument,
            expected="a MemoryState",
            got=type(value).__name__,
            fix="Pass MemoryState(mean, cov); torch.eye(K) is a covariance to start with.",
        )


def cov_factor(state: MemoryState) -> Tensor:
    """L with L L' = U, (..., K, K), in float64."""
    return linalg.cholesky(state.row_cov.dense(), name="the memory's covariance")


def float64_copy(tensor: Tensor) -> Tensor:
    """A float64 copy: later changes to the caller's tensor change nothing here."""
    return tensor.to(linalg.WORKING_DTYPE, copy=True)
