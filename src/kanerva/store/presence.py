"""Whether a vector is in memory: the odds from a cue and its reading, in closed form.

Shapes: T cues, E half-lives in which items were written, D size of a vector, K rows of a block.
"""

from typing import NamedTuple

import numpy as np

from kanerva.store.arrays import unit_length
from kanerva.store.exact_sums import Floats
from kanerva.store.item_coder import Block
from kanerva.store.plan import VectorPlan
from kanerva.store.recall_theory import cue_similarity

MAX_CORRELATION = 0.99
"""Largest assumed correlation of cue and reading: beyond it, small deviations would decide."""
SHARES = (1.0, 0.9, 0.75, 0.5)
"""Shares of the expected correlation, equally likely: some items and cues have more noise."""


class Presence(NamedTuple):
    """What is expected of a reading if the cue's vector was written, and if it was not.

    The entries of codes are taken as random with variance t^2. What is left of item i is f_i, which
    is 1 without fading. With A = sum f_i w_i w_i' + l I, a reading of weights w is
    r = sum over items of f_i (w' A^-1 w_i) z_i, so every entry of it has the variance t^2 g with
    g = w' A^-1 (sum f_i^2 w_i w_i') A^-1 w, whether the vector was written or not. If it was, its
    own code is in the sum, with a factor c = a f h: h is the mean of w_i' A^-1 w_i over the items,
    and a is how similar the weights of a noisy cue are. Then cue and reading correlate with
    c / sqrt((1 + d^2) g), where d is the noise of cues. The odds are the mean over several `SHARES`
    of this correlation.

    A cue that was never written correlates with its reading a little too: weights are partly linear
    in the vector, so a memory of vectors partly hands back its cue.

    Fading is forgetting: an item of which f is left counts as in memory with the probability f. The
    older an item is, the more must its reading say, and what has faded away is not known.
    """

    variance: float
    """t^2."""
    reading: Floats
    """g, (T,)."""
    of_any: Floats
    """Correlation of cue and reading for any cue, (T,)."""
    of_written: Floats
    """How much more it is for a cue that was written in each half-life, (E, T)."""
    log_weights: Floats
    """ln of the weight of each half-life in the odds, (E,)."""

    @classmethod
    def of(
        cls, weights: Floats, cov: Floats, block: Block, plan: VectorPlan, *, slope: float
    ) -> "Presence":
        """From closed forms: A^-1 = U / l, and W' W A^-1 = I - U without fading.

        `slope` is how much of a cue of length 1 any reading contains.
        """
        tiny = np.finfo(np.float64).tiny
        spread = weights @ cov
        if block.squared_gram is None:
            energy = ((weights - spread) * spread).sum(1) / plan.noise_var
        else:
            energy = ((spread @ block.squared_gram) * spread).sum(1) / plan.noise_var**2
        reading = np.maximum(energy, tiny)
        left = np.array([age.left for age in block.ages])
        counts = left * np.array([age.count for age in block.ages])
        own = np.minimum(left * block.rows_used / counts.sum(), 1.0)
        share = cue_similarity(plan.scale, plan.cue_noise) * own[:, None]
        variance = max(1 / plan.size if plan.value_size else block.mean_square, tiny)
        # A cue asks for items in proportion to what is left of them.
        in_memory = counts / counts.sum() * np.minimum(left, 1.0)
        return cls(
            variance,
            reading,
            np.clip(slope / np.sqrt(plan.size * variance * reading), -0.9, 0.9),
            share / np.sqrt((1 + plan.cue_noise**2) * reading),
            np.log(in_memory),
        )

    def log_odds(self, cues: Floats, readings: Floats, plan: VectorPlan) -> Floats:
        """ln p(cue, reading | written) / p(cue, reading | not written), (T,)."""
        scale = np.sqrt(self.variance) * np.sqrt(self.reading)
        qrr = ((readings / scale[:, None]) ** 2).sum(1)
        qxr = np.sqrt(plan.size) * (unit_length(cues) * readings).sum(1) / scale
        # What was written often has one code in many terms, so its reading is longer than expected.
        longer = np.maximum(qrr / plan.size, 1.0)
        qrr, qxr = qrr / longer, qxr / np.sqrt(longer)

        def log_density(rho: Floats) -> Floats:
            """Of two normal numbers for each entry; only the direction of a cue counts."""
            left = 1 - rho**2
            squares = (plan.size - 2 * rho * qxr + qrr) / left
            # Entries that depend on each other count as fewer.
            return -0.5 * plan.effective_size * (np.log(left) + squares / plan.size)

        written = [
            weight
            - np.log(len(SHARES))
            + log_density(np.minimum(self.of_any + share * more, MAX_CORRELATION))
            for weight, more in zip(self.log_weights, self.of_written, strict=True)
            for share in SHARES
        ]
        return np.logaddexp.reduce(written, axis=0) - log_density(self.of_any)
