"""Reading a memory by a search for the address (see `address_search`).

Shapes: S starts, T cues, K rows, C code size, Y address code size; leading dimensions are free.
"""

import math

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState
from kanerva.models.address_search import AddressSearch, SearchState
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.confidence import Calibration, Signs, confidence_in, ink_shares
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.reading import ReadResult, SearchOptions

MAX_READINGS = 20
"""Readings after which a search ends, converged or not."""
STEPS_PER_READING = 2
SPREAD = 0.5
"""Distance between the first start and the others, in standard deviations of q(y|cue)."""
MAX_LEAD = 50.0
"""The lead of a reading without a rival."""


class SearchReader:
    """Reads cues from one memory, or from a batch of memories.

    Args:
        coder: the coders of the model.
        access: its memory and its addressing.
        noise_var: sigma^2.
        calibration: what turns signs into a probability; None for a score.

    """

    def __init__(
        self,
        coder: Coder,
        access: MemoryAccess[MemoryState],
        *,
        noise_var: float,
        calibration: Calibration | None,
    ) -> None:
        self.coder = coder
        self.access = access
        self.noise_var = noise_var
        self.calibration = calibration

    def read(self, cues: Tensor, memory: MemoryState, options: SearchOptions) -> ReadResult:
        """What the memory holds for cues (..., T, channels, H, W) that were checked."""
        embeddings = self.coder.encode(cues)
        posterior = self.access.addressing.posterior(embeddings, memory)
        search = self._search(posterior, memory)
        state = search.start(_starts(search, options.num_starts or search.keys.num_starts))
        codes, objectives = [], []
        for number in range(1, 1 + (options.num_readings or MAX_READINGS)):
            for _ in range(STEPS_PER_READING):
                state = search.step(state)
            best = _best(state)
            codes.append(self._codes(best, memory))
            objectives.append(state.objective.amax(0))
            if options.on_reading is not None:
                options.on_reading(number, self._image(codes[-1]))
            if options.num_readings is None and state.has_converged:
                break
        steps = list(self._image(torch.stack(codes)).unbind(0))
        best = _best(state)
        weights = self.access.addressing.address_for(best)
        signs = self._signs(cues, embeddings, memory, search, state, codes[-1], steps[-1])
        if self.calibration is not None and self.calibration.is_fitted:
            confidence = self.calibration(signs)
        else:
            confidence = confidence_in(self.coder, self.access, cues, codes[-1], steps[-1], memory)
        objective = torch.stack(objectives)
        return ReadResult(steps[-1], weights, codes[-1], confidence, steps, objective, signs)

    def _search(self, posterior: Gaussian, memory: MemoryState) -> AddressSearch:
        cov = memory.cov.mean(-3) if memory.per_column else memory.cov
        addressing = self.access.addressing
        assert isinstance(addressing, LearnedAddressing)
        assert isinstance(addressing.table, AddressTable | FourierKeys)
        log_var = (posterior.log_var.exp() + addressing.table.cue_std**2).log()
        return AddressSearch(
            addressing.table,
            cov,
            Gaussian(posterior.mean, log_var),
            code_size=memory.code_size,
            noise_var=self.noise_var,
        )

    def _codes(self, address_codes: Tensor, memory: MemoryState) -> Tensor:
        return self.access.memory.read(
            memory, self.access.addressing.address_for(address_codes)
        ).mean

    def _image(self, codes: Tensor) -> Tensor:
        return self.coder.likelihood.mean(self.coder.decode(codes))

    def _signs(
        self,
        cues: Tensor,
        embeddings: Tensor,
        memory: MemoryState,
        search: AddressSearch,
        state: SearchState,
        codes: Tensor,
        images: Tensor,
    ) -> Signs:
        best = _best(state)
        width = self.access.addressing.key_width or 1.0
        again = self.access.addressing.posterior(self.coder.encode(images), memory).mean
        added, missing = ink_shares(cues, images)
        fill = self.access.memory.fill(memory)
        fill = torch.ones(()) if fill is None else fill
        own = embeddings.chunk(2, -1)[0]
        return Signs(
            distance=(best - search.centre).norm(dim=-1) / width,
            log_var=(search.variance(best) + search.noise_var).log(),
            first_log_var=(search.variance(search.centre) + search.noise_var).log(),
            lead=_lead(state, best, width),
            return_distance=(again - best).norm(dim=-1) / width,
            code_distance=(own - codes).square().mean(-1).clamp_min(1e-6).log(),
            added_ink=added,
            missing_ink=missing,
            fill=fill.to(codes)[..., None].expand(best.shape[:-1]),
        )


def _starts(search: AddressSearch, num_starts: int) -> Tensor:
    """Where searches begin, (S, ..., T, Y): at the mean of q(y|cue), and around it."""
    generator = torch.Generator().manual_seed(0)  # a reading is the same each time
    size = search.centre.shape[-1]
    directions = torch.randn(num_starts, size, generator=generator)
    directions[0] = 0
    shape = (num_starts, *(1,) * (search.centre.dim() - 1), size)
    noise = directions.to(search.centre).reshape(shape)
    return search.centre + SPREAD * noise * search.precision.rsqrt()


def _best(state: SearchState) -> Tensor:
    """The best address code of all starts, (..., T, Y)."""
    index = state.objective.argmax(0, keepdim=True)[..., None]
    return torch.take_along_dim(state.address_codes, index, 0)[0]


def _lead(state: SearchState, best: Tensor, width: float) -> Tensor:
    """By how much the best start is ahead of the others that ended elsewhere, (..., T)."""
    elsewhere = (state.address_codes - best).norm(dim=-1) > 0.5 * width
    rivals = state.objective.masked_fill(~elsewhere, -math.inf).amax(0)
    return (state.objective.amax(0) - rivals).clamp(0, MAX_LEAD)
