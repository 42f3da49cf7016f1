"""The planner: its theory against random matrices, and its plans against memories."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.store import plan_vectors
from kanerva.store.arrays import unit_length
from kanerva.store.plan import SCALE
from kanerva.store.random_features import RandomFeatures
from kanerva.store.recall_theory import best_noise_var, cue_similarity, expected_recall
from store_cases import SIZE, area_under_curve, small_plan, vectors


@pytest.mark.parametrize("items_per_row", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("noise_var", [0.003, 0.1, 2.0])
def test_theory_against_random_matrices(items_per_row, noise_var):
    """Dense ridge regression with Gaussian weights."""
    K = 400
    n = round(items_per_row * K)
    W = np.random.default_rng(0).standard_normal((n, K)) / math.sqrt(K)
    kernel = W @ W.T
    H = np.linalg.solve(kernel + noise_var * np.eye(n), kernel)
    readout = np.linalg.solve(W.T @ W + noise_var * np.eye(K), W.T)
    found = expected_recall(items_per_row, noise_var)
    assert found.own == pytest.approx(np.trace(H) / n, rel=0.03)
    assert found.energy == pytest.approx(np.trace(H @ H) / n, rel=0.05)
    assert found.leak == pytest.approx((readout**2).sum() / K, rel=0.05)


def test_random_features_have_the_kernel():
    features = RandomFeatures(size=20, num_rows=20_000, num_blocks=1, scale=SCALE, seed=0)
    x = unit_length(np.random.default_rng(0).standard_normal((30, 20)))
    W = features.weights(x)
    distances = ((x[:, None] - x[None]) ** 2).sum(-1)
    np.testing.assert_allclose(W @ W.T, np.exp(-(SCALE**2) * distances / 2), atol=0.03)
    noisy = unit_length(x + 0.3 * unit_length(np.random.default_rng(1).standard_normal(x.shape)))
    similarity = (W * features.weights(noisy)).sum(1).mean()
    assert similarity == pytest.approx(cue_similarity(SCALE, 0.3), abs=0.03)


def test_the_best_noise_is_the_best():
    similarity = cue_similarity(SCALE, 0.2)
    best = best_noise_var(0.5, similarity)
    error = expected_recall(0.5, best).squared_error(similarity)
    for factor in (0.5, 2.0):
        assert expected_recall(0.5, factor * best).squared_error(similarity) > error


@pytest.mark.parametrize("error", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("num_items", [300, 1500])
def test_plans_keep_their_promise(tmp_path, error, num_items):
    """Measured errors are within 10 % of the wanted one, with one block and with several."""
    size = 128
    plan = plan_vectors(num_items, size, error=error, cue_noise=0.1)
    assert plan.predicted_error == pytest.approx(error, rel=0.02)
    x = vectors(num_items, size=size)
    with kanerva.open(tmp_path) as store:
        store.create("a", plan=plan)
        store.write("a", x)
        cues = x[:300] + 0.1 * vectors(300, size=size, seed=1)
        found = store.read("a", cues)
    measured = (found.items - x[:300]).norm(dim=1).square().mean().sqrt().item()
    assert measured == pytest.approx(error, rel=0.1)


def test_a_sample_makes_ordinary_vectors_work(tmp_path):
    """Vectors far from zero, of any length, whose entries depend on each other."""
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(64, 64, generator=generator) * torch.logspace(0, -1, 64)[:, None]
    x = 100 * (5 + torch.randn(900, 64, generator=generator) @ mixing)
    plan = plan_vectors(400, 64, rows_per_item=1.0, sample=x[:400])
    assert plan.effective_size < 45
    with kanerva.open(tmp_path) as store:
        store.create("a", plan=plan)
        store.write("a", x[:400])
        known = store.read("a", x[:400]).confidence.numpy()
        unknown = store.read("a", x[500:]).confidence.numpy()
        found = store.read("a", x[:400]).items
    assert area_under_curve(known, unknown) > 0.95
    centred = x[:400] - x[:400].mean(0)
    assert (found - x[:400]).norm() < 0.5 * centred.norm()


def test_blocks_are_found_again():
    """With the planned number of probes, nearly all noisy cues ask the right block."""
    plan = plan_vectors(20_000, 64, rows_per_item=0.5, cue_noise=0.2)
    features = RandomFeatures(64, plan.num_rows, plan.num_blocks, plan.scale, plan.seed)
    x = vectors(2000, size=64).double().numpy()
    own = features.blocks(x)
    probes = features.blocks(
        x + 0.2 * vectors(2000, size=64, seed=1).double().numpy(), plan.num_probes
    )
    assert (probes == own).any(1).mean() > 0.97
    assert (np.diff(np.sort(np.bincount(own[:, 0], minlength=plan.num_blocks))) >= 0).all()
    assert np.bincount(own[:, 0], minlength=plan.num_blocks).max() < 5 * 2000 / plan.num_blocks


def test_plans_are_the_same_for_the_same_arguments():
    assert plan_vectors(100, 8) == plan_vectors(100, 8)
    assert plan_vectors(100, 8).fingerprint == plan_vectors(100, 8).fingerprint
    assert plan_vectors(100, 8, seed=1).fingerprint != plan_vectors(100, 8).fingerprint
    assert plan_vectors(100, 8, cue_noise=0).cue_noise == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_items": 0},
        {"size": 0},
        {"value_size": -1},
        {"num_rows": 0},
        {"num_blocks": 0},
        {"num_blocks": 2**26},
        {"num_probes": 2},
        {"scale": 0.0},
        {"noise_var": -1},
        {"noise_var": float("nan")},
        {"cue_noise": "little"},
        {"code_exponent": 1.5},
        {"effective_size": 0.0},
        {"centre": (1.0,)},
        {"centre": [0.0] * SIZE},
        {"centre": (float("inf"),) * SIZE},
        {"seed": -1},
    ],
)
def test_wrong_numbers_in_a_plan(wrong):
    name = "num_items" if wrong.get("num_blocks") == 2**26 else next(iter(wrong))
    with pytest.raises(KanervaError, match=f"^{name}: expected"):
        replace(small_plan(), **wrong)


@pytest.mark.parametrize("value_size", [0, 4])
def test_what_was_written_often_is_known(tmp_path, value_size):
    """Its reading is longer than that of an item that was written once."""
    keys, strangers = vectors(50, size=384), vectors(200, size=384, seed=9)
    near = strangers + 0.2 * keys[:1]  # a little like the item that was written often
    for times in (1, 2, 4, 8, 30):
        store = kanerva.open(tmp_path / str(times))
        store.create("a", plan=plan_vectors(100, 384, value_size=value_size))
        often = torch.cat([keys, *[keys[:1]] * (times - 1)])
        values = often[:, :value_size] if value_size else None
        store.write("a", often, values=values)
        assert store.read("a", keys).confidence.min() > 0.9, times
        assert store.read("a", strangers).confidence.mean() < 0.05
        assert store.read("a", near).confidence.mean() < 0.1


def test_integers_of_numpy():
    with pytest.raises(KanervaError, match=r"int.* got np\.int64\(10\)\. Pass int\(num_items"):
        plan_vectors(np.int64(10), 4)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("num_items", [1, 2, 3, 10, 257, 5000])
@pytest.mark.parametrize("error", [0.2, 0.5, 0.9])
def test_a_plan_keeps_the_error_that_was_asked_for(num_items, error):
    """Rows are whole, and of equal number in each block: they are rounded up."""
    assert plan_vectors(num_items, 64, error=error).predicted_error <= error
