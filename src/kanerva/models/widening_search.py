"""Which item each cue means: a short search first, and a wider one where that leaves a doubt.

Most cues are near their item. For the others three stages follow, each only for the cues that are
still in doubt: items next to the one that was found, items near other views of the cue (which have
to be encoded), and items around all of these.

Shapes: T cues, V views, Y address code size.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.models.item_search import Candidates, Choice, ItemSearch, choose, compared
from kanerva.models.ranking import Ranking
from kanerva.models.views import NUM_VIEWS

SURE = {"own": 5.0, "next": 4.0, "views": 4.0}
"""Log-odds of an item from which on the search ends after each stage. To look once more is cheap
early on."""
MOST_STARTS = {"own": 1, "next": 3, "views": NUM_VIEWS - 1}
"""How many searches begin at the cue's own address, pass over what was found from there, and begin
at the addresses of its other views. All others begin around these."""
WIDEST = "around"
"""The last stage."""
MOST_CANDIDATES = {WIDEST: 12}
"""How many items are compared with a cue after a stage, where they are not the usual number."""


class Asked(NamedTuple):
    """Cues, and what was found for them."""

    cues: Tensor
    """(T, channels, H, W)."""
    views: Gaussian
    """q(y|view) of the views that were encoded, over (V, T, Y); the cue itself first."""
    known: Candidates | None
    """Different items."""

    def of_cues(self, which: Tensor) -> "Asked":
        """Those with the numbers `which`."""
        views = Gaussian(*(part[:, which] for part in self.views))
        known = None if self.known is None else self.known.of_cues(which)
        return Asked(self.cues[which], views, known)


class WideningSearch:
    """Finds which item each cue means in one memory.

    Args:
        items: finds items near addresses.
        views_of: q(y|view) of so many views of cues besides the cues themselves.
        decode: the images (..., channels, H, W) that are read at address codes (..., Y).
        ranking: what compares images; None to choose by address alone, and after all stages.

    """

    def __init__(
        self,
        items: ItemSearch,
        *,
        views_of: Callable[[Tensor, int], Gaussian],
        decode: Callable[[Tensor], Tensor],
        ranking: Ranking | None,
    ) -> None:
        self.items = items
        self.views_of = views_of
        self.decode = decode
        self.ranking = ranking

    def choose(self, cues: Tensor, view: Gaussian, num_starts: int) -> Choice:
        """The item that each cue means.

        Args:
            cues: (T, channels, H, W).
            view: q(y|cue), as wide as damage makes it, over (T, Y).
            num_starts: how many searches for a cue whose item stays in doubt.

        """
        asked = Asked(cues, Gaussian(*(part[None] for part in view)), None)
        which, choice = torch.arange(len(cues), device=cues.device), None
        for stage, num in stages(num_starts):
            asked = self.compared(self.widened(asked, stage, num))
            found = self.chosen(asked)
            choice = found if choice is None else choice.replaced(which, found)
            unsure = self.in_doubt(found, stage)
            if not len(unsure):
                break
            which, asked = which[unsure], asked.of_cues(unsure)
        assert choice is not None
        return choice

    def chosen(self, asked: Asked) -> Choice:
        """The best of what is known about each cue, after `compared`."""
        assert asked.known is not None
        return choose(asked.known, by_image=self.ranking is not None)

    def in_doubt(self, choice: Choice, stage: str) -> Tensor:
        """The numbers of the cues for which the search has to go on after a stage."""
        sure = math.inf if self.ranking is None else SURE.get(stage, -math.inf)
        return (choice.lead < sure).nonzero()[:, 0]

    def compared(self, asked: Asked) -> Asked:
        """With the log-odds of all that is known, if there is a ranking."""
        if self.ranking is None:
            return asked
        assert asked.known is not None
        known = compared(asked.known, asked.cues, self.ranking, self.decode)
        return asked._replace(known=known)

    def widened(self, asked: Asked, stage: str, num: int) -> Asked:
        """What is known after one more stage of so many searches."""
        views, known = asked.views, asked.known
        if stage == "views":
            others = self.views_of(asked.cues, num)
            pairs = zip(views, others, strict=True)
            views = Gaussian(*(torch.cat([own[:1], other]) for own, other in pairs))
            found = self.items.at_views(others)
        elif known is None:
            found = self.items.at_views(views)
        elif stage == "next":
            found = self.items.next_to(Gaussian(*(part[0] for part in views)), known, num)
        else:
            found = self.items.around(views, known, num)
        joined = found if known is None else known.joined(found)
        return Asked(asked.cues, views, self.items.different(joined, MOST_CANDIDATES.get(stage)))


def stages(num_starts: int) -> list[tuple[str, int]]:
    """The stages of a search with so many starts for each cue, and how many each of them has."""
    left, parts = num_starts, []
    for stage, most in MOST_STARTS.items():
        parts.append((stage, min(most, left)))
        left -= parts[-1][1]
    return [(stage, num) for stage, num in (*parts, (WIDEST, left)) if num]
