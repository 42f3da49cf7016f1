"""Memory states: empty episodes, copies, pickles, and nothing shared with the caller."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch

from cases import C, K, random_case
from kanerva import Evidence, MemoryState, condition, log_evidence, predict

F64 = torch.float64
case = random_case()
prior, W, Z = case.prior, case.weights, case.codes


def pickled(state: MemoryState) -> MemoryState:
    return pickle.loads(pickle.dumps(state))


def saved(state: MemoryState) -> MemoryState:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("batch", [(), (4,), (3, 2)])
def test_an_empty_episode_gives_the_prior_back(batch):
    prior = random_case(batch).prior
    weights, codes = torch.zeros(*batch, 0, K, dtype=F64), torch.zeros(*batch, 0, C, dtype=F64)
    for chunk in (None, 1):
        post = condition(prior, weights, codes, chunk=chunk)
        assert torch.equal(post.mean, prior.mean)
        assert torch.equal(post.cov, prior.cov)
    evidence = Evidence.of(weights, codes)
    assert evidence.count == 0
    assert torch.equal(evidence.posterior(prior).mean, prior.mean)
    assert torch.equal(evidence.posterior(prior).cov, prior.cov)
    assert torch.equal(log_evidence(prior, weights, codes), torch.zeros(batch, dtype=F64))
    per_column = condition(prior, weights, codes, per_column=True)
    assert torch.equal(per_column.mean, prior.mean)
    assert predict(prior, weights).mean.shape == (*batch, 0, C)
    assert predict(prior, weights).var.shape == (*batch, 0)


def test_an_empty_episode_takes_the_batch_of_the_episode():
    post = condition(prior, torch.zeros(4, 0, K, dtype=F64), torch.zeros(4, 0, C, dtype=F64))
    assert post.mean.shape == (4, K, C)
    assert torch.equal(post.cov[3], case.cov)


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, pickled, saved])
@pytest.mark.parametrize("per_column", [False, True])
def test_states_survive_copying_and_pickling(through, per_column):
    state = condition(prior, W, Z, per_column=per_column)
    copied = through(state)
    assert torch.equal(copied.mean, state.mean)
    assert torch.equal(copied.cov, state.cov)
    assert torch.equal(predict(copied, W).var, predict(state, W).var)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_states_share_nothing_with_their_caller(dtype):
    mean, cov = torch.zeros(2, 1, dtype=dtype), torch.eye(2, dtype=dtype)
    state = MemoryState(mean, cov)
    mean.add_(1)
    cov.neg_()
    state.mean.add_(1)
    condition(state, torch.zeros(0, 2, dtype=dtype), torch.zeros(0, 1, dtype=dtype)).mean.add_(1)
    assert torch.equal(state.mean, torch.zeros(2, 1, dtype=dtype))
    assert torch.equal(state.cov, torch.eye(2, dtype=dtype))


def test_numpy_numbers_are_accepted():
    number: Any = np.float32(0.5)  # a type checker does not know that this is a number
    post = condition(prior, W, Z, noise_var=number, code_var=np.float64(0.25))
    torch.testing.assert_close(post.mean, condition(prior, W, Z, noise_var=0.75).mean)


def test_states_are_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        prior.dtype = torch.float32
