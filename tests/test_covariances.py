"""Row covariances: one suite that every representation inherits, then what is special to each."""

from abc import ABC, abstractmethod

import pytest
import torch
from torch import Tensor

from cases import BATCHES, C, K, T, assert_same_memory, random_case, random_var, relative_error
from kanerva import (
    DiagonalCovariance,
    Evidence,
    FullCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    condition,
    log_evidence,
    memory_kl,
    predict,
)
from kanerva.memory import RowCovariance


class CovarianceSuite(ABC):
    """What holds for every representation, against the dense full covariance."""

    exact: bool
    """Whether a chain of writes is equal to one write of the whole episode."""

    @abstractmethod
    def make(self, batch: tuple[int, ...]) -> RowCovariance:
        """A covariance of K rows with these leading dimensions."""

    @pytest.fixture(params=BATCHES, ids=str)
    def batch(self, request) -> tuple[int, ...]:
        return request.param

    @pytest.fixture
    def row_cov(self, batch) -> RowCovariance:
        return self.make(batch)

    @pytest.fixture
    def prior(self, row_cov, batch) -> MemoryState:
        return MemoryState(random_case(batch).mean, row_cov)

    @pytest.fixture
    def dense_prior(self, row_cov, batch) -> MemoryState:
        return MemoryState(random_case(batch).mean, row_cov.dense())

    def test_dense_is_a_covariance(self, row_cov, batch):
        dense = row_cov.dense()
        assert dense.shape == (*batch, K, K)
        torch.testing.assert_close(dense, dense.mT)
        assert torch.linalg.eigvalsh(dense).min() > 0

    def test_cross_cov_is_the_dense_product(self, row_cov, batch):
        W = random_case(batch, seed=5).weights
        torch.testing.assert_close(row_cov.cross_cov(W), W @ row_cov.dense())

    def test_reading(self, prior, dense_prior, batch):
        W = random_case(batch, seed=5).weights
        torch.testing.assert_close(predict(prior, W), predict(dense_prior, W))

    @pytest.mark.parametrize("num_items", [1, T, 3 * K])
    def test_one_write_has_the_exact_mean(self, prior, dense_prior, batch, num_items):
        case = random_case(batch, seed=5, num_items=num_items)
        code_var = random_var(*batch, num_items)
        post = condition(prior, *case.episode, code_var=code_var)
        exact = condition(dense_prior, *case.episode, code_var=code_var)
        torch.testing.assert_close(post.mean, exact.mean)
        assert type(post.row_cov) is type(prior.row_cov)

    @pytest.mark.parametrize("num_items", [T, 3 * K])
    def test_evidence_is_the_same_write(self, prior, batch, num_items):
        case = random_case(batch, seed=5, num_items=num_items)
        evidence = Evidence.of(*case.episode)
        assert_same_memory(evidence.posterior(prior), condition(prior, *case.episode))

    def test_writing_shrinks_and_stays_positive_definite(self, prior, batch):
        case = random_case(batch, seed=5, num_items=40)
        post = condition(prior, *case.episode, noise_var=0.01, chunk=3)
        assert torch.linalg.eigvalsh(post.cov).min() > 0
        before, after = (m.cov.diagonal(dim1=-2, dim2=-1) for m in (prior, post))
        assert (after < before).all()

    def test_chunks(self, prior, dense_prior, batch):
        case = random_case(batch, seed=5, num_items=20)
        chunked = condition(prior, *case.episode, chunk=1)
        exact = condition(dense_prior, *case.episode)
        assert (relative_error(chunked.mean, exact.mean) < 1e-9) == self.exact
        assert relative_error(chunked.mean, exact.mean) < 0.75

    def test_a_covariance_per_column(self, prior, dense_prior, batch):
        case = random_case(batch, seed=5)
        code_var = random_var(*batch, T, C)
        post = condition(prior, *case.episode, code_var=code_var, per_column=True)
        exact = condition(dense_prior, *case.episode, code_var=code_var, per_column=True)
        torch.testing.assert_close(post.mean, exact.mean)
        assert post.cov.shape == (*batch, C, K, K)

    @pytest.mark.parametrize("num_items", [T, 3 * K])
    def test_the_rest_of_the_algebra(self, prior, dense_prior, batch, num_items):
        case = random_case(batch, seed=5, num_items=num_items)
        evidence = log_evidence(prior, *case.episode)
        torch.testing.assert_close(evidence, log_evidence(dense_prior, *case.episode))
        nats = memory_kl(prior, case.prior)
        torch.testing.assert_close(nats, memory_kl(dense_prior, case.prior))

    def test_results_have_the_dtype_of_the_arguments(self, batch):
        row_cov = self.make(batch).map_tensors(Tensor.float)
        state = MemoryState(random_case(batch).mean.float(), row_cov)
        assert state.mean.dtype == state.cov.dtype == torch.float32
        wide = state.to(torch.float64)
        assert wide.mean.dtype == torch.float64
        assert not wide.detach().mean.requires_grad


class TestFull(CovarianceSuite):
    exact = True

    def make(self, batch):
        return FullCovariance(random_case(batch, seed=2).cov)


class TestDiagonal(CovarianceSuite):
    exact = False

    def make(self, batch):
        return DiagonalCovariance(random_var(*batch, K))

    def test_one_write_has_the_exact_variances(self, prior, dense_prior, batch):
        case = random_case(batch, seed=5, num_items=3)
        post, exact = (condition(p, *case.episode) for p in (prior, dense_prior))
        torch.testing.assert_close(post.cov, torch.diag_embed(exact.cov.diagonal(dim1=-2, dim2=-1)))


class TestLowRankUnwritten(CovarianceSuite):
    exact = False

    def make(self, batch):
        return LowRankCovariance(random_var(*batch, K), rank=2)


class TestLowRankWritten(CovarianceSuite):
    exact = False

    def make(self, batch):
        factor = random_case(batch, seed=8, num_items=2).weights.mT
        return LowRankCovariance(random_var(*batch, K), rank=2, factor=factor)

    def test_its_inverse_is_diagonal_plus_low_rank(self, row_cov):
        assert isinstance(row_cov, LowRankCovariance)
        assert row_cov.factor is not None
        inverse = torch.diag_embed(1 / row_cov.variances) + row_cov.factor @ row_cov.factor.mT
        torch.testing.assert_close(row_cov.dense(), torch.linalg.inv(inverse))


class TestLowRankWithRoom(CovarianceSuite):
    """There is enough rank for all items, so it is exact."""

    exact = True

    def make(self, batch):
        return LowRankCovariance(random_var(*batch, K), rank=64)


def test_low_rank_is_exact_up_to_its_rank_and_better_than_diagonal_beyond():
    num_rows, num_items = 32, 24
    case = random_case((8,), num_rows=num_rows, num_items=num_items)
    variances = torch.ones(num_rows, dtype=torch.float64)

    def error(row_cov: RowCovariance) -> float:
        prior = MemoryState(case.mean, row_cov)
        exact = condition(MemoryState(case.mean, row_cov.dense()), *case.episode)
        return relative_error(condition(prior, *case.episode, chunk=1).mean, exact.mean)

    errors = [error(LowRankCovariance(variances, rank=rank)) for rank in (4, 8, 16, 24)]
    assert errors[-1] < 1e-9
    assert errors == sorted(errors, reverse=True)
    assert errors[1] < error(DiagonalCovariance(variances))


@pytest.mark.parametrize("rank", [1.5, -1, 0, True])
def test_a_wrong_rank_is_refused_at_once(rank):
    with pytest.raises(KanervaError, match=r"rank: .*rank=8"):
        LowRankCovariance(torch.ones(3), rank=rank)
