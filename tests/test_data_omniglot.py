"""Omniglot in both versions, as small real files; the real archives are in test_data_real.py."""

import importlib
import sys

import numpy as np
import pytest
import torch

from data_cases import fails, load_all, png, same, write_zip
from kanerva.data import load_dataset, omniglot
from kanerva.data.paths import resolve_data_folder


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


# Omniglot


def drawing(number: int) -> bytes:
    """Black ink on white: one stroke, in another column for each drawer."""
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
    # Ink is 255 where it was black, with greys, in the column of its drawer.
    for dataset in (train, test):
        assert dataset.drawers is not None
        columns = dataset.images[:, 0].float().mean(1).argmax(1)
        assert torch.equal(columns, ((6.5 + 3 * dataset.drawers) * 28 / 105).long())
    assert len(train.images.unique()) > 2


def test_omniglot_by_alphabets(data, small_omniglot, monkeypatch):
    """The same drawings, but no alphabet is on two sides."""
    monkeypatch.setattr(omniglot, "VALID_ALPHABETS", 2)
    write_omniglot(data, small_omniglot)
    by_drawer, parts = load_all("omniglot"), load_all("omniglot-alphabets")
    assert [len(part) for part in parts.values()] == [40, 40, 80, 40]
    names = by_drawer["train"].class_names
    found = {}
    for split, part in parts.items():
        assert part.class_names == names
        assert part.drawers is not None
        assert sorted(part.drawers.unique().tolist()) == list(range(1, 21))
        found[split] = {names[label].split("/")[0] for label in part.labels.tolist()}
    assert found["fit"] == {"Greek"}
    assert found["valid"] == {"Latin"}
    assert found["test"] == {"Keble", "Tibetan"}
    every = [torch.cat([data["train"].images, data["test"].images]) for data in (by_drawer, parts)]
    sums = [images.flatten(1).double() @ torch.arange(784.0).double() for images in every]
    torch.testing.assert_close(*(one.sort().values for one in sums))


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
    fails("nothing there", "./no/such/folder", "test")
    fails("a file", str(data / "images_background.zip"), "test")


def test_the_data_folder_is_the_one_given_else_KANERVA_DATA_else_data(monkeypatch, tmp_path):
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
