"""Reading a memory by a search for the address (see `address_search`).

Shapes: S starts, T cues, K rows, C code size, Y address code size; leading dimensions are free.
"""

import itertools
import math

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState
from kanerva.memory.compare import FILL_TOLERANCE
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.confidence import (
    Calibration,
    Signs,
    confidence_in,
    ink_signs,
    zero_without_ink,
)
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.fourier_search import Traces
from kanerva.models.item_search import ItemSearch
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.ranking import Ranking
from kanerva.models.reading import ReadResult, SearchOptions
from kanerva.models.table_search import (
    MAX_READINGS,
    STEPS_PER_READING,
    Found,
    search_table,
)
from kanerva.models.views import views
from kanerva.models.widening_search import WideningSearch

EMPTY = 1e-6
"""A memory that is filled less than this holds nothing, and no reading of it is right."""


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
        assert isinstance(access.addressing, LearnedAddressing)
        assert isinstance(access.addressing.table, AddressTable | FourierKeys)
        self.keys = access.addressing.table

    def read(self, cues: Tensor, memory: MemoryState, options: SearchOptions) -> ReadResult:
        """What the memory holds for cues (..., T, channels, H, W) that were checked."""
        embeddings = self.coder.encode(cues)
        posterior = self.access.addressing.posterior(embeddings, memory)
        found = self._search_each(cues, posterior, memory, options)
        codes = self._codes(found.address_codes, memory)
        steps = self._decode_readings(codes)
        if options.on_reading is not None:
            for number, step in enumerate(steps, start=1):
                options.on_reading(number, step)
        signs = self._signs(cues, embeddings, memory, found, codes[-1], steps[-1])
        if self.calibration is not None and self.calibration.is_fitted:
            confidence = self.calibration(signs)
        else:
            confidence = confidence_in(self.coder, self.access, cues, codes[-1], steps[-1], memory)
        confidence = zero_without_ink(confidence, cues, steps[-1], self.coder)
        confidence = torch.where(signs.fill < EMPTY, 0.0, confidence)
        weights = self.access.addressing.address_for(found.address_codes[-1])
        return ReadResult(steps[-1], weights, codes[-1], confidence, steps, found.objectives, signs)

    def _search_each(
        self, cues: Tensor, posterior: Gaussian, memory: MemoryState, options: SearchOptions
    ) -> Found:
        """Search each memory of a batch by itself: they take different numbers of readings."""
        cov = memory.cov.mean(-3) if memory.per_column else memory.cov
        *batch, num_cues, size = posterior.mean.shape
        num = math.prod(batch)

        def each(part: Tensor, num_dims: int) -> Tensor:
            shape = part.shape[-num_dims:]
            return part.expand(*batch, *shape).reshape(num, *shape)

        memories = zip(each(cov, 2), each(memory.mean, 2), strict=True)
        asked = zip(each(cues, 4), each(posterior.mean, 2), each(posterior.log_var, 2), strict=True)
        found = []
        for (row_cov, rows), (cue, mean, log_var) in zip(memories, asked, strict=True):
            centre = Gaussian(mean, log_var)
            if isinstance(self.keys, FourierKeys):
                one = self._find_items(self.keys, cue, centre, rows, row_cov, memory, options)
                found.append(one)
            else:
                one = search_table(
                    self.keys,
                    row_cov,
                    centre,
                    options,
                    code_size=rows.shape[-1],
                    noise_var=self.noise_var,
                    fill=self._traces(row_cov).fill,
                )
                found.append(one)
        longest = max(len(one.objectives) for one in found)
        parts = zip(*(one.repeated(longest) for one in found), strict=True)
        address_codes, objectives, *others = parts
        return Found(
            torch.stack(address_codes, 1).reshape(longest, *batch, num_cues, size),
            torch.stack(objectives, 1).reshape(longest, *batch, num_cues),
            *(torch.stack(other).reshape(*batch, num_cues) for other in others),
        )

    def _find_items(
        self,
        keys: FourierKeys,
        cues: Tensor,
        posterior: Gaussian,
        rows: Tensor,
        row_cov: Tensor,
        memory: MemoryState,
        options: SearchOptions,
    ) -> Found:
        """Find what cues (T, ...) mean in one memory (K, C), (K, K), and go there."""
        items = self.item_search(keys, row_cov, rows.shape[-1])
        num_starts = options.num_starts or keys.num_starts
        widening = self.widening_search(items, memory, rows)
        choice = widening.choose(cues, self.spread_by_damage(posterior), num_starts)
        mean, log_var = choice.posterior
        search = items.search(Gaussian(mean, log_var))
        state, readings = search.start(choice.address_codes), []
        for _ in range(options.num_readings or MAX_READINGS):
            if options.num_readings is not None:  # as many as asked for, converged or not
                state = state._replace(has_converged=torch.zeros_like(state.has_converged))
            for _ in range(STEPS_PER_READING):
                state = search.step(state)
            readings.append(state.places)
            if options.num_readings is None and state.has_converged.all():
                break
        ended = readings[-1]
        first = search.variance(posterior.mean)
        return Found(
            torch.stack([reading.address_codes for reading in readings]),
            torch.stack([reading.objective for reading in readings]),
            (ended.address_codes - mean).norm(dim=-1) / keys.width,
            items.log_var(ended.variance),
            items.log_var(first),
            choice.lead,
            first.new_full(first.shape, items.traces.fill),
        )

    def widening_search(
        self, items: ItemSearch, memory: MemoryState, rows: Tensor
    ) -> WideningSearch:
        """What finds the items that cues mean in a memory with the mean (K, C)."""
        return WideningSearch(
            items,
            views_of=lambda cues, num: self._views_of(cues, memory, num),
            decode=lambda address_codes: self.decode(items.keys(address_codes) @ rows),
            ranking=self.ranking,
        )

    def item_search(self, keys: FourierKeys, row_cov: Tensor, code_size: int) -> ItemSearch:
        """The search for items in a memory with the covariance U (K, K)."""
        traces = self._traces(row_cov)
        return ItemSearch(keys, traces, code_size=code_size, noise_var=self.noise_var)

    def _traces(self, row_cov: Tensor) -> Traces:
        """What was written in a memory with the covariance U (K, K) that began with the prior."""
        prior = self.access.memory.initial_state(torch.Size()).cov
        return Traces.of(row_cov, prior.mean(-3) if prior.ndim > 2 else prior)

    def spread_by_damage(self, posterior: Gaussian) -> Gaussian:
        """q(y|x) as wide as damage makes it."""
        return Gaussian(posterior.mean, (posterior.log_var.exp() + self.keys.cue_std**2).log())

    def _views_of(self, cues: Tensor, memory: MemoryState, num_views: int) -> Gaussian:
        """q(y|view) of the first views of cues (T, ...) besides the cues themselves, (V, T, Y)."""
        shown = views(cues)[1 : 1 + num_views]
        return self.spread_by_damage(
            self.access.addressing.posterior(self.coder.encode(shown), memory)
        )

    def _codes(self, address_codes: Tensor, memory: MemoryState) -> Tensor:
        address = self.access.addressing.address_for(address_codes)
        return self.access.memory.read(memory, address).mean

    def _decode_readings(self, codes: Tensor) -> list[Tensor]:
        """The images of codes (readings, ..., T, C); those of cues that did not move are kept."""
        steps = [self.decode(codes[0])]
        for before, after in itertools.pairwise(codes):
            has_moved = (after != before).any(-1)
            images = steps[-1].clone()
            images[has_moved] = self.decode(after[has_moved])
            steps.append(images)
        return steps

    def decode(self, codes: Tensor) -> Tensor:
        """Images (..., channels, H, W) of codes (..., C)."""
        return self.coder.likelihood.mean(self.coder.decode(codes))

    def _signs(
        self,
        cues: Tensor,
        embeddings: Tensor,
        memory: MemoryState,
        found: Found,
        codes: Tensor,
        images: Tensor,
    ) -> Signs:
        width = self.access.addressing.key_width or 1.0
        again = self.access.addressing.posterior(self.coder.encode(images), memory).mean
        own = embeddings.chunk(2, -1)[0]
        return Signs(
            *found[2:-1],
            return_distance=(again - found.address_codes[-1]).norm(dim=-1) / width,
            code_distance=(own - codes).square().mean(-1).clamp_min(1e-6).log(),
            **ink_signs(cues, images),
            # A memory that is less certain than the prior began with another one.
            fill=torch.where(found.fill < -FILL_TOLERANCE, 1.0, found.fill),
        )
