"""The search for the addresses of cues in a memory with learned addresses, and what a search found.

Shapes: S starts, T cues, K rows, Y address code size; leading dimensions are free.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.models.address_search import AddressSearch
from kanerva.models.addressing import AddressTable
from kanerva.models.item_search import MAX_LEAD
from kanerva.models.reading import SearchOptions

MAX_READINGS = 10
"""Readings after which a search ends, converged or not."""
STEPS_PER_READING = 2
SPREAD = 0.5
"""Distance between the first start and the others, in standard deviations of q(y|cue)."""


class Found(NamedTuple):
    """What a search found. Those after the objectives are signs of it; see `Signs`."""

    address_codes: Tensor
    """After each reading, (readings, ..., T, Y)."""
    objectives: Tensor
    """(readings, ..., T)."""
    distance: Tensor
    log_var: Tensor
    first_log_var: Tensor
    lead: Tensor
    fill: Tensor

    def repeated(self, length: int) -> "Found":
        """With the last reading repeated up to so many readings."""
        more = length - len(self.objectives)
        address_codes, objectives = (
            torch.cat([part, *[part[-1:]] * more]) for part in (self.address_codes, self.objectives)
        )
        return self._replace(address_codes=address_codes, objectives=objectives)


def search_table(
    keys: AddressTable,
    row_cov: Tensor,
    posterior: Gaussian,
    options: SearchOptions,
    *,
    code_size: int,
    noise_var: float,
    fill: float,
) -> Found:
    """Search one memory for cues, from several starts each.

    Args:
        keys: the map from address codes to weights.
        row_cov: U, (K, K).
        posterior: q(y|cue) over (T, Y).
        options: how many readings and starts.
        code_size: C.
        noise_var: sigma^2.
        fill: how full the memory is.

    """
    std = (posterior.log_var.exp() + keys.cue_std**2).sqrt()
    starts = _starts(posterior.mean, std, options.num_starts or keys.num_starts)
    again = Gaussian(posterior.mean.repeat(len(starts), 1), 2 * std.log().repeat(len(starts), 1))
    search = AddressSearch(keys, row_cov, again, code_size=code_size, noise_var=noise_var)
    state = search.start(starts.flatten(0, 1))
    ended, objective = starts, state.objective
    address_codes, objectives = [], []
    for _ in range(options.num_readings or MAX_READINGS):
        if options.num_readings is not None:  # as many as asked for, converged or not
            state = state._replace(has_converged=torch.zeros_like(state.has_converged))
        for _ in range(STEPS_PER_READING):
            state = search.step(state)
        ended = state.address_codes.unflatten(0, starts.shape[:2])
        objective = state.objective.unflatten(0, starts.shape[:2])
        address_codes.append(_best(ended, objective))
        objectives.append(objective.amax(0))
        if options.num_readings is None and state.has_converged.all():
            break
    return Found(
        torch.stack(address_codes),
        torch.stack(objectives),
        (address_codes[-1] - posterior.mean).norm(dim=-1),
        (search.variance(address_codes[-1]) + noise_var).log(),
        (search.variance(posterior.mean) + noise_var).log(),
        _lead(ended, objective, address_codes[-1]),
        objective.new_full(objective.shape[1:], fill),
    )


def _starts(mean: Tensor, std: Tensor, num_starts: int) -> Tensor:
    """Where searches begin, (S, T, Y): at the mean of q(y|cue), and around it."""
    generator = torch.Generator().manual_seed(0)  # a reading is the same each time
    directions = torch.randn(num_starts, 1, mean.shape[-1], generator=generator)
    directions[0] = 0
    return mean + SPREAD * directions.to(mean) * std


def _best(address_codes: Tensor, objective: Tensor) -> Tensor:
    """The best address codes (T, Y) of those that all starts (S, T, Y) came to."""
    return torch.take_along_dim(address_codes, objective.argmax(0)[None, :, None], 0)[0]


def _lead(address_codes: Tensor, objective: Tensor, best: Tensor) -> Tensor:
    """By how much the best start is ahead of the others that ended elsewhere, (T,)."""
    elsewhere = (address_codes - best).norm(dim=-1) > 0.5
    rivals = objective.masked_fill(~elsewhere, -math.inf).amax(0)
    return (objective.amax(0) - rivals).clamp(0, MAX_LEAD)
