"""Linear algebra in float64. All matrix factorisations of the package are here.

Every function of the memory works in float64, whatever the precision of the code around it. Learned
weights grow, and then the T x T system W U W' + sigma^2 I loses positive definiteness in float32.
Products of float32 numbers are exact in float64, and neither autocast nor TF32 changes float64
tensors. Callers do not see this: results have the dtype of the arguments.

There is no explicit inverse here, only triangular solves.
"""

from kanerva.linalg.factors import (
    cholesky,
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
    broadcast_shapes,
    concatenate_columns,
    squared_length,
    subtract_gram,
    subtract_product,
    symmetrise,
    to_float64,
)
from kanerva.linalg.spectrum import (
    eigenvalues,
    eigenvectors,
    smallest_eigenvalue,
    split_leading_directions,
    square_root,
)
from kanerva.linalg.values import (
    any_true,
    is_capturing_graph,
    is_differentiating,
    is_transforming,
    numbers,
)

__all__ = [
    "WORKING_DTYPE",
    "add_diagonal",
    "add_diagonal_",
    "any_true",
    "broadcast_shapes",
    "cholesky",
    "concatenate_columns",
    "eigenvalues",
    "eigenvectors",
    "is_capturing_graph",
    "is_differentiating",
    "is_positive_definite",
    "is_transforming",
    "log_det",
    "numbers",
    "rounded_covariance",
    "smallest_eigenvalue",
    "solve",
    "solve_and_project",
    "solve_lower",
    "solve_upper",
    "split_leading_directions",
    "square_root",
    "squared_length",
    "subtract_gram",
    "subtract_product",
    "symmetrise",
    "to_float64",
]
