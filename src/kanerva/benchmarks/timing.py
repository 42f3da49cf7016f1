"""Times of several functions, measured in turn so that a noisy machine disturbs all of them alike.

Other processes and the kernel can only add time. So the ratio of two functions is that of the
fastest round of each.
"""

import statistics
import time
from collections.abc import Callable


def time_in_turn(num_rounds: int, *functions: Callable[[], object]) -> list[list[float]]:
    """Seconds of each function in each round, after one round to warm up."""
    times: list[list[float]] = [[] for _ in functions]
    for number in range(num_rounds + 1):
        for function, seconds in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            if number:
                seconds.append(time.perf_counter() - start)
    return times


def fastest_ratio(above: list[float], below: list[float]) -> float:
    """The fastest time of one function over the fastest of another."""
    return min(above) / min(below)


def median_ratio(above: list[float], below: list[float]) -> float:
    """The median over rounds of the ratio of two functions."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
