"""Which item of a memory a cue means: several are found, and their images are compared with it.

Most cues are found at once, from their own address. Only where the comparison leaves a doubt the
search goes on from the other views of a cue, which have to be encoded first.

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
from kanerva.models.views import NUM_PARTS

NUM_STEPS = 20
"""Most steps of each search for an item."""
NUM_STEPS_AROUND = 16
"""Most steps of searches around a cue. Of 87 items that no view led to, 12 and 24 steps find 74 and
76."""
NUM_CANDIDATES = 6
"""How many items are compared with a cue."""
MAX_LEAD = 50.0
"""The lead of a choice without a rival."""
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
    log_odds: Tensor
    """What the ranking says of them, (S, T); NaN for those that were not compared with the cue."""

    def chosen(self, order: Tensor) -> "Candidates":
        """The candidates with the numbers `order` (S', T) of each cue."""
        vectors = (self.address_codes, *self.posterior)
        places, *posterior = (torch.take_along_dim(part, order[..., None], 0) for part in vectors)
        return Candidates(
            places, Gaussian(*posterior), *(part.gather(0, order) for part in self[2:])
        )

    def of_cues(self, which: Tensor) -> "Candidates":
        """Those of the cues with the numbers `which`."""
        posterior = Gaussian(*(part[:, which] for part in self.posterior))
        return Candidates(
            self.address_codes[:, which], posterior, *(part[:, which] for part in self[2:])
        )

    def joined(self, others: "Candidates") -> "Candidates":
        """These and others of the same cues."""
        pairs = zip(self.posterior, others.posterior, strict=True)
        posterior = Gaussian(*(torch.cat(pair) for pair in pairs))
        numbers = (torch.cat(pair) for pair in zip(self[2:], others[2:], strict=True))
        places = torch.cat([self.address_codes, others.address_codes])
        return Candidates(places, posterior, *numbers)


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

    def log_var(self, variance: Tensor) -> Tensor:
        """The logarithm of the variance of codes, with a variance w' U w of at least sigma^2.

        An item that was written has less. How much less depends on how often it was written, and
        on its neighbours, which says nothing about the cue.
        """
        return (variance.clamp_min(self.noise_var) + self.noise_var).log()

    def next_to(self, view: Gaussian, known: Candidates, num_starts: int) -> Candidates:
        """The items next to those that are known, one after another.

        Each search begins at the mean of q(y|cue), over (T, Y), and passes over what was found.
        """
        search, found = self._passing_over(view, known), []
        for _ in range(num_starts):
            found.append(search.run(search.centre, NUM_STEPS))
            search = search.without(found[-1])
        repeated = Gaussian(*(part.expand(num_starts, *part.shape) for part in view))
        return self._measured(torch.stack(found), repeated)

    def at_views(self, views: Gaussian) -> Candidates:
        """The item near the address of each view of each cue, q(y|view) over (V, T, Y)."""
        flat = Gaussian(*(part.flatten(0, 1) for part in views))
        found = self.search(flat).run(flat.mean, NUM_STEPS)
        return self._measured(found.unflatten(0, views.mean.shape[:2]), views)

    def around(self, views: Gaussian, known: Candidates, num_starts: int) -> Candidates:
        """More items around the addresses of the views of each cue: none of those that are known.

        Args:
            views: q(y|view) over (V, T, Y), the cue itself first.
            known: what was found for these cues.
            num_starts: how many searches, S; see `starts_around`.

        """
        view = Gaussian(*(part[0] for part in views))
        search = self._passing_over(view, known)
        starts = starts_around(views, num_starts).transpose(0, 1)
        found = search.repeated(num_starts).run(starts.flatten(0, 1), NUM_STEPS_AROUND)
        repeated = Gaussian(*(part.expand(num_starts, *part.shape) for part in view))
        return self._measured(found.reshape(starts.shape).transpose(0, 1), repeated)

    def _passing_over(self, view: Gaussian, known: Candidates) -> FourierSearch:
        search = self.search(view)
        for place in known.address_codes:
            search = search.without(place)
        return search

    def _measured(self, address_codes: Tensor, posterior: Gaussian) -> Candidates:
        """Places (S, T, Y) with what is known about them."""
        shape = address_codes.shape[:2]
        search = self.search(Gaussian(*(part.flatten(0, 1) for part in posterior)))
        flat = address_codes.flatten(0, 1)
        numbers = (
            search.merit(flat),
            search.distance(flat),
            self.log_var(search.variance(flat)),
            torch.full_like(flat[:, 0], math.nan),
        )
        return Candidates(address_codes, posterior, *(part.reshape(shape) for part in numbers))

    def different(self, found: Candidates, most: int | None = None) -> Candidates:
        """The places with the highest merit that are different items, by default at most six."""
        order, merits = [], []
        left = found.merit
        for _ in range(min(most or NUM_CANDIDATES, len(left))):
            best = left.argmax(0, keepdim=True)
            order.append(best)
            merits.append(left.gather(0, best))
            place = torch.take_along_dim(found.address_codes, best[..., None], 0)
            same = (found.address_codes - place).norm(dim=-1) < SAME * self.keys.width
            left = left.masked_fill(same, -math.inf)
        return found.chosen(torch.cat(order))._replace(merit=torch.cat(merits))


def starts_around(views: Gaussian, num_starts: int) -> Tensor:
    """Places (S, T, Y) where an item may be that no view (V, T, Y) of a cue leads to.

    Each view lacks something that the cue has, and its address moves. Two such changes may add up,
    so the first places are the cue's address moved by the changes of two views, then the middles of
    two views. The rest is scattered around the last views, which are parts of the cue.
    """
    means = views.mean
    pairs = [(one, other) for one in range(len(means)) for other in range(one)]
    moved = [means[one] + means[other] - means[0] for one, other in pairs if other > 0]
    middles = [(means[one] + means[other]) / 2 for one, other in pairs]
    places = torch.stack([*moved, *middles])[:num_starts]
    num_more = num_starts - len(places)
    if not num_more:
        return places
    generator = torch.Generator().manual_seed(0)  # a reading is the same each time
    directions = torch.randn(num_more, 1, means.shape[-1], generator=generator).to(means)
    parts = means[-NUM_PARTS:]
    parts = parts.repeat(num_more // len(parts) + 1, 1, 1)[:num_more]
    std = (0.5 * views.log_var[0]).exp()
    return torch.cat([places, parts + directions * std])


class Choice(NamedTuple):
    """The candidate that each cue means."""

    address_codes: Tensor
    """(T, Y)."""
    posterior: Gaussian
    """q(y|view) of the view of the cue that led there, over (T, Y)."""
    lead: Tensor
    """The log-odds that this is the right item, (T,); without a ranking, by how much its merit is
    above the next one's."""

    def replaced(self, which: Tensor, others: "Choice") -> "Choice":
        """With the choices of others for the cues with the numbers `which`."""
        pairs = zip((self[0], *self[1], self[2]), (others[0], *others[1], others[2]), strict=True)
        places, mean, log_var, lead = (old.index_copy(0, which, new) for old, new in pairs)
        return Choice(places, Gaussian(mean, log_var), lead)


def compared(
    candidates: Candidates,
    cues: Tensor,
    ranking: Ranking,
    decode: Callable[[Tensor], Tensor],
) -> Candidates:
    """The candidates with the log-odds of all of them; only the new ones are decoded.

    Args:
        candidates: what was found, different items.
        cues: (T, channels, H, W).
        ranking: what compares images.
        decode: the images (N, channels, H, W) that are read at address codes (N, Y).

    """
    is_item = ~candidates.merit.isneginf()
    is_new = is_item & candidates.log_odds.isnan()
    if not is_new.any():
        return candidates
    asked = cues.expand(len(is_new), *cues.shape)[is_new]
    images = decode(candidates.address_codes[is_new])
    seen = features(candidates.distance[is_new], candidates.log_var[is_new], asked, images)
    return candidates._replace(log_odds=candidates.log_odds.masked_scatter(is_new, ranking(seen)))


def choose(candidates: Candidates, *, by_image: bool) -> Choice:
    """The candidate that fits each cue best: by the log-odds of `compared`, or by merit."""
    scores = candidates.log_odds if by_image else candidates.merit
    scores = scores.masked_fill(candidates.merit.isneginf(), -math.inf)
    best = scores.argmax(0, keepdim=True)
    rivals = scores.scatter(0, best, -math.inf)
    if by_image:  # one more rival: none of these
        rivals = torch.cat([rivals, torch.zeros_like(rivals[:1])]).logsumexp(0)
    else:
        rivals = rivals.amax(0)
    lead = (scores.gather(0, best)[0] - rivals).clamp(-MAX_LEAD, MAX_LEAD)
    chosen = candidates.chosen(best)
    posterior = Gaussian(*(part[0] for part in chosen.posterior))
    return Choice(chosen.address_codes[0], posterior, lead)
