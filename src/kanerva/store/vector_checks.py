"""Checks of vectors that a user passes."""

import numpy as np
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.store.exact_sums import Floats


def checked_vectors(argument: str, vectors: object, size: int) -> Floats:
    """Vectors (T, size) of finite numbers in float64."""
    if isinstance(vectors, Tensor):
        array = vectors.detach().cpu().double().numpy() if not vectors.is_complex() else None
    elif isinstance(vectors, np.ndarray) and vectors.dtype.kind in "fiu":
        array = vectors.astype(np.float64)
    else:
        array = None
    if array is None or array.ndim != 2 or array.shape[1] != size:
        shape = getattr(vectors, "shape", None)
        got = type(vectors).__name__ if shape is None else f"shape {tuple(shape)}"
        raise KanervaError(
            argument,
            expected=f"a tensor or array of real numbers with shape (T, {size})",
            got=got,
            fix=f"One vector is vectors[None]; this memory takes {size} numbers for each.",
        )
    bad = ~np.isfinite(array)
    if bad.any():
        raise KanervaError(
            argument,
            expected="finite numbers",
            got=f"{int(bad.sum())} NaN or Inf, first in row {int(bad.any(1).argmax())}",
            fix="Leave those vectors out.",
        )
    return array
