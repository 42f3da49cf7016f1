"""An episode as the memory sees it: weights, codes, and the noise variance of each item.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from collections.abc import Iterator
from numbers import Real
from typing import NamedTuple

from torch import Tensor

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
    check_gradients,
    check_same_dtype_and_device,
    check_size,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_not_negative,
    checked_noise_var,
    number_like,
)

BLOCK_SIZE = 4096
"""How many items are converted to float64 at a time: the copy of a block fits into the cache."""


class Episode(NamedTuple):
    """T checked items: W and Z in the caller's dtype, the noise variances in float64."""

    weights: Tensor
    """W, (..., T, K)."""
    codes: Tensor
    """Z, (..., T, C)."""
    noise_var: Tensor
    """The diagonal of Sigma_xi (+ Sigma_Q when codes are uncertain), (..., T)."""

    @property
    def num_items(self) -> int:
        """The number of items T."""
        return self.weights.shape[-2]

    def blocks(self, size: int) -> Iterator["Episode"]:
        """The same items in order, at most `size` at a time."""
        if size >= self.num_items:
            yield self
            return
        yield from map(
            Episode,
            self.weights.split(size, dim=-2),
            self.codes.split(size, dim=-2),
            self.noise_var.split(size, dim=-1),
        )

    def chunks(self, size: int) -> Iterator["Episode"]:
        """Blocks of `size` items in float64; small blocks are converted many at a time."""
        for block in self.blocks(max(size, BLOCK_SIZE - BLOCK_SIZE % size)):
            yield from block.to_float64().blocks(size)

    def to_float64(self) -> "Episode":
        """The same items in float64."""
        return Episode(
            linalg.to_float64(self.weights), linalg.to_float64(self.codes), self.noise_var
        )

    def split_columns(self) -> "Episode":
        """The same items for a batch (..., C) of memories with one column each.

        The noise variances must have that shape already.
        """
        return Episode(self.weights.unsqueeze(-3), self.codes.mT.unsqueeze(-1), self.noise_var)


def checked_episode(
    weights: Tensor,
    codes: Tensor,
    noise_var: float | Tensor,
    code_var: Tensor | float | None,
    *,
    memory: MemoryState | None = None,
    per_column: bool = False,
) -> Episode:
    """An episode from checked arguments; its noise variances are (..., C, T) if `per_column`.

    With a `memory`, whose dtype and device count, the error names what differs from it.
    """
    check_float_tensor("weights", weights, "(..., T, K)", min_dims=2)
    check_float_tensor("codes", codes, "(..., T, C)", min_dims=2)
    if memory is None:
        check_same_dtype_and_device(weights=weights, codes=codes)
    else:
        check_same_dtype_and_device(memory=memory, weights=weights, codes=codes)
    check_size("codes", codes, -2, weights.shape[-2], "the T items of weights")
    broadcast_batches(weights=weights.shape[:-2], codes=codes.shape[:-2])
    check_gradients(weights=[weights], codes=[codes])
    check_finite("weights", weights)
    check_finite("codes", codes)
    scalar = checked_noise_var(noise_var, like=weights)
    return Episode(weights, codes, _item_noise_var(scalar, code_var, weights, codes, per_column))


def check_episode_fits(state: MemoryState, episode: Episode) -> None:
    """Check that an episode fits the memory: K, C, dtype, device and batch."""
    check_weights(state, episode.weights)
    check_size("codes", episode.codes, -1, state.code_size, "the memory's code size C")
    check_gradients(memory=state._tensors, weights=[episode.weights], codes=[episode.codes])
    broadcast_batches(
        memory=state.batch_shape,
        weights=episode.weights.shape[:-2],
        codes=episode.codes.shape[:-2],
    )


def check_weights(state: MemoryState, weights: Tensor) -> None:
    """Check that weights fit the memory: K, dtype, device and batch."""
    check_memory("memory", state)
    check_float_tensor("weights", weights, "(..., T, K)", min_dims=2)
    check_size("weights", weights, -1, state.num_rows, "the memory's rows K")
    check_same_dtype_and_device(memory=state, weights=weights)
    broadcast_batches(memory=state.batch_shape, weights=weights.shape[:-2])
    check_gradients(memory=state._tensors, weights=[weights])


def _item_noise_var(
    noise_var: Tensor,
    code_var: Tensor | float | None,
    weights: Tensor,
    codes: Tensor,
    per_column: bool,
) -> Tensor:
    """The noise variance of each item: the diagonal of Sigma_xi + Sigma_Q (app:dist-update).

    A variance for each item and dimension gives every column its own noise. If the columns are to
    share one covariance, the noise precisions of an item are averaged over its dimensions. This
    is the best choice: of all Gaussians with a shared covariance, the one whose precision is the
    mean of the columns' precisions is the nearest in KL(shared || exact).
    """
    T, C = codes.shape[-2:]
    if code_var is None:
        return noise_var.expand(1, T) if per_column else noise_var.expand(T)
    if isinstance(code_var, Real) and not isinstance(code_var, bool):
        code_var = number_like(weights, "code_var", code_var)
    check_float_tensor("code_var", code_var, "(..., T) or (..., T, C)", min_dims=0)
    assert isinstance(code_var, Tensor)
    check_same_dtype_and_device(weights=weights, code_var=code_var)
    check_finite("code_var", code_var)
    check_not_negative("code_var", code_var)
    total = noise_var + linalg.to_float64(code_var)

    item_dims = max(weights.dim(), codes.dim()) - 1
    if total.dim() == 0:
        total = total.expand(T)
    elif total.dim() == item_dims + 1:
        check_size("code_var", code_var, -1, C, "the code size C")
        check_size("code_var", code_var, -2, T, "the T items of weights")
        broadcast_batches(code_var=code_var.shape[:-2], codes=codes.shape[:-2])
        if per_column:
            return total.mT
        total = 1 / (1 / total).mean(-1)
    elif total.dim() == item_dims:
        check_size("code_var", code_var, -1, T, "the T items of weights")
        broadcast_batches(code_var=code_var.shape[:-1], codes=codes.shape[:-2])
    else:
        batch = broadcast_batches(weights=weights.shape[:-2], codes=codes.shape[:-2])
        raise KanervaError(
            "code_var",
            expected=f"a number, {item_dims} dimensions (..., T) or {item_dims + 1} (..., T, C)",
            got=f"shape {tuple(code_var.shape)}",
            fix=f"Give it the dimensions of the episode: {(*batch, T)} or {(*batch, T, C)}.",
        )
    return total.unsqueeze(-2) if per_column else total
