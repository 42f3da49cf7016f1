"""The cache: a data set comes back the same, and an incomplete file is never used."""

import os
import time

import pytest
import torch

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
    assert_same(load_dataset(str(folder), "train"), first)
    assert file.read_bytes() == whole


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
