"""`Dataset`: where it came from, its mean image, single items for a DataLoader, and mistakes."""

import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from data_cases import png
from kanerva import KanervaError
from kanerva.data import Dataset, EpisodeSampler, load_dataset
from test_data_episodes import dataset
from test_data_real import DATA, needs_omniglot


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))


# Where it came from


def fill(folder, grey: int) -> None:
    folder.mkdir(parents=True)
    for number in range(10):
        (folder / f"{number}.png").write_bytes(png((grey, grey, grey), 40, "RGB"))


def test_the_same_folder_is_found_from_elsewhere(tmp_path, monkeypatch):
    """A folder of the same name lies where the second command runs."""
    fill(tmp_path / "first" / "mine", 10)
    fill(tmp_path / "second" / "mine", 99)
    monkeypatch.chdir(tmp_path / "first")
    data = load_dataset("mine", "test")
    assert data.source == str(tmp_path / "first" / "mine")
    monkeypatch.chdir(tmp_path / "second")
    assert data.source is not None
    again = load_dataset(data.source, "test")
    assert torch.equal(again.images, data.images)
    assert again.source == data.source
    assert load_dataset("mine", "test").images.max() == 99
    assert data.to("cpu").source == data.source


def test_a_known_data_set_is_found_by_its_name():
    data = load_dataset("glyphs", "test", size=8)
    assert data.source == "glyphs"
    assert load_dataset(data.source, "test", size=8).images.equal(data.images)


def test_a_folder_with_the_name_of_a_data_set(tmp_path, monkeypatch):
    fill(tmp_path / "glyphs", 10)
    monkeypatch.chdir(tmp_path)
    data = load_dataset("./glyphs", "test")
    assert data.source == str(tmp_path / "glyphs")
    assert load_dataset(str(data.source), "test").images.max() == 10


def test_tensors_of_ones_own_come_from_nowhere():
    assert dataset().source is None
    with pytest.raises(KanervaError, match=r"name: expected .*got NoneType"):
        load_dataset(dataset().source, "train")  # pyright: ignore[reportArgumentType]


# The mean image


@pytest.mark.parametrize(
    ("likelihood", "binarisation"),
    [("bernoulli", "threshold20"), ("bernoulli", "stochastic"), ("gaussian", "none")],
)
def test_the_mean_image_is_that_of_episodes(likelihood, binarisation):
    data = dataset(likelihood, binarisation)
    mean = data.mean_image()
    assert mean.shape == data.image_shape
    assert mean.dtype == torch.float64
    generator = torch.Generator().manual_seed(0)
    drawn = EpisodeSampler(data, num_items=1000).sample(40, generator=generator)
    assert (drawn.double().mean((0, 1)) - mean).abs().max() < 5 * 0.5 / math.sqrt(40_000)


def test_the_mean_of_many_images_is_exact():
    """Sums of bytes are whole numbers; in float32 they would be rounded."""
    images = torch.full((70_000, 1, 2, 2), 255, dtype=torch.uint8)
    images[0] = 0
    labels = torch.zeros(len(images), dtype=torch.int64)
    data = Dataset("white", "train", images, labels, ("a",), "bernoulli", "stochastic", "made here")
    assert data.mean_image().unique().tolist() == [69_999 / 70_000]


@needs_omniglot
def test_pixel_entropy_of_omniglot():
    """Nats of a model that knows only how often each pixel is ink."""
    ink = load_dataset("omniglot", "test", data_folder=DATA).mean_image()
    entropy = -(torch.xlogy(ink, ink) + torch.xlogy(1 - ink, 1 - ink)).sum().item()
    assert entropy == pytest.approx(227.5, abs=0.05)


# Single items


def test_items_are_as_episodes_show_them():
    data: Any = dataset()
    image, label = data[3]
    assert image.shape == (1, 16, 16)
    assert image.dtype == torch.float32
    assert torch.equal(image, (data.images[3] > 20).float())
    assert label == data.labels[3]
    assert isinstance(label, int)
    assert torch.equal(data[-1][0], data[len(data) - 1][0])
    assert torch.equal(data[np.int64(3)][0], image)
    assert torch.equal(data[torch.tensor(3)][0], image)
    assert len(list(data)) == len(data)
    grey = dataset("gaussian", "none")
    assert torch.equal(grey[3][0], grey.images[3].float() / 256)


def test_stochastic_items_are_drawn_each_time():
    data = dataset("bernoulli", "stochastic")
    torch.manual_seed(0)
    drawn = torch.stack([data[0][0] for _ in range(300)])
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    assert (drawn.mean(0) - data.images[0] / 255).abs().max() < 0.15
    torch.manual_seed(0)
    assert torch.equal(data[0][0], drawn[0])


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_a_data_loader(context):
    data = dataset()
    workers = {} if context is None else {"num_workers": 2, "multiprocessing_context": context}
    loader = DataLoader(data, batch_size=8, shuffle=True, **workers)
    batches = list(loader)
    assert [len(images) for images, _ in batches] == [8, 8, 8, 8, 4]
    assert batches[0][0].shape == (8, 1, 16, 16)
    assert batches[0][1].dtype == torch.int64
    labels = torch.cat([labels for _, labels in batches])
    assert Counter(labels.tolist()) == Counter(data.labels.tolist())


def test_it_can_be_pickled():
    copy = pickle.loads(pickle.dumps(dataset(source="/a/folder")))
    assert copy.source == "/a/folder"
    assert torch.equal(copy.images, dataset().images)


@pytest.mark.parametrize("index", [36, -37, 10**30])
def test_no_such_item(index):
    """An `IndexError`, too: Python ends loops with it."""
    for kind in (IndexError, KanervaError):
        with pytest.raises(kind, match="index: expected a number from -36 to 35"):
            dataset()[index]


@pytest.mark.parametrize("index", [slice(3), 1.0, "1", None, [1, 2], torch.tensor([1, 2]), True])
def test_an_item_has_a_number(index):
    with pytest.raises(KanervaError, match=r"index: expected .*dataset\.images"):
        dataset()[index]


# Mistakes


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"images": None}, "images"),
        ({"images": np.zeros((36, 1, 16, 16), np.uint8)}, "images"),
        ({"images": torch.zeros(36, 1, 16, 16)}, "images"),
        ({"images": torch.zeros(0, 1, 16, 16, dtype=torch.uint8)}, "images"),
        ({"images": torch.zeros(36, 0, 16, 16, dtype=torch.uint8)}, "images"),
        ({"images": torch.zeros(36, 1, 0, 16, dtype=torch.uint8)}, "images"),
        ({"images": torch.zeros(36, 1, 16, 16, dtype=torch.uint8, device="meta")}, "images"),
        ({"labels": None}, "labels"),
        ({"labels": list(range(36))}, "labels"),
        ({"labels": torch.zeros(36)}, "labels"),
        ({"labels": torch.full((36,), 6)}, "labels"),
        ({"labels": torch.full((36,), -1)}, "labels"),
        ({"alphabets": [1]}, "alphabets"),
        ({"drawers": torch.zeros(3, dtype=torch.int64)}, "drawers"),
        ({"class_names": ()}, "class_names"),
        ({"class_names": "abcdef"}, "class_names"),
        ({"class_names": (1, 2, 3, 4, 5, 6)}, "class_names"),
        ({"class_names": None}, "class_names"),
        ({"likelihood": None}, "likelihood"),
        ({"binarisation": None}, "binarisation"),
        ({"binarisation": ["threshold20"]}, "binarisation"),
        ({"split": 3}, "split"),
        ({"name": None}, "name"),
        ({"encoding": None}, "encoding"),
        ({"source": 3}, "source"),
    ],
)
def test_fields_that_cannot_be(changes, argument):
    with pytest.raises(KanervaError) as caught:
        dataset(**changes)
    assert caught.value.argument == argument


@pytest.mark.parametrize("device", ["nowhere", None, 3.5, "cuda:99", "meta"])
def test_a_device_that_is_not_there(device):
    with pytest.raises(KanervaError, match="device: expected"):
        dataset().to(device)


def test_a_list_of_class_names_becomes_a_tuple():
    assert dataset(class_names=list("abcdef")).class_names == tuple("abcdef")
