"""Copies, blurred and new drawings; nats after 0, 1, ... images; one-shot classification."""

import json
import math

import pytest
import torch

from kanerva import KanervaError, KanervaMachine, ModelConfig
from kanerva.data import Dataset
from kanerva.evaluation.copies import (
    MAX_DIFFERENCE,
    is_copy,
    pixel_entropies,
    smallest_difference,
    variants,
)
from kanerva.evaluation.generation import copies_of, divide, measure_generation, shares_of
from kanerva.evaluation.one_shot import measure_one_shot
from kanerva.evaluation.prequential import (
    curve_of,
    difference,
    draw_episodes,
    importance_nats,
    item_nats,
    means_of_groups,
)
from kanerva.models.bound import ItemBounds
from kanerva.models.config import FewShotConfig, LadderVAEConfig
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.ladder_vae import LadderVAE

NUM_CLASSES, EACH = 6, 12


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Classes of crosses and bars, with a little noise."""
    generator = torch.Generator().manual_seed(0)
    images = torch.zeros(NUM_CLASSES, EACH, 1, 28, 28)
    for number in range(NUM_CLASSES):
        images[number, :, :, 4 + 3 * number : 7 + 3 * number, 3:25] = 1
        images[number, :, :, 3:25, 22 - 3 * number : 24 - 3 * number] = 1
    flip = torch.rand(images.shape, generator=generator) < 0.01
    images = (255 * (images - flip.float()).abs()).byte().flatten(0, 1)
    labels = torch.arange(NUM_CLASSES).repeat_interleave(EACH)
    names = tuple(map(str, range(NUM_CLASSES)))
    return Dataset("mine", "test", images, labels, names, "bernoulli", "threshold20", "bars")


@pytest.fixture(scope="module")
def model() -> FewShotMachine:
    torch.manual_seed(0)
    config = FewShotConfig(
        num_filters=4, num_wide=4, group_codes=2, code_size=49, num_rows=8, hidden_size=16
    )
    return FewShotMachine(config).eval()


@pytest.fixture(scope="module")
def vae() -> LadderVAE:
    torch.manual_seed(0)
    return LadderVAE(LadderVAEConfig(num_filters=4, num_wide=4, group_codes=2, code_size=49)).eval()


def bar() -> torch.Tensor:
    image = torch.zeros(1, 1, 28, 28)
    image[..., 6:22, 12:15] = 1
    image[..., 6:9, 6:20] = 1
    return image


def test_a_moved_drawing_is_a_copy():
    image = bar()
    assert variants(image).shape == (1, 25 * 25 * 3, 784)
    for moved in (
        image,
        image.roll((2, -2), (-1, -2)),
        torch.nn.functional.max_pool2d(image, 3, 1, 1),
    ):
        assert is_copy(moved, image).all()
        assert smallest_difference(moved, image).item() == 0
    assert not is_copy(image.roll(6, -1), image).any()
    assert not is_copy(image.mT.contiguous(), image).any()


def test_copies_may_differ_in_three_percent_of_the_pixels():
    image = bar()
    allowed = math.floor(MAX_DIFFERENCE * 784)
    for number, expected in ((allowed, True), (allowed + 30, False)):
        changed = image.clone()
        # far from the drawing, so that no movement of it can help
        changed.view(-1)[-number:] = 1
        assert is_copy(changed, image).item() is expected


def test_entropy_of_pixels():
    assert pixel_entropies(torch.full((2, 1, 4, 4), 0.5)).tolist() == pytest.approx(
        [math.log(2)] * 2
    )
    assert pixel_entropies(torch.ones(1, 1, 4, 4)).item() < 1e-9


def test_shares_add_up_to_one():
    given = bar()[None]
    blurred, new = torch.full((1, 28, 28), 0.6), bar()[0].mT
    means = torch.stack([bar()[0], blurred, new, new])[None]
    copied = copies_of((means > 0.5).float(), given)
    shares = shares_of(means, copied, entropy=0.1)
    assert shares[:3] == (0.25, 0.25, 0.5)
    assert shares.right_among_new is None
    assert shares_of(given, copies_of(given, given), entropy=None).copies == 1


def test_drawings_have_one_use_each(dataset):
    dataset = Dataset(
        "mine",
        "test",
        torch.arange(NUM_CLASSES * EACH).byte().reshape(-1, 1, 1, 1).expand(-1, 1, 28, 28),
        dataset.labels,
        dataset.class_names,
        "bernoulli",
        "threshold20",
        "numbers",
    )
    sets = divide(dataset, num_given=3)
    assert [part.shape[1] for part in sets] == [3, 5, 4]
    with pytest.raises(KanervaError, match="at most 6"):
        divide(dataset, num_given=7)


def test_generation_of_three_models(dataset, model, vae):
    paper = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
    models = {"fewshot": model, "vae": vae, "paper": paper}
    report = measure_generation(models, dataset, num_given=3, num_new=2, steps=30)
    shares = report["shares"]
    assert isinstance(shares, dict)
    assert list(shares) == ["real drawings", "fewshot", "vae", "paper"]
    for row in shares.values():
        assert row["copies"] + row["blurred"] + row["new"] == pytest.approx(1)
    assert shares["real drawings"]["copies"] > 0.9, "these bars are nearly the same"
    accuracy = report["classifier_accuracy_on_real"]
    assert isinstance(accuracy, float)
    assert accuracy > 0.5
    json.dumps(report)


def test_every_class_has_as_many_orders(dataset):
    episodes = draw_episodes(dataset, length=10, num_classes=1, orders=3)
    assert episodes.images.shape == (18, 10, 1, 28, 28)
    assert episodes.groups.tolist() == [n for n in range(6) for _ in range(3)]
    two = draw_episodes(dataset, length=10, num_classes=2, orders=2)
    assert two.images.shape[0] == two.groups.max() + 1 == 12
    assert draw_episodes(dataset, length=20, num_classes=None, orders=1).images.shape[1] == 20
    with pytest.raises(KanervaError, match="different images"):
        draw_episodes(dataset, length=13, num_classes=1, orders=1)


def test_errors_are_over_characters_not_orders():
    values = torch.tensor([[1.0, 0.0], [1.0, 0.0], [5.0, 3.0], [5.0, 3.0]])
    groups = torch.tensor([0, 0, 1, 1])
    assert means_of_groups(values, groups).tolist() == [[1.0, 0.0], [5.0, 3.0]]
    zero = torch.zeros_like(values)
    curve = curve_of(ItemBounds(values, zero, zero), groups)
    assert curve.nats == [3.0, 1.5]
    assert curve.stderr == pytest.approx([2.0, 1.5])
    assert curve.rise == [-1.5]
    assert curve.rise_stderr == pytest.approx([0.5])
    assert (curve.sum, curve.episodes, curve.groups) == (4.5, 4, 2)
    assert difference(values, values - 1, groups) == ([1.0, 1.0], [0.0, 0.0])


def test_curves_and_importance_samples(dataset, model, vae):
    episodes = draw_episodes(dataset, length=4, num_classes=1, orders=1)
    for one in (model, vae):
        items = item_nats(one, episodes.images)
        assert items.total.shape == (6, 4)
        assert torch.equal(items.total, item_nats(one, episodes.images).total), "seeded"
        nats = importance_nats(one, episodes.images, items=[0, 3], num_samples=20, chunk=7)
        assert nats.shape == (6, 2)
        assert nats.mean() < items.total[:, [0, 3]].mean() + 5, "tighter than the bound"
    paper = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
    assert item_nats(paper, episodes.images).total.shape == (6, 4)
    with pytest.raises(KanervaError, match="predicts the next image"):
        importance_nats(paper, episodes.images, items=[0], num_samples=1)


def test_one_shot_next_to_nearest_pixels(dataset, model):
    result = measure_one_shot(model, dataset, num_trials=2, num_classes=5, num_samples=1)
    assert result.nearest_pixels == 1, "bars of different classes differ in many pixels"
    assert 0 <= result.bound <= 1
    assert result.drawings == 10
