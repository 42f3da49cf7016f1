"""The one place that factorises, and the memory's own precision.

Every function of the memory works in float64, whatever precision surrounds it. Learned weights
grow, and the T x T system W U W' + s2 I then loses positive definiteness in float32; products of
float32 numbers are exact in float64, and float64 tensors are touched neither by autocast nor by
TF32. Callers see their own dtype: they pass it in and get it back.

There is no explicit inverse here, only triangular solves.
"""

from kanerva.linalg.factors import (
    cholesky,
    is_capturing_graph,
    is_positive_definite,
    log_det,
    rounded_covariance,
    solve,
    solve_and_project,
    solve_lower,
    solve_upper,
)
from kanerva.linalg.products import (
    WORKING_DTYPE,
    add_diagonal,
    add_diagonal_,
    concatenate_columns,
    subtract_gram,
    subtract_product,
    symmetrise,
    to_float64,
)
from kanerva.linalg.spectrum import (
    smallest_eigenvalue,
    split_leading_directions,
    square_root,
)

__all__ = [
    "WORKING_DTYPE",
    "add_diagonal",
    "add_diagonal_",
    "cholesky",
    "concatenate_columns",
    "is_capturing_graph",
    "is_positive_definite",
    "log_det",
    "rounded_covariance",
    "smallest_eigenvalue",
    "solve",
    "solve_and_project",
    "solve_lower",
    "solve_upper",
    "split_leading_directions",
    "square_root",
    "subtract_gram",
    "subtract_product",
    "symmetrise",
    "to_float64",
]
