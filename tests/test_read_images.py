"""`kanerva.read_images`: a user's own files become images for a model."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

import kanerva
from kanerva import KanervaError, read_images
from kanerva.cli.demo import draw_episodes
from kanerva.data import SkippedFilesWarning, load_dataset
from kanerva.data.user_images import read_image_files


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Twelve dark drawings on a light background, larger than the model's images."""
    folder = tmp_path_factory.mktemp("drawings")
    images = draw_episodes(1, torch.Generator().manual_seed(0))[0, :12]
    for number, image in enumerate(images):
        drawing = Image.fromarray((255 - 255 * image[0]).byte().numpy())
        drawing.resize((140, 140)).save(folder / f"{number:02d}.png")
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path_factory.mktemp("cache")))


# What is accepted and returned


def test_a_path_a_string_and_several_of_them(drawings):
    every = read_images(drawings)
    assert every.shape == (12, 1, 28, 28)
    assert every.dtype == torch.float32
    assert torch.equal(read_images(str(drawings)), every)
    assert torch.equal(read_images([drawings]), every)
    assert torch.equal(read_images(sorted(drawings.iterdir())), every)
    assert torch.equal(read_images(path for path in [drawings]), every)
    assert torch.equal(read_images(drawings / "03.png"), every[3:4])
    assert torch.equal(read_images([drawings, drawings / "03.png"])[12], every[3])


def test_a_model_can_write_them(drawings):
    km = kanerva.load("omniglot")
    images = kanerva.read_images(drawings)
    result = km.read(images, km.write(images))
    assert result.images.shape == images.shape


def test_other_shapes(drawings):
    colour = read_images(drawings, image_shape=(3, 32, 32), binary=False)
    assert colour.shape == (12, 3, 32, 32)
    assert 0 <= colour.min() < colour.max() < 1


@pytest.mark.parametrize(
    "image_shape", [(1, 28), (1, 28, 32), (2, 28, 28), 28, None, (1, 0, 0), (1, 1e9, 1e9), "1,2,2"]
)
def test_shapes_that_cannot_be(drawings, image_shape):
    with pytest.raises(KanervaError, match=r"image_shape: .*km\.config\.image_shape"):
        read_images(drawings, image_shape=image_shape)


@pytest.mark.parametrize("paths", [[], (), None, 3, [None], [[]], {}])
def test_paths_that_are_none(paths):
    with pytest.raises(KanervaError, match="paths: expected"):
        read_images(paths)


@pytest.mark.parametrize("binary", ["no", 1, None])
def test_binary_is_yes_or_no(drawings, binary):
    with pytest.raises(KanervaError, match="binary: expected True or False"):
        read_images(drawings, binary=binary)


# Files that are not images


@pytest.fixture
def mixed(drawings, tmp_path):
    """Two images, five other files, and some that nobody wants to hear of."""
    folder = tmp_path / "mixed"
    (folder / "sub").mkdir(parents=True)
    whole = (drawings / "00.png").read_bytes()
    (folder / "a.png").write_bytes(whole)
    (folder / "sub" / "no ending").write_bytes(whole)
    (folder / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(500))
    (folder / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(500))
    (folder / "notes.txt").write_text("BM is how a bitmap begins")
    (folder / "sub" / "empty").write_bytes(b"")
    (folder / "sub" / "link").symlink_to("nowhere")
    (folder / ".DS_Store").write_bytes(b"hidden")
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX" / "a.png").write_bytes(b"hidden")
    return folder


def test_what_is_not_an_image_is_skipped_and_counted(mixed):
    with pytest.warns(
        SkippedFilesWarning, match=r"skipped 5 files .*Thumbs\.db, film\.mp4"
    ) as seen:
        images = read_images(mixed)
    assert len(images) == 2
    assert len(seen) == 1
    assert seen[0].filename == __file__
    read = read_image_files(mixed, image_shape=(1, 28, 28), binary=True)
    assert torch.equal(read.images, images)
    assert read.names == [str(mixed / "a.png"), str(mixed / "sub" / "no ending")]
    names = ["Thumbs.db", "film.mp4", "notes.txt", "sub/empty", "sub/link"]
    assert read.skipped == [str(mixed / name) for name in names]


def test_a_data_set_skips_them_too(mixed):
    for _ in range(2):  # from the files, and from the cache
        with pytest.warns(SkippedFilesWarning, match="skipped 5 files") as seen:
            data = load_dataset(mixed, "train")
        assert len(data) == 2
        assert len(seen) == 1
        assert seen[0].filename == __file__


def test_nothing_is_said_where_nothing_was_skipped(drawings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_images(drawings)
        load_dataset(drawings, "train")


@pytest.mark.parametrize("call", [read_images, lambda path: load_dataset(path, "train")])
def test_a_damaged_image_is_an_error_that_names_it(mixed, drawings, call):
    (mixed / "film.mp4").unlink()
    cut = (drawings / "01.png").read_bytes()[:-60]
    (mixed / "sub" / "cut.PNG").write_bytes(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedFilesWarning)
        with pytest.raises(KanervaError, match=r"sub/cut\.PNG: expected an image"):
            call(mixed)
    (mixed / "sub" / "cut.PNG").unlink()
    (mixed / "video.jpg").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedFilesWarning)
        with pytest.raises(KanervaError, match=r"video\.jpg: expected an image"):
            call(mixed)


def test_a_folder_in_which_all_is_skipped(mixed):
    (mixed / "a.png").unlink()
    (mixed / "sub" / "no ending").unlink()
    for call in (read_images, lambda path: load_dataset(path, "train")):
        with pytest.raises(KanervaError, match=r"skipped 5 files .*Thumbs\.db.*PNG, JPEG"):
            call(mixed)


def test_a_file_that_was_named_is_not_skipped(mixed):
    with pytest.raises(KanervaError, match=r"Thumbs\.db: expected an image"):
        read_images(mixed / "Thumbs.db")


def test_large_files_that_are_not_images_are_not_read(mixed):
    with (mixed / "film.mp4").open("wb") as file:
        file.truncate(10 * 2**30)  # it takes no space
    with pytest.warns(SkippedFilesWarning, match="5 files"):
        load_dataset(mixed, "train")
    with (mixed / "huge.png").open("wb") as file:
        file.truncate(10 * 2**30)
    for call in (read_images, lambda path: load_dataset(path, "train")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedFilesWarning)
            with pytest.raises(KanervaError, match=r"huge\.png: .*10,737,418,240 bytes"):
                call(mixed)


# Backgrounds


def test_the_background_may_be_light_or_dark(drawings, tmp_path):
    path = drawings / "03.png"
    Image.fromarray(255 - np.asarray(Image.open(path))).save(tmp_path / "dark.png")
    images = read_images([path, tmp_path])
    assert torch.equal(images[0], images[1])
    assert set(images.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("background", "ink"),
    [(255, 0), (230, 0), (200, 40), (128, 0), (30, 220), (255, 240), (128, 255), (0, 255)],
)
def test_the_background_may_have_any_grey(drawings, tmp_path, background, ink):
    path = drawings / "03.png"
    shares = np.asarray(Image.open(path)).astype(float) / 255  # 1 is background
    Image.fromarray((ink + (background - ink) * shares).round().astype(np.uint8)).save(
        tmp_path / "grey.png"
    )
    usual, grey = read_images([path, tmp_path])
    assert (usual != grey).float().mean() < 0.03  # edges of strokes
    assert 0.02 < usual.mean() < 0.5


def test_a_rough_background_is_background(drawings, tmp_path):
    path = drawings / "03.png"
    rng = np.random.default_rng(0)
    rough = np.asarray(Image.open(path)) * (
        np.kron(rng.uniform(200, 240, (28, 28)), np.ones((5, 5))) / 255
    )
    Image.fromarray(rough.astype(np.uint8)).save(tmp_path / "1.png")
    floats = np.asarray(Image.open(path)).astype(np.float32) / 255
    Image.fromarray(floats).save(tmp_path / "2.tiff")
    usual, rough, floating = read_images([path, tmp_path])
    assert rough[usual == 0].mean() < 0.01
    assert rough[usual == 1].mean() > 0.6  # strokes are thinner there, not gone
    assert torch.equal(floating, usual)


def test_a_blank_page_is_an_error(tmp_path):
    rng = np.random.default_rng(0)
    page = rng.integers(250, 253, (140, 140)).astype(np.uint8)
    Image.fromarray(page).save(tmp_path / "blank.png")
    with pytest.raises(KanervaError, match=r"no ink found in blank\.png"):
        read_images(tmp_path)
