"""Episodes: their contents and probabilities, and that a seed repeats them."""

import dataclasses
from typing import Any

import pytest
import torch

from kanerva import KanervaError
from kanerva.data import Dataset, EpisodeSampler

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
COUNTS = [1, 5, 0, 20, 3, 7]
"""Images of each class; one class has none in this split."""


def dataset(
    likelihood: Any = "bernoulli", binarisation: Any = "threshold20", **changes: Any
) -> Dataset:
    """Images of 16 x 16 pixels with every grey, rolled by the image's number."""
    labels = torch.repeat_interleave(torch.arange(len(COUNTS)), torch.tensor(COUNTS))
    labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]
    greys = torch.arange(256, dtype=torch.uint8)
    images = torch.stack([greys.roll(number) for number in range(len(labels))])
    fields = {
        "name": "greys",
        "split": "train",
        "images": images.reshape(-1, 1, 16, 16),
        "labels": labels,
        "class_names": tuple("abcdef"),
        "likelihood": likelihood,
        "binarisation": binarisation,
        "encoding": "made here",
    }
    return Dataset(**(fields | changes))


def generator(device: str | torch.device = "cpu", seed: int = 0) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num_classes", [None, 1, 2, 5])
def test_shapes_values_and_seeds(device, num_classes):
    data = dataset().to(device)
    sampler = EpisodeSampler(data, num_items=9, num_classes=num_classes)
    images, labels = sampler.sample_labelled(4, generator=generator(device))
    assert images.shape == (4, 9, 1, 16, 16)
    assert images.dtype == torch.float32
    assert images.device.type == labels.device.type == device
    assert labels.shape == (4, 9)
    assert set(images.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(images, sampler.sample(4, generator=generator(device)))
    assert not torch.equal(images, sampler.sample(4, generator=generator(device, seed=1)))


def test_threshold_20_is_ink_above_20():
    sampler = EpisodeSampler(dataset(), num_items=1)
    assert sampler.sample(3).sum((1, 2, 3, 4)).tolist() == [256 - 21] * 3


def test_stochastic_ink_is_as_likely_as_it_is_grey():
    data = dataset(binarisation="stochastic")
    data = dataclasses.replace(data, images=data.images[:1], labels=data.labels[:1])
    images = EpisodeSampler(data, num_items=100).sample(100, generator=generator())
    assert set(images.unique().tolist()) == {0.0, 1.0}
    greys = torch.arange(256).reshape(16, 16) / 255
    error = images.mean((0, 1, 2)) - greys
    assert error.abs().max() < 5 * 0.5 / 100  # five standard errors
    assert error[0, 0] == 0  # never ink at grey 0, always at grey 255
    assert error[-1, -1] == 0


def test_gaussian_images_are_bytes_over_256():
    data = dataset("gaussian", "none")
    images = EpisodeSampler(data, num_items=2).sample(3, generator=generator())
    assert torch.equal(images[0, 0].flatten().sort().values * 256, torch.arange(256.0))


@pytest.mark.parametrize("num_classes", [1, 2, 3, 5])
def test_an_episode_has_as_many_classes_as_asked_for(num_classes):
    data = dataset()
    sampler = EpisodeSampler(data, num_items=7, num_classes=num_classes)
    _, labels = sampler.sample_labelled(500, generator=generator())
    assert {len(row.unique()) for row in labels} == {num_classes}
    assert 2 not in labels


def test_items_match_their_labels():
    """The number of an image can be read from its pixels: they are rolled by it."""
    data = dataset("gaussian", "none")
    for num_classes in (None, 3):
        sampler = EpisodeSampler(data, num_items=20, num_classes=num_classes)
        images, labels = sampler.sample_labelled(50, generator=generator())
        number = (-images[..., 0, 0, 0] * 256).long() % 256
        assert torch.equal(data.labels[number], labels)
        assert len(number.unique()) == len(data)  # every image occurs


def test_classes_and_images_are_drawn_uniformly():
    data = dataset("gaussian", "none")
    whole = EpisodeSampler(data, num_items=10)
    _, labels = whole.sample_labelled(4000, generator=generator())
    share = labels.flatten().bincount(minlength=6) / 40_000
    torch.testing.assert_close(share, torch.tensor(COUNTS) / 36, atol=0.01, rtol=0)
    few = EpisodeSampler(data, num_items=10, num_classes=2)
    images, labels = few.sample_labelled(4000, generator=generator())
    share = labels.flatten().bincount(minlength=6) / 40_000
    torch.testing.assert_close(share, (torch.tensor(COUNTS) > 0) / 5, atol=0.02, rtol=0)
    number = (-images[..., 0, 0, 0] * 256).long() % 256
    inside = number[labels == 3].bincount(minlength=256)[data.labels.eq(3).nonzero()[:, 0]]
    torch.testing.assert_close(inside / inside.sum(), torch.full((20,), 0.05), atol=0.01, rtol=0)
    # Exchangeable: classes have no fixed positions, and neighbours are like any two items.
    neighbours = (labels[:, 0] == labels[:, 1]).float().mean()
    torch.testing.assert_close(neighbours, torch.tensor(4 / 9), atol=0.03, rtol=0)
    first = labels[:, 0].bincount(minlength=6) / 4000
    torch.testing.assert_close(first, (torch.tensor(COUNTS) > 0) / 5, atol=0.03, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("num_classes", [None, 3])
@pytest.mark.parametrize("binarisation", ["threshold20", "stochastic"])
def test_drawing_is_part_of_a_cuda_graph(num_classes, binarisation):
    data = dataset(binarisation=binarisation).to("cuda")
    sampler = EpisodeSampler(data, num_items=8, num_classes=num_classes)
    random = generator("cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        sampler.sample(4, generator=random)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(random)
    with torch.cuda.graph(graph):
        images, labels = sampler.sample_labelled(4, generator=random)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append((images.clone(), labels.clone()))
    assert not torch.equal(seen[0][0], seen[1][0])
    assert not torch.equal(seen[1][1], seen[2][1])
    if num_classes is not None:
        assert {len(row.unique()) for _, rows in seen for row in rows} == {num_classes}


def test_mistakes():
    data = dataset()
    for wrong in (0, -1, 2.0, True):
        with pytest.raises(KanervaError, match="num_items"):
            EpisodeSampler(data, num_items=wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(KanervaError, match="num_episodes"):
            EpisodeSampler(data, num_items=1).sample(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(KanervaError, match=r"from 1 to 5, got 6\. The split has images of 5"):
        EpisodeSampler(data, num_items=9, num_classes=6)
    with pytest.raises(KanervaError, match=r"num_classes: .*from 1 to 2, got 3\. .*2 items"):
        EpisodeSampler(data, num_items=2, num_classes=3)
    with pytest.raises(KanervaError, match="num_classes"):
        EpisodeSampler(data, num_items=2, num_classes=0)


def test_a_data_set_checks_itself():
    good = dataset()
    assert good.image_shape == (1, 16, 16)
    assert good.num_classes == 6
    assert len(good) == 36
    for field, value, match in (
        ("images", good.images.float(), "uint8 tensor"),
        ("images", good.images[0], "uint8 tensor"),
        ("images", good.images[:0], "at least one"),
        ("labels", good.labels[1:], "labels: expected an int64 tensor .36"),
        ("drawers", good.labels.int(), "drawers"),
        ("split", "tests", "Did you mean 'test'"),
        ("likelihood", "poisson", "likelihood"),
        ("binarisation", "none", "binarisation"),
    ):
        with pytest.raises(KanervaError, match=match):
            dataset(**{field: value})
