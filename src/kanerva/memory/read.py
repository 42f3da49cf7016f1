"""Reading: the codes that the memory predicts for given weights.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Independent, Normal

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory.episode import BLOCK_SIZE, check_weights
from kanerva.memory.precision import check_read_var
from kanerva.memory.state import MemoryState
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
)
from kanerva.memory.value_checks import (
    check_finite,
    check_positive,
    check_result,
    checked_noise_var,
)


class Prediction(NamedTuple):
    """The Gaussian N(mean, var I) of each code: mean (..., T, C), one variance each, (..., T).

    It is a pair, `mean, var = predict(...)`. The shapes differ: one variance belongs to all C
    entries of a code. So `Normal(mean, var.sqrt())` is wrong; use `distribution`.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, predict
        >>> mean, var = predict(MemoryState(torch.zeros(3, 2), torch.eye(3)), torch.eye(3))
        >>> mean.shape, var.shape
        (torch.Size([3, 2]), torch.Size([3]))

    """

    mean: Tensor
    """The mean of each code, (..., T, C)."""
    var: Tensor
    """The variance of every entry of a code, (..., T); (..., T, C) for `per_column` memories."""

    def distribution(self) -> Independent:
        """The prediction as an object of `torch.distributions`, with the right shapes.

        It is `Independent(Normal(mean, std), 1)` with mean and std (..., T, C): T codes with C
        independent entries each. `base_dist` is the `Normal` of the single entries.

        Returns:
            A distribution of batch shape (..., T) and event shape (C,): its `log_prob` of codes
            (..., T, C) is (..., T), and its samples are codes (..., T, C).

        Raises:
            KanervaError: `mean` and `var` do not fit together; those of `predict` always do.

        Example:
            >>> import torch
            >>> from kanerva import MemoryState, predict
            >>> memory = MemoryState(torch.zeros(3, 2), torch.eye(3))
            >>> codes = predict(memory, torch.eye(3), noise_var=1.0).distribution()
            >>> codes.batch_shape, codes.event_shape
            (torch.Size([3]), torch.Size([2]))
            >>> codes.log_prob(torch.zeros(3, 2))  # -log(2 pi 2) for each code
            tensor([-2.5310, -2.5310, -2.5310])

        """
        mean, var = self
        check_float_tensor("mean", mean, "(..., T, C)", min_dims=2)
        check_float_tensor("var", var, "(..., T) or (..., T, C)", min_dims=1)
        if var.shape not in (mean.shape, mean.shape[:-1]):
            raise KanervaError(
                "var",
                expected=f"shape {tuple(mean.shape[:-1])} or {tuple(mean.shape)}",
                got=str(tuple(var.shape)),
                fix="Take mean and var from one call of predict.",
            )
        check_finite("mean", mean)
        check_finite("var", var)
        check_positive("var", var)
        std = var.sqrt() if var.dim() == mean.dim() else var.sqrt()[..., None]
        check = False if linalg.is_capturing_graph(mean) or linalg.is_transforming() else None
        entries = Normal(mean, std.expand_as(mean), validate_args=check)
        return Independent(entries, 1, validate_args=check)


def recall(memory: MemoryState, weights: Tensor) -> Tensor:
    """Read the expected codes w' R, without their variance.

    This is the mean of eq:z_prior with R in the place of M (section 3.4). It is faster than
    `predict`.

    Args:
        memory: the memory to read from.
        weights: W, (..., T, K): one row of weights for each code that is read.

    Returns:
        The codes W R, (..., T, C).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, recall
        >>> memory = MemoryState(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.eye(2))
        >>> recall(memory, torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
        tensor([[1., 2.],
                [2., 3.]])

    """
    check_weights(memory, weights)
    check_finite("weights", weights)
    return _recall(memory, weights)


def predict(memory: MemoryState, weights: Tensor, *, noise_var: float | Tensor = 1.0) -> Prediction:
    """Read the distribution of codes: p(z | w) = N( w' R, (w' U w + noise_var) I ).

    This is distribution-based reading (appendix F, app:dist-update): M is integrated out of
    eq:z_prior. The variance says how much the memory knows about these weights. It lies between
    `noise_var` (all is known) and the variance that the prior predicts (nothing was written here).
    Weights so large that rounding errors exceed the noise give a `PrecisionWarning`.

    Args:
        memory: the memory to read from.
        weights: W, (..., T, K): one row of weights for each code that is read.
        noise_var: sigma^2, the variance of the noise on each code: a positive number, or a tensor
            of no dimensions.

    Returns:
        A `Prediction`, which is a pair of tensors of different shapes: mean (..., T, C), and var
        (..., T), because the C entries of a code have the same variance. For `per_column` memories
        var is (..., T, C). `Prediction.distribution` puts the two together.

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, condition, predict
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> memory = condition(prior, torch.eye(3)[:1], torch.tensor([[4.0, 8.0]]))
        >>> mean, var = predict(memory, torch.eye(3), noise_var=1.0)
        >>> var  # the first row was written, the others were not
        tensor([1.5000, 2.0000, 2.0000])
        >>> predict(memory, torch.eye(3)).distribution().sample().shape  # (T, C)
        torch.Size([3, 2])

    """
    check_weights(memory, weights)
    check_finite("weights", weights)
    noise = checked_noise_var(noise_var, like=weights)
    if memory.per_column:
        var = _recall_var(memory._split_columns(), weights.unsqueeze(-3), noise).mT
    else:
        var = _recall_var(memory, weights, noise)
    check_result(var, of="weights, memory")
    return Prediction(_recall(memory, weights), var.to(memory.dtype))


def _recall(state: MemoryState, weights: Tensor) -> Tensor:
    """W R. Many rows of weights are converted to float64 block by block, to save memory."""
    R = state._mean
    needs_grad = torch.is_grad_enabled() and (weights.requires_grad or R.requires_grad)
    few = weights.shape[-2] <= BLOCK_SIZE
    plain = needs_grad or linalg.is_transforming()
    if few or plain or weights.dtype == linalg.WORKING_DTYPE:
        codes = linalg.to_float64(weights) @ R
        check_result(codes, of="weights, memory")
        return codes.to(state.dtype)
    batch = broadcast_batches(memory=state.batch_shape, weights=weights.shape[:-2])
    shape = (*batch, weights.shape[-2], state.code_size)
    recalled = torch.empty(shape, dtype=state.dtype, device=state.device)
    # Blocks share their buffers: to allocate new ones would cost as much as the product.
    wide = weights.new_empty((*weights.shape[:-2], BLOCK_SIZE, state.num_rows), dtype=R.dtype)
    product = R.new_empty((*batch, BLOCK_SIZE, state.code_size))
    for W, part in zip(weights.split(BLOCK_SIZE, -2), recalled.split(BLOCK_SIZE, -2), strict=True):
        if W.shape[-2] == BLOCK_SIZE:
            part.copy_(torch.matmul(wide.copy_(W), R, out=product))
        else:
            part.copy_(linalg.to_float64(W) @ R)
    return recalled


def _recall_var(state: MemoryState, weights: Tensor, noise: Tensor) -> Tensor:
    """w' U w + noise, (..., T), in float64."""
    blocks = map(linalg.to_float64, weights.split(BLOCK_SIZE, dim=-2))
    var = torch.cat([(state.row_cov._cross_cov(W) * W).sum(-1) for W in blocks], dim=-1)
    var = var.clamp_min(0) + noise  # rounding errors can be below zero
    check_read_var(var, state.row_cov, weights, noise)
    batch = broadcast_batches(memory=state.batch_shape, weights=weights.shape[:-2])
    return var.expand(*batch, -1)  # episodes that share weights share a covariance
