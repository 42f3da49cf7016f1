"""The safe Cholesky: plain, then jitter with a warning, then a typed error."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cases import random_case
from kanerva import JitterWarning, KanervaError, NotPositiveDefiniteError, linalg


def nearly_singular(shift: float) -> torch.Tensor:
    """Rank one plus `shift` times the identity."""
    ones = torch.ones(4, 4, dtype=torch.float64)
    return ones + shift * torch.eye(4, dtype=torch.float64)


def test_plain_factor_is_untouched():
    cov = random_case((3, 2)).cov
    factor = linalg.cholesky(cov, name="cov")
    assert torch.equal(factor, torch.linalg.cholesky(cov))


def test_jitter_escalates_and_says_so():
    with pytest.warns(JitterWarning, match=r"the system .* added 1e-1[45] "):
        linalg.cholesky(nearly_singular(-1e-15), name="the system")
    with pytest.warns(JitterWarning, match="added 1e-08"):
        factor = linalg.cholesky(nearly_singular(-1e-9), name="the system")
    torch.testing.assert_close(factor @ factor.mT, nearly_singular(0), rtol=0, atol=1e-7)


def test_jitter_touches_only_what_fails():
    good = random_case(num_rows=4).cov
    batch = torch.stack([good, nearly_singular(-1e-9)])
    with pytest.warns(JitterWarning):
        factor = linalg.cholesky(batch, name="the system")
    assert torch.equal(factor[0], torch.linalg.cholesky(good))


@pytest.mark.parametrize("bad", [nearly_singular(-1e-3), nearly_singular(torch.nan)])
def test_beyond_jitter_is_a_typed_error(bad):
    """No warning comes before it: warnings are errors in tests."""
    with pytest.raises(NotPositiveDefiniteError, match="Raise noise_var") as caught:
        linalg.cholesky(bad, name="the system")
    assert isinstance(caught.value, KanervaError)


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_one_by_one_systems_are_checked_too(value):
    matrix = torch.full((2, 1, 1), value, dtype=torch.float64)
    with pytest.raises(NotPositiveDefiniteError):
        linalg.cholesky(matrix, name="the system")


def test_one_by_one_is_the_square_root():
    matrix = torch.tensor([[[4.0]], [[9.0]]], dtype=torch.float64)
    factor = linalg.cholesky(matrix, name="the system")
    assert factor.flatten().tolist() == [2, 3]
    rhs = torch.ones(2, 1, 3, dtype=torch.float64)
    assert torch.equal(linalg.solve_lower(factor, rhs)[0], rhs[0] / 2)


def test_strongest_directions_split_a_gram_matrix():
    matrix = random_case((3,), num_items=9).weights.mT
    kept, dropped = linalg.split_leading_directions(matrix, 2)
    assert kept.shape[-1] == 2
    torch.testing.assert_close(kept @ kept.mT + dropped @ dropped.mT, matrix @ matrix.mT)
    values = torch.linalg.eigvalsh(matrix @ matrix.mT)
    torch.testing.assert_close(kept.square().sum((-2, -1)), values[..., -2:].sum(-1))


def test_square_root_of_a_semi_definite_matrix():
    thin = random_case(num_items=2).weights.mT
    gram = thin @ thin.mT
    root = linalg.square_root(gram)
    torch.testing.assert_close(root @ root.mT, gram)


@given(st.lists(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4), min_size=1, max_size=4))
def test_shapes_broadcast_as_in_torch(shapes):
    sizes = [torch.Size(shape) for shape in shapes]
    try:
        expected = torch.broadcast_shapes(*sizes)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="broadcast"):
            linalg.broadcast_shapes(*sizes)
    else:
        assert linalg.broadcast_shapes(*sizes) == expected


def test_writing_does_not_wait_for_sympy():
    """torch.broadcast_shapes would import it, for seconds in a fresh process."""
    code = (
        "import sys, torch; from kanerva import MemoryState, condition;"
        "prior = MemoryState(torch.zeros(2, 1), torch.eye(2));"
        "condition(prior, torch.ones(3, 1, 2), torch.ones(3, 1, 1));"
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
