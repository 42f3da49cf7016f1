"""The real archives, if KANERVA_DATA has them."""

import os
import time
from pathlib import Path

import pytest
import torch

from kanerva import KanervaError
from kanerva.data import EpisodeSampler, load_dataset

DATA = Path(os.environ.get("KANERVA_DATA") or "data")


def needs(*names: str) -> pytest.MarkDecorator:
    there = all((DATA / name).exists() for name in names)
    return pytest.mark.skipif(not there, reason=f"needs {' and '.join(names)} in KANERVA_DATA")


needs_omniglot = needs("images_background.zip", "images_evaluation.zip")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(cache))


@needs_omniglot
def test_omniglot():
    splits = ("fit", "valid", "train", "test")
    parts = {split: load_dataset("omniglot", split, data_folder=DATA) for split in splits}
    assert [len(part) for part in parts.values()] == [21_099, 3_246, 24_345, 8_115]
    drawers = {
        split: set(part.drawers.tolist())
        for split, part in parts.items()
        if part.drawers is not None
    }
    assert drawers["fit"] == set(range(1, 14))
    assert drawers["valid"] == {14, 15}
    assert drawers["train"] == set(range(1, 16))
    assert drawers["test"] == set(range(16, 21))
    for part in parts.values():
        assert part.num_classes == 1623
        assert len(part.labels.bincount().unique()) == 1  # each character as often as any other
        assert part.alphabets is not None
        assert len(part.alphabets.unique()) == 50
        assert part.class_names == parts["train"].class_names
        names = [part.class_names[label].split("/")[0] for label in part.labels[:: len(part) // 97]]
        assert len(set(names)) > 25
        assert 0.12 < (part.images > 20).float().mean() < 0.14


@needs_omniglot
def test_labels_mean_the_same_character_in_every_split():
    """A character resembles itself by other drawers more than it resembles other characters."""
    train = load_dataset("omniglot", "train", data_folder=DATA)
    test = load_dataset("omniglot", "test", data_folder=DATA)
    means = torch.zeros(1623, 784).index_add_(0, train.labels, train.images.flatten(1).float() / 15)
    means = means / means.norm(dim=1, keepdim=True)
    guess = (test.images[::5].flatten(1).float() @ means.mT).argmax(1)
    assert (guess == test.labels[::5]).float().mean() > 100 / 1623


@needs_omniglot
def test_the_second_read_is_quick_and_the_same():
    first = load_dataset("omniglot", "test", data_folder=DATA)
    start = time.perf_counter()
    second = load_dataset("omniglot", "test", data_folder=DATA)
    assert time.perf_counter() - start < 0.5
    assert torch.equal(first.images, second.images)


@needs_omniglot
@pytest.mark.parametrize("num_classes", [2, 4, 12])
def test_episodes_of_few_characters(num_classes):
    sampler = EpisodeSampler(
        load_dataset("omniglot", "test", data_folder=DATA), num_items=32, num_classes=num_classes
    )
    images, labels = sampler.sample_labelled(20, generator=torch.Generator().manual_seed(0))
    assert images.shape == (20, 32, 1, 28, 28)
    assert {len(row.unique()) for row in labels} == {num_classes}


@needs("cifar10-jpeg.tar.xz")
def test_cifar10():
    test = load_dataset("cifar10", "test", data_folder=DATA)
    assert test.images.shape == (10_000, 3, 32, 32)
    assert test.labels.bincount().tolist() == [1000] * 10
    assert test.encoding == "JPEG re-encoding"
    assert 0.47 < test.images.float().mean() / 255 < 0.48
    assert [
        len(load_dataset("cifar10", split, data_folder=DATA)) for split in ("fit", "valid")
    ] == [
        45_000,
        5_000,
    ]


@needs("cifar10-jpeg.tar.xz")
def test_a_model_of_letters_does_not_measure_photographs():
    from kanerva.cli.eval import evaluate_command

    with pytest.raises(KanervaError, match=r"images of shape \(1, 28, 28\)"):
        evaluate_command("omniglot", dataset="cifar10", data_folder=DATA, episodes=1)


@needs_omniglot
@pytest.mark.parametrize(("name", "level"), [("omniglot", 33), ("omniglot-vae", 99)])
def test_the_shipped_models_do_what_their_cards_say(name, level):
    from kanerva.evaluation.evaluate import evaluate
    from kanerva.models.checkpoint import load_with_card

    model, card = load_with_card(name)
    result = evaluate(model, load_dataset("omniglot", "test", data_folder=DATA), num_episodes=40)
    assert result.bound < level
    on_card = card["test_bound"]
    assert isinstance(on_card, float)
    assert abs(result.bound - on_card) < 5 * result.stderr
