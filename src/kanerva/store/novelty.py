"""How much a memory would learn from an item, before it is written.

Shapes: T items, K rows.
"""

import numpy as np

from kanerva.store.exact_sums import Floats


def information_gains(
    weights: Floats, cov: Floats, *, noise_var: float, code_size: int, at_least: float = 0.0
) -> Floats:
    """The information gain of each item in nats, given the memory and the items before it, (T,).

    It is the mutual information of the memory and an item's code, C / 2 ln(1 + w' U w / s2), which
    does not depend on the code itself. Items with a gain below `at_least` do not count for those
    after them: they will not be written.
    """
    # A Cholesky factor of I + W U W' / s2, row by row; rows that are left out stay empty.
    kernel = (weights @ cov) @ weights.T / noise_var
    T = len(kernel)
    factor = np.zeros((T, T))
    gains = np.zeros(T)
    for t in range(T):
        left = 1 + kernel[t, t] - (factor[t, :t] ** 2).sum()
        gains[t] = max(0.0, 0.5 * code_size * np.log(max(left, 1.0)))
        if gains[t] < at_least:
            factor[t + 1 :, t] = 0
            continue
        factor[t, t] = np.sqrt(max(left, 1.0))
        column = kernel[t + 1 :, t] - factor[t + 1 :, :t] @ factor[t, :t]
        factor[t + 1 :, t] = column / factor[t, t]
    return gains
