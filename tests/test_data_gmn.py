"""Omniglot as Generative Matching Networks use it, as small real files."""

from typing import Any

import numpy as np
import pytest
import torch

from data_cases import fails, load_all
from kanerva.data import EpisodeSampler, load_dataset
from kanerva.data.symmetries import turned


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "omniglot-gmn").mkdir(parents=True)
    return tmp_path / "data"


def characters(part: str, number: int) -> dict[str, np.ndarray]:
    """White drawings with one dark pixel, at another place in each."""
    arrays = {}
    for one in range(number):
        drawings = np.full((20, 784), 255, np.uint8)
        drawings[np.arange(20), one * 20 + np.arange(20)] = 0
        arrays[f"images_{part}/alphabet/character{one:02d}"] = drawings
    return arrays


def write_both(data) -> None:
    for name, part, number in (("train", "background", 20), ("test", "evaluation", 3)):
        arrays: dict[str, Any] = characters(part, number)
        np.savez(data / "omniglot-gmn" / f"{name}_small.npz", **arrays)


def test_characters_are_split_whole_and_ink_is_inverted(data):
    write_both(data)
    parts = load_all("omniglot-gmn")
    assert {name: len(part) for name, part in parts.items()} == {
        "fit": 360,
        "valid": 40,
        "train": 400,
        "test": 60,
    }
    assert parts["valid"].labels.unique().tolist() == [9, 19], "every tenth character"
    classes = [set(parts[name].labels.tolist()) for name in ("fit", "valid", "test")]
    assert len(set.union(*classes)) == sum(map(len, classes)) == 23, "no class in two splits"
    image, label = parts["test"][0]
    assert (image.sum().item(), label) == (1.0, 20)
    assert parts["test"].class_names[20] == "images_evaluation/alphabet/character00"
    assert "inverted" in parts["test"].encoding


def test_missing_and_damaged_files(data):
    fails("omniglot-gmn/train_small.npz.*Generative Matching", "omniglot-gmn", "test")
    write_both(data)
    path = data / "omniglot-gmn" / "test_small.npz"
    for contents in (b"", b"not a file", path.read_bytes()[:1000]):
        path.write_bytes(contents)
        fails("a NumPy archive", "omniglot-gmn", "test")
    np.savez(path, a=np.zeros((3, 784), np.uint8))
    fails(r"a of shape \(3, 784\)", "omniglot-gmn", "test")
    np.savez(path, a=np.array([{}], dtype=object))
    fails("a NumPy archive", "omniglot-gmn", "test")
    np.savez(path)
    fails("no arrays", "omniglot-gmn", "test")
    fails("size: expected 28", "omniglot-gmn", "test", size=32)


@pytest.mark.parametrize("num_classes", [1, 2, None])
def test_episodes_without_replacement(data, num_classes):
    write_both(data)
    test = load_dataset("omniglot-gmn", "test")
    sampler = EpisodeSampler(test, num_items=20, num_classes=num_classes, distinct=True)
    images, labels = sampler.sample_labelled(50, generator=torch.Generator().manual_seed(0))
    places = images.flatten(2).argmax(-1)
    for one, its_labels in zip(places, labels, strict=True):
        assert len(one.unique()) == 20, "no image twice"
        if num_classes is not None:
            counts = its_labels.unique(return_counts=True)[1].tolist()
            assert counts == [20 // num_classes] * num_classes
    assert len(places.flatten().unique()) == 60, "every image occurs"
    assert not torch.equal(places[0], places[0].sort().values), "in random order"


def test_too_few_images_for_episodes_without_replacement(data):
    write_both(data)
    test = load_dataset("omniglot-gmn", "test")
    for num_classes, num_items in ((1, 21), (None, 61)):
        with pytest.raises(ValueError, match="different images"):
            EpisodeSampler(test, num_items=num_items, num_classes=num_classes, distinct=True)


def test_a_class_is_turned_as_a_whole():
    image = torch.arange(9).reshape(1, 3, 3)
    ways = [turned(image, torch.tensor(way)) for way in range(8)]
    assert len({tuple(one.flatten().tolist()) for one in ways}) == 8
    assert torch.equal(ways[0], image)
    both = turned(image.expand(2, 1, 3, 3), torch.tensor([0, 5]))
    assert torch.equal(both[1], ways[5])


def test_symmetries_in_episodes(data):
    write_both(data)
    test = load_dataset("omniglot-gmn", "test")
    test.images.zero_()
    test.images[:, :, 3, 5] = 255  # a place that every way maps to another one
    sampler = EpisodeSampler(test, num_items=20, num_classes=2, distinct=True, symmetries=True)
    images, labels = sampler.sample_labelled(64, generator=torch.Generator().manual_seed(0))
    places = images.flatten(2).argmax(-1)
    assert len(places.unique()) == 8
    for one, its_labels in zip(places, labels, strict=True):
        for label in its_labels.unique():
            assert len(one[its_labels == label].unique()) == 1
