"""Which item of a memory a cue means: several are found, and their images are compared with it.

Shapes: S starts, T cues, K rows, C code size, Y address code size.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.fourier_search import FourierSearch, Traces
from kanerva.models.ranking import Ranking, features

NUM_STEPS = 20
"""Most steps of each search for an item."""
NUM_CANDIDATES = 6
"""How many items are compared with a cue."""
SAME = 0.4
"""Places that are closer than this, in widths of the keys, are one item."""


class Candidates(NamedTuple):
    """Items that a cue may mean, the most likely address first."""

    address_codes: Tensor
    """(S, T, Y)."""
    posterior: Gaussian
    """q(y|view) of the view of the cue that led there, over (S, T, Y)."""
    merit: Tensor
    """(S, T); minus infinity for what is no further item."""
    distance: Tensor
    """Squared distance from the mean of q(y|view), in its standard deviations, (S, T)."""
    log_var: Tensor
    """Logarithm of the variance of codes that are read there, (S, T)."""


class ItemSearch:
    """Finds the items that cues may mean in one memory.

    Args:
        keys: the map from address codes to weights.
        traces: what was written.
        code_size: C.
        noise_var: sigma^2.

    """

    def __init__(
        self, keys: FourierKeys, traces: Traces, *, code_size: int, noise_var: float
    ) -> None:
        self.keys = keys
        self.traces = traces
        self.code_size = code_size
        self.noise_var = noise_var

    def search(self, posterior: Gaussian) -> FourierSearch:
        """The search for cues with q(y|x) over (N, Y), which the keys make wider."""
        return FourierSearch(
            self.keys,
            self.traces,
            posterior,
            code_size=self.code_size,
            noise_var=self.noise_var,
        )

    def candidates(self, views: Gaussian, num_starts: int) -> Candidates:
        """The items near the addresses of a cue's views.

        A search begins at each view. More starts than views go on from the cue itself, and pass
        over what was found from there.

        Args:
            views: q(y|view) over (V, T, Y), the cue itself first.
            num_starts: how many searches, S.

        """
        views = Gaussian(*(part[:num_starts] for part in views))
        num_views, num_cues, size = views.mean.shape
        flat = Gaussian(*(part.flatten(0, 1) for part in views))
        found = [self.search(flat).run(flat.mean, NUM_STEPS).reshape(num_views, num_cues, size)]
        search = self.search(Gaussian(*(part[0] for part in views)))
        for _ in range(num_starts - num_views):
            search = search.without(found[-1][0])
            found.append(search.run(search.centre, NUM_STEPS)[None])
        more = num_starts - num_views
        posterior = Gaussian(*(torch.cat([part, *[part[:1]] * more]) for part in views))
        return self._best_of_each(torch.cat(found), posterior)

    def _best_of_each(self, address_codes: Tensor, posterior: Gaussian) -> Candidates:
        """The places with the highest merit that are different items."""
        shape = address_codes.shape[:2]
        search = self.search(Gaussian(*(part.flatten(0, 1) for part in posterior)))
        flat = address_codes.flatten(0, 1)
        merit = search.merit(flat).reshape(shape)
        log_var = (search.variance(flat) + self.noise_var).log().reshape(shape)
        distance = search.distance(flat).reshape(shape)
        order, merits = [], []
        left = merit
        for _ in range(min(NUM_CANDIDATES, len(merit))):
            best = left.argmax(0, keepdim=True)
            order.append(best)
            merits.append(left.gather(0, best))
            place = torch.take_along_dim(address_codes, best[..., None], 0)
            same = (address_codes - place).norm(dim=-1) < SAME * self.keys.width
            left = left.masked_fill(same, -math.inf)
        chosen = torch.cat(order)
        return Candidates(
            torch.take_along_dim(address_codes, chosen[..., None], 0),
            Gaussian(*(torch.take_along_dim(part, chosen[..., None], 0) for part in posterior)),
            torch.cat(merits),
            distance.gather(0, chosen),
            log_var.gather(0, chosen),
        )


def judge(
    candidates: Candidates,
    cues: Tensor,
    ranking: Ranking | None,
    decode: Callable[[Tensor], Tensor],
) -> Tensor:
    """How well each candidate fits its cue, (S, T): by its image, or without a ranking by merit.

    Args:
        candidates: what was found.
        cues: (T, channels, H, W).
        ranking: what compares images; None to choose by address alone.
        decode: the images (S, T, channels, H, W) that are read at address codes (S, T, Y).

    """
    if ranking is None:
        return candidates.merit
    images = decode(candidates.address_codes)
    odds = ranking(features(candidates.distance, candidates.log_var, cues, images))
    return odds.masked_fill(candidates.merit.isneginf(), -math.inf)
