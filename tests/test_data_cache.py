"""The cache: a data set comes back the same, and an incomplete file is never used."""

import os
import time
import warnings

import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save

from data_cases import png
from kanerva.data import load_dataset


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    for kind in "ab":
        (folder / kind).mkdir(parents=True)
        for number in range(10):
            (folder / kind / f"{number}.png").write_bytes(png((10 * number, 5, 7), 40, "RGB"))
    return folder


def cached(folder):
    return sorted((folder.parent / "cache").iterdir())


def assert_same(a, b):
    assert torch.equal(a.images, b.images)
    assert torch.equal(a.labels, b.labels)
    assert a.class_names == b.class_names
    assert a.encoding == b.encoding


def test_a_second_read_is_the_same_and_from_one_file(folder):
    first = {split: load_dataset(str(folder), split) for split in ("train", "fit", "valid", "test")}
    (file,) = cached(folder)
    assert file.suffix == ".safetensors"
    written = file.stat().st_mtime_ns
    for split, dataset in first.items():
        assert_same(load_dataset(str(folder), split), dataset)
    assert file.stat().st_mtime_ns == written
    load_dataset(str(folder), "test", size=9)
    assert len(cached(folder)) == 2


def test_a_changed_source_is_read_anew(folder):
    before = load_dataset(str(folder), "train")
    for path in folder.rglob("*.png"):
        path.write_bytes(png((200, 200, 200), 40, "RGB"))
    after = load_dataset(str(folder), "train")
    assert not torch.equal(before.images, after.images)
    os.utime(next(folder.rglob("*.png")), ns=(1, time.time_ns()))
    load_dataset(str(folder), "train")
    assert len(cached(folder)) == 3


@pytest.mark.parametrize("kept", [0, 5, 100, 2000])
def test_a_damaged_cache_is_made_anew(folder, kept):
    first = load_dataset(str(folder), "train")
    (file,) = cached(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:kept])
    with pytest.warns(UserWarning, match="is damaged"):
        assert_same(load_dataset(str(folder), "train"), first)
    assert file.read_bytes() == whole


def test_no_flipped_byte_is_ever_used(folder):
    """Somewhere in every 60 bytes of the file: its header, its labels and its pixels."""
    splits = ("fit", "valid", "train", "test")
    first = {split: load_dataset(str(folder), split, size=4) for split in splits}
    (file,) = cached(folder)
    whole = file.read_bytes()
    noticed = dict.fromkeys(splits, 0)
    for place in range(7, len(whole), 61):
        for split in splits:
            changed = bytearray(whole)
            changed[place] ^= 1 << place % 8
            file.write_bytes(changed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert_same(load_dataset(str(folder), split, size=4), first[split])
            if caught:
                assert "is damaged and is made anew" in str(caught[0].message)
                assert file.name in str(caught[0].message)
                noticed[split] += 1
                assert file.read_bytes() == whole
            else:  # it is in a part of the file that this split does not need
                assert split != "train" or first["train"].images.numel() < len(whole)
    places = len(range(7, len(whole), 61))
    assert all(0.3 * places < count < places for count in noticed.values()), (noticed, places)
    assert noticed["train"] > max(noticed["fit"], noticed["valid"])


def test_a_file_that_somebody_else_made_is_not_used(folder):
    """The same pixels under another header: the classes are part of the checksum."""
    first = load_dataset(str(folder), "train")
    (file,) = cached(folder)
    with safe_open(file, framework="numpy") as old:
        arrays = {name: old.get_tensor(name) for name in old.keys()}  # noqa: SIM118
        words = {name: word.replace('"a"', '"z"') for name, word in old.metadata().items()}
    file.write_bytes(save(arrays, metadata=words))
    with pytest.warns(UserWarning, match="is damaged"):
        assert_same(load_dataset(str(folder), "train"), first)


def test_folders_that_look_alike_are_not_confused(folder):
    """Same name, same sizes and times of all files, other pixels: bitmaps, or an unpacked zip."""
    other = folder.parent / "other" / "mine"
    for here, grey in ((folder, 0), (other, 255)):
        for path in folder.rglob("*.png"):
            copy = here / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (40, 40), (grey, grey, grey)).save(copy, "BMP")
            os.utime(copy, ns=(10**18, 10**18))
    assert load_dataset(folder, "train").images.max() == 0
    assert load_dataset(other, "train").images.min() == 255
    for path in folder.rglob("*.png"):  # changed later, with the old size and time
        Image.new("RGB", (40, 40), (9, 9, 9)).save(path, "BMP")
        os.utime(path, ns=(10**18, 10**18))
    assert load_dataset(folder, "train").images.max() == 9


def test_a_cache_that_cannot_be_written_only_warns(folder, monkeypatch):
    first = load_dataset(str(folder), "train")
    (folder.parent / "file").write_text("not a folder")
    monkeypatch.setenv("KANERVA_CACHE", str(folder.parent / "file" / "cache"))
    with pytest.warns(UserWarning, match="set KANERVA_CACHE to a folder that can"):
        second = load_dataset(str(folder), "train")
    assert_same(first, second)


def test_nothing_is_left_behind_when_writing_fails(folder, monkeypatch):
    def no_space(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.warns(UserWarning, match="no space left"):
        load_dataset(str(folder), "train")
    assert cached(folder) == []
