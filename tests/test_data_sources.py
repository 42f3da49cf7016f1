"""Every kind of source, as small real files; the big ones are in test_data_real.py."""

import importlib
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva import KanervaError
from kanerva.data import DATASETS, Dataset, cifar10, load_dataset, omniglot, render_glyphs
from kanerva.data.paths import resolve_data_folder
from test_data_archives import png, write_tar, write_zip


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def fails(match, *args, **options):
    with pytest.raises(KanervaError, match=match) as caught:
        load_dataset(*args, **options)
    assert "\n" not in str(caught.value)


def load_all(name, **options) -> dict[str, Dataset]:
    return {
        split: load_dataset(name, split, **options) for split in ("fit", "valid", "train", "test")
    }


def same(a: Dataset, b: Dataset) -> bool:
    return torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels)


# Omniglot


def drawing(number: int) -> bytes:
    """Black ink on white: one stroke whose place tells the drawings apart."""
    page = np.ones((105, 105), bool)
    page[10:95, 5 + 3 * number : 8 + 3 * number] = False
    return png(page)


ALPHABETS = {"images_background": ("Greek", "Latin"), "images_evaluation": ("Keble", "Tibetan")}


def omniglot_files(part: str, num: int) -> dict[str, bytes]:
    return {
        f"{part}/{alphabet}/character{character:02d}/{9:04d}_{drawer:02d}.png": drawing(drawer)
        for alphabet in ALPHABETS[part]
        for character in range(1, num // 2 + 1)
        for drawer in range(1, 21)
    }


@pytest.fixture
def small_omniglot(data, monkeypatch):
    """Two alphabets of two characters and two of one, by all 20 drawers."""
    counts = {"images_background": 4, "images_evaluation": 2}
    monkeypatch.setattr(omniglot, "NUM_CHARACTERS", counts)
    return {part: omniglot_files(part, num) for part, num in counts.items()}


def write_omniglot(data, contents):
    for part, entries in contents.items():
        write_zip(data / f"{part}.zip", entries)


def test_omniglot(data, small_omniglot):
    write_omniglot(data, small_omniglot)
    parts = load_all("omniglot")
    assert [len(part) for part in parts.values()] == [6 * 13, 6 * 2, 6 * 15, 6 * 5]
    train, test = parts["train"], parts["test"]
    assert torch.equal(train.images, torch.cat([parts["fit"].images, parts["valid"].images]))
    assert train.drawers is not None
    assert test.drawers is not None
    assert train.drawers.unique().tolist() == list(range(1, 16))
    assert test.drawers.unique().tolist() == list(range(16, 21))
    assert train.class_names == test.class_names
    assert train.labels.bincount().tolist() == [15] * 6
    assert train.likelihood == "bernoulli"
    assert train.binarisation == "threshold20"
    # Ink is 255, where it was black, still grey, and in the column of its drawer.
    for dataset in (train, test):
        assert dataset.drawers is not None
        columns = dataset.images[:, 0].float().mean(1).argmax(1)
        assert torch.equal(columns, ((6.5 + 3 * dataset.drawers) * 28 / 105).long())
    assert len(train.images.unique()) > 2


def test_omniglot_zipped_and_unpacked_are_the_same(data, tmp_path, small_omniglot):
    write_omniglot(data, small_omniglot)
    unpacked = tmp_path / "unpacked"
    for entries in small_omniglot.values():
        for name, content in entries.items():
            (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
            (unpacked / name).write_bytes(content)
    assert same(
        load_dataset("omniglot", "test"), load_dataset("omniglot", "test", data_folder=unpacked)
    )


def test_omniglot_that_is_not_whole(data, small_omniglot):
    fails(
        r"images_background\.zip.*got a folder without it.*data fetch omniglot", "omniglot", "test"
    )
    fails("no such folder", "omniglot", "test", data_folder=data / "nowhere")
    write_omniglot(data, small_omniglot)
    (data / "images_evaluation.zip").unlink()
    fails(r"images_evaluation\.zip", "omniglot", "test")
    some = dict(list(small_omniglot["images_evaluation"].items())[:-3])
    write_zip(data / "images_evaluation.zip", some)
    fails("missing 3 drawings, first Tibetan/character01 by drawer 18", "omniglot", "test")
    write_zip(data / "images_evaluation.zip", dict(list(some.items())[:20]))
    fails("2 characters by 20 drawers.*got 1 characters in 20 drawings", "omniglot", "test")
    write_zip(data / "images_evaluation.zip", {next(iter(some)): b"no image"})
    fails(r"0009_01\.png: expected an image", "omniglot", "test")
    (data / "images_evaluation.zip").write_bytes(b"PK\x03\x04 and no more")
    fails("a whole zip archive", "omniglot", "test")


def test_options(data, small_omniglot):
    write_omniglot(data, small_omniglot)
    large = load_dataset("omniglot", "test", size=40, binarisation="stochastic")
    assert large.image_shape == (1, 40, 40)
    assert large.binarisation == "stochastic"
    grey = load_dataset("omniglot", "test", likelihood="gaussian")
    assert grey.binarisation == "none"
    for size in (0, -1, 2.5, True, 10**6):
        fails("size: expected a whole number from 1 to 1024", "omniglot", "test", size=size)
    fails("grey: expected True", "omniglot", "test", grey=False)
    fails("likelihood: .*got 'poisson'", "omniglot", "test", likelihood="poisson")
    fails("threshold20 or stochastic with a bernoulli", "omniglot", "test", binarisation="none")
    fails(
        "none with a gaussian", "omniglot", "test", likelihood="gaussian", binarisation="stochastic"
    )
    fails("split: .*got 'tset'. Did you mean 'test'", "omniglot", "tset")
    fails("Did you mean 'omniglot'", "omniglott", "test")
    fails("got 'zzz'. Choose one of these, or pass the path of a folder", "zzz", "test")
    fails("which is not there", "./no/such/folder", "test")
    fails("a file", str(data / "images_background.zip"), "test")


def test_the_data_folder_is_the_one_told_else_the_environments_else_data(monkeypatch, tmp_path):
    assert resolve_data_folder("here") == resolve_data_folder(resolve_data_folder("here"))
    assert resolve_data_folder() == tmp_path / "data"
    monkeypatch.delenv("KANERVA_DATA")
    assert str(resolve_data_folder()) == "data"


# Burda's file


def write_mat(path, num_train=50, num_test=20, **changes):
    savemat = importlib.import_module("scipy.io").savemat
    generator = np.random.default_rng(0)
    images = generator.uniform(size=(num_train + num_test, 28, 28))
    columns = images.transpose(0, 2, 1).reshape(len(images), 784).T  # column by column
    alphabet = generator.integers(0, 3, len(images))
    character = generator.integers(1, 3, (1, len(images)))
    arrays = {
        "data": columns[:, :num_train],
        "testdata": columns[:, num_train:],
        "target": np.eye(50)[:, alphabet[:num_train]],
        "testtarget": np.eye(50)[:, alphabet[num_train:]],
        "targetchar": character[:, :num_train],
        "testtargetchar": character[:, num_train:],
    } | changes
    savemat(path, {name: array for name, array in arrays.items() if array is not None})
    return images, alphabet, character[0]


def test_burda(data):
    images, alphabet, character = write_mat(data / "chardata.mat")
    parts = load_all("omniglot-burda")
    assert [len(part) for part in parts.values()] == [45, 5, 50, 20]
    test = parts["test"]
    assert test.binarisation == "stochastic"
    np.testing.assert_allclose(test.images[:, 0].numpy() / 255, images[50:], atol=0.5 / 255 + 1e-9)
    names = [test.class_names[label] for label in test.labels.tolist()]
    pairs = zip(alphabet[50:], character[50:], strict=True)
    assert names == [f"alphabet{a + 1:02d}/character{c:02d}" for a, c in pairs]


def test_burda_without_labels(data):
    write_mat(data / "chardata.mat", target=None, testtarget=None)
    assert load_dataset("omniglot-burda", "train").class_names == ("unlabelled",)


def test_burda_that_is_something_else(data, monkeypatch):
    path = data / "chardata.mat"
    fails("chardata.mat in ", "omniglot-burda", "test")
    write_mat(path, testdata=None)
    fails("no array testdata", "omniglot-burda", "test")
    write_mat(path, testdata=np.zeros((28, 28)))
    fails(r"testdata of shape \(28, 28\)", "omniglot-burda", "test")
    write_mat(path, testdata=np.full((784, 3), 255.0))
    fails("values from 255 to 255", "omniglot-burda", "test")
    write_mat(path)
    path.write_bytes(path.read_bytes()[:5000])
    fails("a MATLAB file", "omniglot-burda", "test")
    path.write_bytes(b"not a mat file at all" * 10)
    fails("a MATLAB file", "omniglot-burda", "test")
    fails("size: expected 28", "omniglot-burda", "test", size=32)
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    fails(r"SciPy.*pip install 'kanerva\[mat\]'", "omniglot-burda", "test")


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
    fails("no whole number of images", "cifar10", "test")
    write_tar(path, batches | {"cifar-10-batches-bin/test_batch.bin": b"\xff" * 3073})
    fails("a label of 255", "cifar10", "test")
    path.unlink()
    write_zip(data / "cifar10.zip", {"train/cat/1.png": png(size=31)})
    fails("31 x 31 pixels", "cifar10", "test")
    write_zip(data / "cifar10.zip", {"train/cow/1.png": png(size=32)})
    fails("a class 'cow'", "cifar10", "test")


# Folders of one's own


def fill(folder, names, mode="RGB"):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        value = number * 3 % 256
        (folder / name).write_bytes(png(value if mode == "L" else (value, 0, 255), 50, mode))


def test_a_folder_of_classes(tmp_path):
    folder = tmp_path / "my pictures"
    fill(folder, [f"{kind}/{number}.png" for kind in "abc" for number in range(20)])
    (folder / "notes.txt").write_text("not an image")
    (folder / "a/.DS_Store").write_text("not an image")
    parts = load_all(str(folder))
    assert [len(part) for part in parts.values()] == [43, 5, 48, 12]
    train, test = parts["train"], parts["test"]
    assert train.name == "my pictures"
    assert train.class_names == ("a", "b", "c")
    assert (train.likelihood, train.image_shape) == ("gaussian", (3, 32, 32))
    # A partition: every colour once, in the class it was in.
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


def test_folders_that_cannot_be_read(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    fails("got none", str(folder), "test")
    fill(folder, ["a/1.png", "a/2.png"])
    fails("split: expected images for valid, got none of the 2", str(folder), "valid")
    (folder / "a/table.xls").write_bytes(b"rows")
    fails(r"a/table\.xls: expected an image", str(folder), "train")


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


def test_glyphs_without_end():
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
    assert DATASETS == ("omniglot", "omniglot-burda", "cifar10", "glyphs")


def test_dark_ink_on_light_paper_is_ink(tmp_path):
    """A folder of drawings reads the same on white paper as on black."""
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
