"""What the numbers of a plan must be, whether `plan_vectors` or somebody else chose them."""

import math
from collections.abc import Mapping

from kanerva.checks import check_integer, check_number
from kanerva.errors import KanervaError

MAX_FEATURES = 2**26
"""They are in memory while a store is open, and take fifty bytes each while they are made."""
FIX = "plan_vectors(num_items, size) chooses it."


def check_plan(fields: Mapping[str, object]) -> None:
    """Refuse a plan with these fields if nothing could be written or read with it."""

    def whole(name: str, least: int, most: int) -> int:
        value = fields[name]
        check_integer(name, value, at_least=least, at_most=most, fix=FIX)
        assert isinstance(value, int)
        return value

    def number(name: str, *, above: float | None = None, least: float | None = None) -> None:
        value = fields[name]
        check_number(name, value, above=above, at_least=least, at_most=1e12, fix=FIX)

    whole("num_items", 1, 10**9)
    size = whole("size", 1, 10**6)
    whole("value_size", 0, 10**6)
    num_rows = whole("num_rows", 1, MAX_FEATURES)
    num_blocks = whole("num_blocks", 1, MAX_FEATURES)
    whole("num_probes", 1, num_blocks)
    whole("code_exponent", -400, 400)
    whole("seed", 0, 2**63 - 1)
    for name in ("scale", "noise_var", "effective_size"):
        number(name, above=0)
    number("cue_noise", least=0)
    check_features(size, num_rows, num_blocks)
    centre = fields["centre"]
    if centre is not None and not (
        isinstance(centre, tuple)
        and len(centre) == size
        and all(isinstance(one, float) and math.isfinite(one) for one in centre)
    ):
        raise KanervaError(
            "centre",
            expected=f"a tuple of {size} finite numbers of Python, or None",
            got=f"{type(centre).__name__} {centre}"[:80],
            fix="plan_vectors(..., sample=vectors) learns it.",
        )


def check_features(size: int, num_rows: int, num_blocks: int) -> None:
    """Refuse more random features than fit into memory."""
    numbers = size * (num_rows + num_blocks)
    if numbers > MAX_FEATURES:
        raise KanervaError(
            "num_items",
            expected=f"a memory with at most {MAX_FEATURES:,} numbers in its random features",
            got=f"{numbers:,} for {num_blocks:,} blocks of vectors with {size:,} entries",
            fix="Use fewer rows per item, or several memories.",
        )
