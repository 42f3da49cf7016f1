"""The one place that factorises, and the memory's own precision.

Every function of the memory works in float64, whatever precision surrounds it. Learned weights
grow, and the T x T system W U W' + s2 I then loses positive definiteness in float32; products of
float32 numbers are exact in float64, and float64 tensors are touched neither by autocast nor by
TF32. Callers see their own dtype: they pass it in and get it back.

There is no explicit inverse here, only triangular solves.
"""

from kanerva.linalg.factors import (
    cholesky,
    is_positive_definite,
    is_recording,
    log_det,
    rounded_covariance,
    solve,
    solve_lower,
    solve_upper,
    whiten_and_weigh,
)
from kanerva.linalg.products import (
    WORKING_DTYPE,
    add_diagonal,
    join_columns,
    minus_gram,
    minus_product,
    plus_diagonal,
    symmetrise,
    widen,
)
from kanerva.linalg.spectrum import (
    smallest_eigenvalue,
    square_root,
    strongest_directions,
)

__all__ = [
    "WORKING_DTYPE",
    "add_diagonal",
    "cholesky",
    "is_positive_definite",
    "is_recording",
    "join_columns",
    "log_det",
    "minus_gram",
    "minus_product",
    "plus_diagonal",
    "rounded_covariance",
    "smallest_eigenvalue",
    "solve",
    "solve_lower",
    "solve_upper",
    "square_root",
    "strongest_directions",
    "symmetrise",
    "whiten_and_weigh",
    "widen",
]
