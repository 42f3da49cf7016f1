"""How well random features recall: the error that a planner can predict without any data.

n items with random codes of variance 1 are written into K rows with weights W (n, K), by ridge
regression with the noise variance l of the memory. Then the matrix H = W W' (W W' + l)^-1 maps what
was written to what is read. The eigenvalues of W W' follow the law of Marchenko and Pastur (1967)
with ratio g = n / K, whose moments have closed forms.
"""

import math
from typing import NamedTuple


class Recall(NamedTuple):
    """Averages over the items of a memory."""

    own: float
    """Mean of H_ii: how much of an item's own code is in its reading."""
    energy: float
    """Mean of (H H)_ii: the squared length of a reading of an exact cue."""
    leak: float
    """Squared length of what is read with weights that have nothing to do with the items."""

    def squared_error(self, similarity: float) -> float:
        """Mean squared error of a reading, relative to the squared length of the code.

        The weights of a noisy cue are a w + sqrt(1 - a^2) u, where `similarity` is a, w are the
        weights of the item, and u points in a random direction.
        """
        a = similarity
        return 1 - 2 * a * self.own + a * a * self.energy + (1 - a * a) * self.leak


def expected_recall(items_per_row: float, noise_var: float) -> Recall:
    """The averages for n / K items per row and the noise variance l.

    m = mean of 1 / (eigenvalue + l) solves g l m^2 + (1 - g + l) m - 1 = 0.
    """
    g, l = items_per_row, noise_var  # noqa: E741
    b = 1 - g + l
    root = math.sqrt(b * b + 4 * g * l)
    m = 2 / (b + root) if b > 0 else (root - b) / (2 * g * l)
    slope = (g * m * m + m) / root  # mean of 1 / (eigenvalue + l)^2
    return Recall(
        own=1 - l * m,
        energy=1 - 2 * l * m + l * l * slope,
        leak=g * (m - l * slope),
    )


def best_noise_var(items_per_row: float, similarity: float) -> float:
    """The noise variance with the smallest expected error."""
    return min(
        (10 ** (power / 20) for power in range(-100, 41)),
        key=lambda noise_var: expected_recall(items_per_row, noise_var).squared_error(similarity),
    )


def cue_similarity(scale: float, cue_noise: float) -> float:
    """a: the inner product of the weights of a vector and of the same vector with noise.

    The noise has `cue_noise` times the length of the vector and is at right angles to it.
    """
    return math.exp(-(scale**2) * (1 - 1 / math.hypot(1, cue_noise)))
