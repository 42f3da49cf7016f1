"""Mistakes that were once answered by a raw error, or not at all."""

import pytest
import torch

import kanerva
from kanerva import (
    DiagonalCovariance,
    Evidence,
    FullCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    ModelConfig,
    condition,
)

K, C = 4, 2


@pytest.mark.parametrize(
    "row_cov",
    [
        FullCovariance(torch.eye(K)),
        DiagonalCovariance(torch.ones(K)),
        LowRankCovariance(torch.ones(K), torch.zeros(K, 1)),
    ],
    ids=lambda row_cov: type(row_cov).__name__,
)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(3, K + 1), "rows K"),
        (torch.ones(K), "T, K"),
        (torch.ones(3, K, dtype=torch.float64), "dtype"),
        (None, "weights"),
    ],
    ids=["K", "dimensions", "dtype", "None"],
)
def test_weights_of_a_covariance(row_cov, weights, message):
    with pytest.raises(KanervaError, match=message):
        row_cov.cross_cov(weights)


def test_more_rank_than_items():
    with pytest.raises(KanervaError, match="rank"):
        Evidence(torch.eye(K), torch.zeros(K, C), count=1)
    Evidence(torch.eye(K), torch.zeros(K, C), count=K)


def test_codes_without_weights():
    with pytest.raises(KanervaError, match="no item has a weight"):
        Evidence(torch.zeros(K, K), torch.ones(K, C), count=3)


def test_forgetting_another_item_is_seen_by_the_rank():
    torch.manual_seed(0)
    weights, codes = torch.randn(3, K), torch.zeros(3, C)
    other = Evidence.of(0.1 * torch.randn(1, K), codes[:1])
    with pytest.raises(KanervaError):
        Evidence.of(weights, codes) - other


@pytest.mark.parametrize("kind", ["VAE", 3, int])
def test_kinds_of_models_are_classes(kind):
    with pytest.raises(KanervaError, match="class of a model"):
        kanerva.load("omniglot", kind=kind)


def test_saving_inside_a_transform(tmp_path):
    prior, path = MemoryState(torch.zeros(K, C), torch.eye(K)), tmp_path / "memory.safetensors"

    def save(weights):
        condition(prior, weights, torch.zeros(3, C)).save(path)
        return weights

    with pytest.raises(KanervaError, match="outside of vmap"):
        torch.func.vmap(save)(torch.randn(5, 3, K))
    assert not path.exists()


@pytest.mark.parametrize("value", ["no", 1, None])
def test_bottom_up_is_true_or_false(value):
    with pytest.raises(KanervaError, match="bottom_up"):
        ModelConfig(bottom_up=value)
