"""Measurements: seeded, the same in batches of any size, honest about what is not defined."""

import math
from typing import Any

import pytest
import torch

from kanerva import KanervaError
from kanerva.data import Dataset, load_dataset
from kanerva.evaluation.capacity import measure_capacity
from kanerva.evaluation.evaluate import (
    batch_sizes,
    check_image_shape,
    evaluate,
    importance_bound,
    pixel_entropy,
    standard_error,
)
from kanerva.models.build import build_model
from kanerva.models.config import DNCConfig, ModelConfig, VAEConfig

MACHINE = ModelConfig(num_filters=4, code_size=8, num_rows=8, hidden_size=16)
DNC = DNCConfig(num_filters=4, code_size=8, num_rows=8, hidden_size=16)
WITHOUT_MEMORY = VAEConfig(num_filters=4, code_size=8)


@pytest.fixture(scope="module")
def glyphs():
    return load_dataset("glyphs", "test", show_progress=False)


def model(config):
    torch.manual_seed(0)
    return build_model(config)


@pytest.mark.parametrize("config", [MACHINE, DNC, WITHOUT_MEMORY], ids=lambda c: c.kind)
def test_terms_add_up_and_the_mode_of_the_model_stays(config, glyphs):
    measured = model(config).train()
    result = evaluate(measured, glyphs, num_episodes=5, episode_length=4, batch_size=2)
    assert measured.training
    terms = result.reconstruction + result.kl_address + result.kl_code
    assert result.bound == pytest.approx(terms, rel=1e-6)
    assert (result.episodes, result.episode_length) == (5, 4)
    again = evaluate(measured, glyphs, num_episodes=5, episode_length=4, batch_size=2)
    assert again == result


def test_the_cost_of_the_memory(glyphs):
    """A sum of nats for a distribution, zero without a memory, undefined for a DNC."""
    costs = [
        evaluate(model(config), glyphs, num_episodes=2, episode_length=4).memory_kl_per_item
        for config in (MACHINE, WITHOUT_MEMORY, DNC)
    ]
    assert costs[0] is not None
    assert costs[0] > 0
    assert costs[1:] == [0, None]


def test_more_importance_samples_tighten_the_bound(glyphs):
    measured = model(MACHINE)
    options: dict[str, Any] = {"num_episodes": 4, "episode_length": 4}
    bound = evaluate(measured, glyphs, **options).bound
    one, many = (importance_bound(measured, glyphs, num_samples=num, **options) for num in (1, 20))
    assert one == pytest.approx(bound, rel=0.05)
    assert many < one


def test_capacity_has_a_point_for_each_length_and_number_of_classes(glyphs):
    found = measure_capacity(
        model(WITHOUT_MEMORY), glyphs, num_episodes=2, lengths=(4, 8), class_counts=(2, None)
    )
    assert list(found) == ["2", "all"]
    assert [point["episode_length"] for point in found["2"]] == [4, 8]


def test_pixel_entropy_is_that_of_independent_pixels():
    images = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)
    images[:2, 0, 0, 0] = 100  # one pixel is ink in half of the images: grey above the threshold
    images[:2, 0, 0, 1] = 20  # and one is not, although it is grey
    labels = torch.zeros(4, dtype=torch.int64)
    data = Dataset(
        name="made",
        split="test",
        images=images,
        labels=labels,
        class_names=("one",),
        likelihood="bernoulli",
        binarisation="threshold20",
        encoding="made by hand",
    )
    assert pixel_entropy(data) == pytest.approx(math.log(2))
    with pytest.raises(KanervaError, match=r"\(1, 8, 8\)"):
        check_image_shape(model(WITHOUT_MEMORY), data)


def test_batches_and_standard_errors():
    assert list(batch_sizes(7, 3)) == [3, 3, 1]
    assert standard_error(torch.tensor([1.0])) == math.inf
    assert standard_error(torch.tensor([1.0, 3.0])) == pytest.approx(1)
