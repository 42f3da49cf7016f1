"""Bad input raises a KanervaError that says what was expected, what came, and a fix."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from cases import C, K, T, random_case
from kanerva import (
    DiagonalCovariance,
    Evidence,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    condition,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
)
from kanerva.memory.tensor_checks import check_same_dtype_and_device

F64 = torch.float64
case = random_case()
prior, W, Z = case.prior, case.weights, case.codes
not_pd = torch.diag(torch.tensor([1.0, 1, 1, 1, -0.5], dtype=F64))
lopsided = case.cov + torch.triu(torch.ones(K, K, dtype=F64), 1)


def loose(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


def poisoned(tensor: Tensor, value: float) -> Tensor:
    tensor = tensor.clone()
    tensor[1, 2] = value
    return tensor


BAD: dict[str, tuple[Callable[[], object], str, str]] = {
    # name: (call, argument, words of the message)
    "weights of another K": (lambda: condition(prior, W[:, :-1], Z), "weights", "rows K"),
    "codes of another C": (lambda: condition(prior, W, Z[:, :-1]), "codes", "code size C"),
    "codes of another T": (lambda: condition(prior, W, Z[:-1]), "codes", "T items"),
    "weights of one dimension": (lambda: condition(prior, W[0], Z), "weights", "weights[None]"),
    "batches that do not fit": (
        lambda: condition(prior, W.expand(3, T, K), Z.expand(2, T, C)),
        "weights, codes",
        "broadcast",
    ),
    "memory batch that does not fit": (
        lambda: condition(random_case((4,)).prior, W.expand(3, T, K), Z.expand(3, T, C)),
        "memory, weights",
        "broadcast",
    ),
    "float32 codes": (lambda: condition(prior, W, Z.float()), "codes", "float64"),
    "float32 episode": (lambda: condition(prior, W.float(), Z.float()), "weights", "float64"),
    "float32 weights": (lambda: condition(prior, W.float(), Z), "weights", "like memory"),
    "float64 weights": (
        lambda: condition(prior.to(torch.float32), W, Z.float()),
        "weights",
        "float32 like memory",
    ),
    "meta tensors": (lambda: condition(prior, W, Z.to("meta")), "codes", "a meta tensor"),
    "another device": (
        lambda: check_same_dtype_and_device(
            weights=W, codes=Z.to("meta")
        ),  # the check, where no GPU is
        "codes",
        "device cpu",
    ),
    "NaN in weights": (lambda: condition(prior, poisoned(W, torch.nan), Z), "weights", "(1, 2)"),
    "Inf in codes": (lambda: condition(prior, W, poisoned(Z, torch.inf)), "codes", "1 NaN or Inf"),
    "integer weights": (lambda: condition(prior, W.long(), Z), "weights", "weights.float()"),
    "a list": (lambda: condition(prior, loose(W.tolist()), Z), "weights", "torch.as_tensor"),
    "zero noise": (lambda: condition(prior, W, Z, noise_var=0.0), "noise_var", "positive"),
    "negative noise": (lambda: condition(prior, W, Z, noise_var=-1), "noise_var", "positive"),
    "NaN noise": (lambda: condition(prior, W, Z, noise_var=torch.nan), "noise_var", "positive"),
    "zero noise tensor": (
        lambda: condition(prior, W, Z, noise_var=torch.tensor(0.0)),
        "noise_var",
        "positive",
    ),
    "noise for each item": (
        lambda: condition(prior, W, Z, noise_var=torch.ones(T)),
        "noise_var",
        "code_var",
    ),
    "negative code_var": (
        lambda: condition(prior, W, Z, code_var=-torch.ones(T, dtype=F64)),
        "code_var",
        "log_var.exp()",
    ),
    "code_var of another T": (
        lambda: condition(prior, W, Z, code_var=torch.ones(T + 1, dtype=F64)),
        "code_var",
        "T items",
    ),
    "code_var of another C": (
        lambda: condition(prior, W, Z, code_var=torch.ones(T, C + 1, dtype=F64)),
        "code_var",
        "code size C",
    ),
    "code_var of three dimensions": (
        lambda: condition(prior, W, Z, code_var=torch.ones(2, T, C, dtype=F64)),
        "code_var",
        "(..., T)",
    ),
    "NaN in code_var": (
        lambda: condition(prior, W, Z, code_var=torch.full((T,), torch.nan, dtype=F64)),
        "code_var",
        "finite",
    ),
    "chunk of zero": (lambda: condition(prior, W, Z, chunk=0), "chunk", "at least 1"),
    "chunk of a half": (lambda: condition(prior, W, Z, chunk=loose(0.5)), "chunk", "whole number"),
    "cov that is not positive definite": (
        lambda: MemoryState(case.mean, not_pd),
        "cov",
        "eigenvalue of -0.5",
    ),
    "cov that is not symmetric": (lambda: MemoryState(case.mean, lopsided), "cov", "mirror"),
    "cov that is not square": (lambda: MemoryState(case.mean, case.cov[:, :-1]), "cov", "square"),
    "cov of zeros": (lambda: MemoryState(case.mean, 0 * case.cov), "cov", "positive definite"),
    "cov with NaN": (
        lambda: MemoryState(case.mean, poisoned(case.cov, torch.nan)),
        "cov",
        "finite",
    ),
    "cov of another K": (
        lambda: MemoryState(case.mean[:-1], case.cov),
        "mean",
        "K rows of cov",
    ),
    "cov of another dtype": (
        lambda: MemoryState(case.mean, case.cov.float()),
        "cov",
        "float64",
    ),
    "integer mean": (lambda: MemoryState(case.mean.long(), case.cov), "mean", "floating-point"),
    "zero variances": (
        lambda: MemoryState(case.mean, DiagonalCovariance(torch.zeros(K, dtype=F64))),
        "variances",
        "positive",
    ),
    "rank of zero": (
        lambda: MemoryState(case.mean, LowRankCovariance(torch.ones(K, dtype=F64), rank=0)),
        "rank",
        "at least 1",
    ),
    "factor wider than its rank": (
        lambda: MemoryState(
            case.mean, LowRankCovariance(torch.ones(K, dtype=F64), rank=2, factor=case.mean)
        ),
        "factor",
        "rank = 2",
    ),
    "reading with another K": (lambda: predict(prior, W[:, 1:]), "weights", "rows K"),
    "reading with NaN": (lambda: recall(prior, poisoned(W, torch.nan)), "weights", "finite"),
    "reading in float32": (lambda: recall(prior, W.float()), "weights", "float64"),
    "prediction without noise": (lambda: predict(prior, W, noise_var=0), "noise_var", "positive"),
    "memory matrix of another C": (
        lambda: log_prob(prior, case.mean[:, 1:]),
        "matrix",
        "code size C",
    ),
    "KL to another K": (
        lambda: memory_kl(prior, random_case(num_rows=K + 1).prior),
        "prior",
        "rows K",
    ),
    "KL to another dtype": (
        lambda: memory_kl(prior, prior.to(torch.float32)),
        "prior",
        "float64",
    ),
    "evidence of a bad episode": (lambda: log_evidence(prior, W, Z[:-1]), "codes", "T items"),
    "statistics of NaN": (lambda: Evidence.of(W, poisoned(Z, torch.nan)), "codes", "finite"),
    "evidence of another K": (
        lambda: Evidence.of(W[:, 1:], Z).posterior(prior),
        "evidence",
        "rows K",
    ),
    "evidence of another C": (
        lambda: Evidence.of(W, Z) + Evidence.of(W, Z[:, 1:]),
        "evidence",
        "on the left",
    ),
    "evidence of another batch": (
        lambda: Evidence.of(W.expand(3, T, K), Z) + Evidence.of(W.expand(2, T, K), Z),
        "left, right",
        "broadcast",
    ),
    "evidence of NaN": (
        lambda: Evidence(poisoned(case.cov, torch.nan), case.mean, 1),
        "gram",
        "finite",
    ),
    "evidence of less than nothing": (
        lambda: Evidence(case.cov, case.mean, -1),
        "count",
        "at least 0",
    ),
    "a matrix for a memory": (lambda: condition(loose(case.mean), W, Z), "prior", "MemoryState"),
    "nothing for a memory": (lambda: predict(loose(None), W), "memory", "MemoryState"),
    "a tuple for a memory": (
        lambda: memory_kl(loose((case.mean, case.cov)), prior),
        "posterior",
        "MemoryState",
    ),
    "noise too small to divide by": (
        lambda: Evidence.of(W, Z, noise_var=1e-320),
        "noise_var",
        "positive",
    ),
    "noise beyond floating point": (
        lambda: condition(prior, W, Z, noise_var=10**400),
        "noise_var",
        "too large",
    ),
    "code_var of True": (lambda: condition(prior, W, Z, code_var=True), "code_var", "bool"),
    "sparse weights": (lambda: condition(prior, W.to_sparse(), Z), "weights", "to_dense"),
    "a memory without columns": (
        lambda: MemoryState(case.mean[:, :0], case.cov),
        "mean",
        "one column",
    ),
    "a memory of integers": (lambda: prior.to(torch.int64), "dtype", "float32"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_an_error_with_a_fix(name):
    call, argument, words = BAD[name]
    with pytest.raises(KanervaError) as caught:
        call()
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.argument == argument
    message = str(error)
    assert words in message
    assert "\n" not in message
    assert all((error.expected, error.got, error.fix))


def test_fixes_work():
    with pytest.raises(KanervaError, match=r"cov \+ 1 \* torch.eye\(5\)"):
        MemoryState(case.mean, not_pd)
    MemoryState(case.mean, not_pd + 1 * torch.eye(5))
    with pytest.raises(KanervaError, match=r"pass weights.mT"):
        predict(prior, W.mT)


def test_bad_input_changes_nothing():
    before = prior.mean.clone(), prior.cov.clone(), W.clone(), Z.clone()
    for call, _, _ in BAD.values():
        with pytest.raises(KanervaError):
            call()
    for now, then in zip((prior.mean, prior.cov, W, Z), before, strict=True):
        assert torch.equal(now, then)


def test_errors_survive_pickling():
    """Worker processes send them to their parent."""
    error = pickle.loads(
        pickle.dumps(KanervaError("weights", expected="this", got="that", fix="Do so."))
    )
    assert str(error) == "weights: expected this, got that. Do so."
