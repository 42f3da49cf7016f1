"""Reading a memory by a search for the address (see `address_search`).

Shapes: S starts, T cues, K rows, C code size, Y address code size; leading dimensions are free.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState
from kanerva.models.address_search import AddressSearch
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.confidence import (
    Calibration,
    Signs,
    confidence_in,
    ink_shares,
    zero_without_ink,
)
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.ranking import Ranking
from kanerva.models.reading import ReadResult, SearchOptions

MAX_READINGS = 10
"""Readings after which a search ends, converged or not."""
STEPS_PER_READING = 2
SCOUT_STEPS = 30
"""Most steps of each search for a place to begin. One that has not converged hides nothing."""
SPREAD = 0.5
"""Distance between the first start and the others, in standard deviations of q(y|cue)."""
MAX_LEAD = 50.0
"""The lead of a reading without a rival."""


class _Found(NamedTuple):
    """What a search found. The last four are the first of `Signs`."""

    address_codes: Tensor
    """After each reading, (readings, ..., T, Y)."""
    objectives: Tensor
    """(readings, ..., T)."""
    distance: Tensor
    log_var: Tensor
    first_log_var: Tensor
    lead: Tensor

    def repeated(self, length: int) -> "_Found":
        """With the last reading repeated up to so many readings."""
        more = length - len(self.objectives)
        address_codes, objectives = (
            torch.cat([part, *[part[-1:]] * more]) for part in (self.address_codes, self.objectives)
        )
        return self._replace(address_codes=address_codes, objectives=objectives)


class SearchReader:
    """Reads cues from one memory, or from a batch of memories.

    Args:
        coder: the coders of the model.
        access: its memory and its addressing.
        noise_var: sigma^2.
        calibration: what turns signs into a probability; None for a score.
        ranking: what chooses between items by their images; None to choose by address alone.

    """

    def __init__(
        self,
        coder: Coder,
        access: MemoryAccess[MemoryState],
        *,
        noise_var: float,
        calibration: Calibration | None,
        ranking: Ranking | None = None,
    ) -> None:
        self.coder = coder
        self.access = access
        self.noise_var = noise_var
        self.calibration = calibration
        self.ranking = ranking if ranking is not None and ranking.is_fitted else None

    def read(self, cues: Tensor, memory: MemoryState, options: SearchOptions) -> ReadResult:
        """What the memory holds for cues (..., T, channels, H, W) that were checked."""
        embeddings = self.coder.encode(cues)
        posterior = self.access.addressing.posterior(embeddings, memory)
        found = self._search_each(cues, posterior, memory, options)
        codes = self._codes(found.address_codes, memory)
        steps = list(self._image(codes).unbind(0))
        if options.on_reading is not None:
            for number, step in enumerate(steps, start=1):
                options.on_reading(number, step)
        signs = self._signs(cues, embeddings, memory, found, codes[-1], steps[-1])
        if self.calibration is not None and self.calibration.is_fitted:
            confidence = self.calibration(signs)
        else:
            confidence = confidence_in(self.coder, self.access, cues, codes[-1], steps[-1], memory)
        confidence = zero_without_ink(confidence, cues, self.coder)
        weights = self.access.addressing.address_for(found.address_codes[-1])
        return ReadResult(steps[-1], weights, codes[-1], confidence, steps, found.objectives, signs)

    def _search_each(
        self, cues: Tensor, posterior: Gaussian, memory: MemoryState, options: SearchOptions
    ) -> _Found:
        """Search each memory of a batch by itself: they take different numbers of readings."""
        cov = memory.cov.mean(-3) if memory.per_column else memory.cov
        *batch, num_cues, size = posterior.mean.shape
        num = math.prod(batch)
        covs = cov.expand(*batch, *cov.shape[-2:]).reshape(num, *cov.shape[-2:])
        rows = memory.mean.expand(*batch, *memory.mean.shape[-2:]).reshape(
            num, *memory.mean.shape[-2:]
        )
        means, log_vars = (part.reshape(num, num_cues, size) for part in posterior)
        shown = cues.reshape(num, num_cues, *cues.shape[-3:])
        each = [
            self._search_one(cue, row, row_cov, Gaussian(mean, log_var), options)
            for cue, row, row_cov, mean, log_var in zip(
                shown, rows, covs, means, log_vars, strict=True
            )
        ]
        longest = max(len(one.objectives) for one in each)
        parts = zip(*(one.repeated(longest) for one in each), strict=True)
        address_codes, objectives, *others = parts
        return _Found(
            torch.stack(address_codes, 1).reshape(longest, *batch, num_cues, size),
            torch.stack(objectives, 1).reshape(longest, *batch, num_cues),
            *(torch.stack(other).reshape(*batch, num_cues) for other in others),
        )

    def _search_one(
        self,
        cues: Tensor,
        rows: Tensor,
        row_cov: Tensor,
        posterior: Gaussian,
        options: SearchOptions,
    ) -> _Found:
        """Search one memory (K, C), (K, K) for cues (T, ...), from several starts each."""
        code_size = rows.shape[-1]
        addressing = self.access.addressing
        assert isinstance(addressing, LearnedAddressing)
        keys = addressing.table
        assert isinstance(keys, AddressTable | FourierKeys)
        std = (posterior.log_var.exp() + keys.cue_std**2).sqrt()
        num_starts = options.num_starts or keys.num_starts
        if isinstance(keys, FourierKeys):
            wide = Gaussian(posterior.mean, 2 * std.log())
            starts = self._scout(keys, row_cov, wide, code_size, num_starts)
        else:
            starts = _starts(posterior.mean, std, num_starts)
        again = Gaussian(
            posterior.mean.repeat(len(starts), 1), 2 * std.log().repeat(len(starts), 1)
        )
        search = AddressSearch(keys, row_cov, again, code_size=code_size, noise_var=self.noise_var)
        state = search.start(starts.flatten(0, 1))
        readings = []
        for _ in range(options.num_readings or MAX_READINGS):
            for _ in range(STEPS_PER_READING):
                state = search.step(state)
            readings.append(state)
            if options.num_readings is None and state.has_converged.all():
                break
        merit = search.merit(state.address_codes).unflatten(0, starts.shape[:2])
        if self.ranking is not None:
            weights = keys(state.address_codes)
            images = self._image(weights @ rows).unflatten(0, starts.shape[:2])
            distance = search.distance(state.address_codes).unflatten(0, starts.shape[:2])
            merit = merit + 0.5 * distance + self.ranking(distance, cues, images)
        best = merit.argmax(0)
        address_codes = _of_start(best, [reading.address_codes for reading in readings], starts)
        objectives = _of_start(best, [reading.objective[:, None] for reading in readings], starts)
        width = addressing.key_width or 1.0
        ended = state.address_codes.unflatten(0, starts.shape[:2])
        return _Found(
            address_codes,
            objectives[..., 0],
            (address_codes[-1] - posterior.mean).norm(dim=-1) / width,
            (search.variance(address_codes[-1]) + self.noise_var).log(),
            (search.variance(posterior.mean) + self.noise_var).log(),
            _lead(ended, merit, address_codes[-1], width),
        )

    def _scout(
        self,
        keys: FourierKeys,
        row_cov: Tensor,
        posterior: Gaussian,
        code_size: int,
        num_starts: int,
    ) -> Tensor:
        """Where searches begin, (S, T, Y): at the mean of q(y|cue), and at one item after another.

        What was found is passed over, so that the next search comes to the next item.
        """
        prior = self.access.memory.initial_state(torch.Size()).cov
        prior_cov = prior.mean(-3) if prior.ndim > 2 else prior
        search = AddressSearch(
            keys, row_cov, posterior, code_size=code_size, noise_var=self.noise_var
        )
        starts = [posterior.mean]
        for _ in range(num_starts - 1):
            state = search.start(posterior.mean)
            for _ in range(SCOUT_STEPS):
                state = search.step(state)
            starts.append(state.address_codes)
            search = search.without(state.address_codes, prior_cov)
        return torch.stack(starts)

    def _codes(self, address_codes: Tensor, memory: MemoryState) -> Tensor:
        address = self.access.addressing.address_for(address_codes)
        return self.access.memory.read(memory, address).mean

    def _image(self, codes: Tensor) -> Tensor:
        return self.coder.likelihood.mean(self.coder.decode(codes))

    def _signs(
        self,
        cues: Tensor,
        embeddings: Tensor,
        memory: MemoryState,
        found: _Found,
        codes: Tensor,
        images: Tensor,
    ) -> Signs:
        width = self.access.addressing.key_width or 1.0
        again = self.access.addressing.posterior(self.coder.encode(images), memory).mean
        added, missing = ink_shares(cues, images)
        fill = self.access.memory.fill(memory)
        fill = torch.ones((), device=codes.device) if fill is None else fill
        own = embeddings.chunk(2, -1)[0]
        return Signs(
            *found[2:],
            return_distance=(again - found.address_codes[-1]).norm(dim=-1) / width,
            code_distance=(own - codes).square().mean(-1).clamp_min(1e-6).log(),
            added_ink=added,
            missing_ink=missing,
            fill=fill.to(codes)[..., None].expand(codes.shape[:-1]),
        )


def _starts(mean: Tensor, std: Tensor, num_starts: int) -> Tensor:
    """Where searches begin, (S, T, Y): at the mean of q(y|cue), and around it."""
    generator = torch.Generator().manual_seed(0)  # a reading is the same each time
    directions = torch.randn(num_starts, 1, mean.shape[-1], generator=generator)
    directions[0] = 0
    return mean + SPREAD * directions.to(mean) * std


def _of_start(best: Tensor, readings: list[Tensor], starts: Tensor) -> Tensor:
    """What the best start of each cue (T,) had after each reading, (readings, T, ...)."""
    table = torch.stack(readings).unflatten(1, starts.shape[:2])
    return torch.take_along_dim(table, best[None, None, :, None], 1)[:, 0]


def _lead(address_codes: Tensor, objective: Tensor, best: Tensor, width: float) -> Tensor:
    """By how much the best start is ahead of the others that ended elsewhere, (T,)."""
    elsewhere = (address_codes - best).norm(dim=-1) > 0.5 * width
    rivals = objective.masked_fill(~elsewhere, -math.inf).amax(0)
    return (objective.amax(0) - rivals).clamp(0, MAX_LEAD)
