"""Prefixes of an episode: what the memory knows, and predicts, after 0, 1, 2, ... items.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.errors import KanervaError
from kanerva.memory.episode import Episode, check_episode_fits, check_weights, checked_episode
from kanerva.memory.precision import check_read_var
from kanerva.memory.read import Prediction
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import broadcast_batches, check_flag, check_size
from kanerva.memory.value_checks import check_finite, checked_noise_var
from kanerva.memory.write import (
    SufficientStatistics,
    innovation,
    posterior_from_statistics,
)


def condition_prefixes(
    prior: MemoryState,
    weights: Tensor,
    codes: Tensor,
    *,
    noise_var: float | Tensor = 1.0,
    code_var: Tensor | float | None = None,
    per_column: bool = False,
) -> MemoryState:
    """Write an episode and keep every memory on the way: the posteriors after 0 to T items.

    The evidence of the items is added up item by item, and all T + 1 posteriors come from it at
    once, by one batched factorisation. They are those of on-line writing: memory n + 1 is
    `condition(memory_n, weights[n], codes[n], chunk=1)`, up to rounding. With them an item can be
    read from what came before it: this is how a model that predicts the next item is trained.

    Args:
        prior: the memory to write into, of any batch shape.
        weights: W, (..., T, K). T = 0 gives the prior alone.
        codes: Z, (..., T, C): what is written.
        noise_var: sigma^2, a positive number or a tensor of no dimensions, as for `condition`.
        code_var: how uncertain the codes are, as for `condition`: a number, (..., T) or
            (..., T, C).
        per_column: keep a covariance for each column, so that `code_var` (..., T, C) is exact.

    Returns:
        Memories of batch shape (..., T + 1): index 0 is the prior, index n the memory after the
        first n items. A covariance that is not full is the one of a single write of each prefix:
        it loses less than one that is cut down after every item.

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState, condition_prefixes, predict
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> weights, codes = torch.ones(4, 3), torch.full((4, 2), 6.0)
        >>> memories = condition_prefixes(prior, weights, codes)
        >>> memories.batch_shape
        torch.Size([5])
        >>> mean, var = predict(memories, torch.ones(1, 3))  # the same cue after 0, 1, ... 4 items
        >>> mean[:, 0, 0]
        tensor([0.0000, 4.5000, 5.1429, 5.4000, 5.5385])

    """
    check_memory("prior", prior)
    check_flag("per_column", per_column)
    per_column = per_column or prior.per_column
    episode = checked_episode(
        weights, codes, noise_var, code_var, memory=prior, per_column=per_column
    )
    check_episode_fits(prior, episode)
    if per_column:
        columns = _prefix_states(prior._split_columns(), episode.split_columns(), columns=True)
        return columns._join_columns()
    return _prefix_states(prior, episode)


def _prefix_states(state: MemoryState, episode: Episode, *, columns: bool = False) -> MemoryState:
    """The states after 0, 1, ... T items, (..., T + 1); (..., T + 1, C) for split `columns`."""
    batch = broadcast_batches(
        memory=state.batch_shape,
        weights=episode.weights.shape[:-2],
        codes=episode.codes.shape[:-2],
        noise=episode.noise_var.shape[:-1],
    )
    W, Z, noise_var = episode.to_float64()
    scaled = W / noise_var[..., None]
    G, H = (_sums_of_prefixes(scaled[..., :, None] * other[..., None, :]) for other in (W, Z))
    if columns:
        G, H = G.movedim(-3, -4), H.movedim(-3, -4)
    where = len(batch) - columns  # prefixes come before columns
    prefix_batch = (*batch[:where], episode.num_items + 1, *batch[where:])
    state = state._expand_batch(batch)
    state = state._map_tensors(lambda tensor: tensor.unsqueeze(where))
    posterior = posterior_from_statistics(state, SufficientStatistics(G, H))
    return posterior._expand_batch(torch.Size(prefix_batch))


def _sums_of_prefixes(products: Tensor) -> Tensor:
    """Sums over the first 0, 1, ... T of T matrices (..., T, m, n), (..., T + 1, m, n)."""
    none = products.new_zeros((*products.shape[:-3], 1, *products.shape[-2:]))
    return torch.cat([none, products], dim=-3).cumsum(-3)


def predict_next(
    prior: MemoryState,
    weights: Tensor,
    codes: Tensor,
    read_weights: Tensor,
    *,
    noise_var: float | Tensor = 1.0,
    code_var: Tensor | float | None = None,
) -> Prediction:
    """Read every item from the memory of the items before it, without making these memories.

    Item t is read with its own row of `read_weights`, which may differ from the weights it is
    written with. This is `predict(condition_prefixes(...)[t - 1], read_weights[t])` for all t, by
    one T x T factorisation. With L L' = W U W' + Sigma_xi, the first rows of L are the factor of
    every prefix. So the columns of L^-1 W U V', cut off above the diagonal, whiten what each
    reader v shares with the items before it, and L^-1 (Z - W R) whitens what those items say.

    Args:
        prior: the memory before the first item, with a full covariance.
        weights: W, (..., T, K), with which the items are written.
        codes: Z, (..., T, C).
        read_weights: V, (..., T, K), with which they are read.
        noise_var: sigma^2, as for `condition`; also the noise of what is read.
        code_var: how uncertain the codes are: a number or (..., T), as for `condition`.

    Returns:
        A `Prediction`: mean (..., T, C) and var (..., T).

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

    Example:
        >>> import torch
        >>> from kanerva import MemoryState
        >>> from kanerva.memory.prefixes import predict_next
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> weights, codes = torch.ones(4, 3), torch.full((4, 2), 6.0)
        >>> predict_next(prior, weights, codes, weights).mean[:, 0]
        tensor([0.0000, 4.5000, 5.1429, 5.4000])

    """
    check_memory("prior", prior)
    if prior.per_column:
        raise KanervaError(
            "prior",
            expected="a memory whose columns share one covariance",
            got=repr(prior),
            fix="Use condition_prefixes and predict, which also work for separate covariances.",
        )
    episode = checked_episode(weights, codes, noise_var, code_var, memory=prior)
    check_episode_fits(prior, episode)
    check_weights(prior, read_weights)
    check_size("read_weights", read_weights, -2, episode.num_items, "the T items of weights")
    check_finite("read_weights", read_weights)
    noise = checked_noise_var(noise_var, like=weights)
    if episode.num_items == 0:
        return Prediction(codes, read_weights[..., 0])
    V = linalg.to_float64(read_weights)
    Delta, Sigma_c, _, L = innovation(prior, episode.to_float64())
    shared = linalg.solve_lower(L, Sigma_c @ V.mT).triu(1)  # [s, t]: only items s < t
    mean = V @ prior._mean + shared.mT @ linalg.solve_lower(L, Delta)
    before = (prior.row_cov._cross_cov(V) * V).sum(-1)
    var = (before - shared.square().sum(-2)).clamp_min(0) + noise
    check_read_var(var, prior.row_cov, V, noise)
    return Prediction(mean.to(prior.dtype), var.to(prior.dtype))
