"""CIFAR-10, folders of images and glyphs, as small real files; see also test_data_real.py."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from data_cases import fails, load_all, png, same, write_tar, write_zip
from kanerva import KanervaError
from kanerva.data import DATASETS, cifar10, load_dataset, render_glyphs
from kanerva.data.folder import MixedBackgroundsWarning


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


# CIFAR-10


@pytest.fixture
def small_cifar(monkeypatch):
    """Twenty training images in five batches, and ten for test."""
    monkeypatch.setattr(cifar10, "NUM_TRAIN", 20)
    monkeypatch.setattr(cifar10, "NUM_TEST", 10)
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (30, 3, 32, 32), np.uint8)
    return images, np.arange(30) % 10


def cifar_batches(images, labels) -> dict[str, bytes]:
    records = np.concatenate([labels[:, None].astype(np.uint8), images.reshape(30, -1)], axis=1)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    starts = [0, 4, 8, 12, 16, 20, 30]
    batches = {
        f"cifar-10-batches-bin/{name}.bin": records[starts[i] : starts[i + 1]].tobytes()
        for i, name in enumerate(names)
    }
    return batches | {"cifar-10-batches-bin/readme.html": b"<html>"}


def test_cifar_binary_archive_folder_and_images(data, small_cifar):
    images, labels = small_cifar
    batches = cifar_batches(images, labels)
    archive = write_tar(data / "cifar-10-binary.tar.gz", batches)
    parts = load_all("cifar10")
    test = parts["test"]
    assert [len(part) for part in parts.values()] == [18, 2, 20, 10]
    assert np.array_equal(test.images.numpy(), images[20:])
    assert test.labels.tolist() == labels[20:].tolist()
    assert (test.encoding, test.likelihood, test.binarisation) == (
        "official binary",
        "gaussian",
        "none",
    )
    archive.unlink()
    (data / "cifar-10-batches-bin").mkdir()
    for name, content in batches.items():
        (data / name).write_bytes(content)
    assert same(load_dataset("cifar10", "test"), test)
    # The same images as files: here lossless, so the same pixels, in the order of their classes.
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        path = data / "files/cifar10" / ("train" if number < 20 else "test")
        path = path / cifar10.CLASSES[label] / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(image.transpose(1, 2, 0)))
    tree = load_dataset("cifar10", "test", data_folder=data / "files")
    assert tree.encoding == "PNG"
    assert same(tree, test)


def test_cifar_jpeg_archive_says_so(data, small_cifar):
    images, labels = small_cifar
    contents = {}
    for number, label in enumerate(labels):
        part = "train" if number < 20 else "test"
        path = data / "one.jpg"
        Image.fromarray(images[number].transpose(1, 2, 0)).save(path, quality=95)
        contents[f"{part}/{cifar10.CLASSES[label]}/{number:04d}.jpg"] = path.read_bytes()
    write_tar(data / "cifar10-jpeg.tar.xz", contents, "w:xz")
    assert load_dataset("cifar10", "test").encoding == "JPEG re-encoding"


def test_cifar_that_is_not_whole(data, small_cifar):
    batches = cifar_batches(*small_cifar)
    fails("cifar-10-binary.tar.gz", "cifar10", "test")
    (data / "cifar-10-python.tar.gz").write_bytes(b"")
    fails("a pickle, which could run any code and is not opened", "cifar10", "test")
    path = data / "cifar-10-binary.tar.gz"
    write_tar(path, {"nothing": b""})
    fails("no data_batch", "cifar10", "test")
    write_tar(path, dict(list(batches.items())[1:]))
    fails("got 16 and 10", "cifar10", "test")
    write_tar(path, batches | {"cifar-10-batches-bin/test_batch.bin": b"12345"})
    fails("not a whole number of images", "cifar10", "test")
    write_tar(path, batches | {"cifar-10-batches-bin/test_batch.bin": b"\xff" * 3073})
    fails("a label of 255", "cifar10", "test")
    path.unlink()
    write_zip(data / "cifar10.zip", {"train/cat/1.png": png(size=31)})
    fails("31 x 31 pixels", "cifar10", "test")
    write_zip(data / "cifar10.zip", {"train/cow/1.png": png(size=32)})
    fails("a class 'cow'", "cifar10", "test")


# Folders of images


def fill(folder, names, mode="RGB"):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        value = number * 3 % 256
        (folder / name).write_bytes(png(value if mode == "L" else (value, 0, 255), 50, mode))


def test_a_folder_of_classes(tmp_path):
    folder = tmp_path / "my images"
    fill(folder, [f"{kind}/{number}.png" for kind in "abc" for number in range(20)])
    (folder / "a/.DS_Store").write_text("not an image")
    parts = load_all(str(folder))
    assert [len(part) for part in parts.values()] == [43, 5, 48, 12]
    train, test = parts["train"], parts["test"]
    assert train.name == "my images"
    assert train.class_names == ("a", "b", "c")
    assert (train.likelihood, train.image_shape) == ("gaussian", (3, 32, 32))
    # Every colour occurs once, in the right class.
    reds = torch.cat([train.images[:, 0, 0, 0], test.images[:, 0, 0, 0]]).long()
    assert sorted(reds.tolist()) == list(range(0, 180, 3))
    assert torch.equal(torch.cat([train.labels, test.labels]), reds // 60)
    grey = load_dataset(str(folder), "test", grey=True)
    assert (grey.likelihood, grey.binarisation) == ("bernoulli", "stochastic")
    assert grey.image_shape == (1, 28, 28)
    assert load_dataset(str(folder), "test", likelihood="bernoulli").image_shape == (1, 28, 28)
    assert load_dataset(str(folder), "test", size=9).image_shape == (3, 9, 9)


def test_a_flat_folder_and_one_with_its_own_split(tmp_path):
    fill(tmp_path / "flat", [f"{number}.png" for number in range(10)], "L")
    flat = load_dataset(str(tmp_path / "flat"), "train")
    assert (len(flat), flat.class_names, flat.likelihood) == (8, ("flat",), "bernoulli")
    split = tmp_path / "split"
    fill(split, [f"train/a/{n}.png" for n in range(10)] + ["test/b/1.png", "test/a/1.png"])
    assert [len(part) for part in load_all(str(split)).values()] == [9, 1, 10, 2]
    test = load_dataset(str(split), "test")
    assert test.class_names == ("a", "b")
    assert test.labels.tolist() == [0, 1]
    fill(split, ["other/1.png"])
    fails(r"other/1\.png: expected every image under train or test", str(split), "test")


def test_how_many_images_a_split_needs(tmp_path):
    """What the error says is true, and an empty split is no damaged cache."""
    for count in range(1, 9):
        folder = tmp_path / str(count)
        fill(folder, [f"{n}.png" for n in range(count)])
        assert len(load_dataset(str(folder), "train")) > 0
        for split, enough in (("test", 3), ("valid", 7)):
            for _ in range(2):  # from the files or the cache, and from the cache
                if count >= enough:
                    assert len(load_dataset(str(folder), split)) > 0
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    fails("needs at least 3 images for a test split, and 7", str(folder), split)


def test_grey_images_in_floating_point_are_grey(tmp_path):
    grey = np.linspace(0, 1, 40 * 40, dtype=np.float32).reshape(40, 40)
    folder = tmp_path / "floats"
    folder.mkdir()
    Image.fromarray(grey).save(folder / "a.tiff")
    assert load_dataset(str(folder), "train").image_shape == (1, 28, 28)
    Image.fromarray(np.full_like(grey, np.nan)).save(folder / "a.tiff")
    fails(r"a\.tiff: expected an image .*, got no pixel that is a number", str(folder), "train")


def test_folders_that_cannot_be_read(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    fails("got none", str(folder), "test")
    fill(folder, ["a/1.png", "a/2.png"])
    fails("split: expected images for valid, got none of the 2", str(folder), "valid")
    (folder / "a/table.png").write_bytes(b"rows")
    fails(r"a/table\.png: expected an image", str(folder), "train")


# Glyphs


@pytest.fixture(scope="module")
def cache_of_glyphs(tmp_path_factory):
    return tmp_path_factory.mktemp("glyphs")


def test_glyphs(cache_of_glyphs, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(cache_of_glyphs))
    parts = load_all("glyphs", data_folder="/nowhere")
    each = [10, 2, 12, 4]
    num_classes = parts["train"].num_classes
    assert num_classes > 900
    assert len(set(parts["train"].class_names)) == num_classes
    for count, part in zip(each, parts.values(), strict=True):
        assert part.labels.bincount().tolist() == [count] * num_classes
        ink = (part.images > 20).float().mean((1, 2, 3))
        assert 0.11 < ink.mean() < 0.15  # Omniglot: 0.13
        assert ink.min() > 0
    # Strokes stay clear of the border, and every drawing differs.
    images = torch.cat([parts["train"].images, parts["test"].images])
    border = torch.cat([images[..., 0], images[..., -1], images[..., 0, :], images[..., -1, :]])
    assert (border > 128).float().mean() < 1e-3
    assert len(images.flatten(1).unique(dim=0)) > 0.999 * len(images)


def test_new_glyphs():
    first = render_glyphs([0, 1, 1, 500], seed=1)
    assert first.shape == (4, 1, 28, 28)
    assert first.dtype == torch.uint8
    assert torch.equal(first, render_glyphs(torch.tensor([0, 1, 1, 500]), seed=1))
    assert not torch.equal(first[1], first[2])
    assert not torch.equal(first, render_glyphs([0, 1, 1, 500], seed=2))
    assert render_glyphs([3], seed=0, size=56).shape == (1, 1, 56, 56)
    assert render_glyphs([], seed=0).shape == (0, 1, 28, 28)
    for wrong in (-1, 100_000):
        with pytest.raises(KanervaError, match=f"classes: .*got {wrong}"):
            render_glyphs([0, wrong], seed=0)


def test_the_names():
    drawn = ("omniglot", "omniglot-alphabets", "handwriting", "unseen-fonts")
    assert (*drawn, "omniglot-burda", "omniglot-gmn", "cifar10", "glyphs") == DATASETS


def test_dark_ink_on_a_light_background_is_ink(tmp_path):
    """Drawings read the same on a white background as on a black one."""
    drawn = np.zeros((40, 40), dtype=np.uint8)
    drawn[10:30, 18:22] = 255
    means = []
    for name, array in (("black", drawn), ("white", 255 - drawn)):
        for number in range(12):
            path = tmp_path / name / f"{number}.png"
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(np.roll(array, number % 3, axis=0)).save(path)
        dataset = load_dataset(str(tmp_path / name), "train", show_progress=False)
        means.append(dataset.images.float().mean().item())
        assert ("inverted" in dataset.encoding) == (name == "white")
    assert means[0] == pytest.approx(means[1], rel=0.01)
    assert 5 < means[0] < 50


def test_backgrounds_of_both_kinds_are_noticed(tmp_path):
    """A photograph may be light or dark; a drawing among the others must not turn inside out."""
    drawn = np.zeros((40, 40), dtype=np.uint8)
    drawn[10:30, 18:22] = 255
    for number in range(12):
        array = drawn if number < 2 else 255 - drawn
        Image.fromarray(array).save(tmp_path / f"{number}.png")
    with pytest.warns(MixedBackgroundsWarning, match="2 of 12 images have the other background"):
        dataset = load_dataset(str(tmp_path), "train", show_progress=False)
    assert "2 of 12 images" in dataset.encoding
