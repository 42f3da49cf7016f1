"""Values as JSON can hold them. Nothing here imports torch."""

import math
from collections.abc import Mapping


def in_json(value: object) -> object:
    """The same value with None for numbers that JSON cannot hold (infinite, or not a number).

    Example:
        >>> from kanerva.json_values import in_json
        >>> in_json({"bound": float("nan"), "steps": (1, 2)})
        {'bound': None, 'steps': [1, 2]}

    """
    if isinstance(value, Mapping):
        return {key: in_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
