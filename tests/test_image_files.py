"""Image files of all kinds: unusual modes, damaged metadata, files that only begin as images."""

import io
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kanerva import KanervaError
from kanerva.data.image_files import is_image, open_image, to_array
from kanerva.data.user_images import read_images


def drawn() -> np.ndarray:
    """White with a black bar left of the middle."""
    array = np.full((64, 64), 255, np.uint8)
    array[10:54, 20:26] = 0
    return array


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def exif(orientation: int = 3) -> Image.Exif:
    metadata = Image.Exif()
    metadata[0x0112] = orientation
    metadata[0x010E] = "a description"
    return metadata


GREY = Image.fromarray(drawn())
NEUTRAL = Image.new("L", GREY.size, 128)
FILES = {
    "grey PNG": encoded(GREY, "PNG"),
    "1-bit PNG": encoded(GREY.convert("1"), "PNG"),
    "palette PNG": encoded(GREY.convert("RGB").convert("P"), "PNG"),
    "grey and alpha PNG": encoded(GREY.convert("LA"), "PNG"),
    "16-bit PNG": encoded(Image.fromarray(drawn().astype(np.uint16) * 257), "PNG"),
    "CMYK JPEG": encoded(GREY.convert("CMYK"), "JPEG", quality=95),
    "grey JPEG": encoded(GREY, "JPEG", quality=95),
    "GIF of three frames": encoded(
        GREY.convert("P"), "GIF", save_all=True, append_images=[GREY.convert("P")] * 2
    ),
    "BMP": encoded(GREY.convert("RGB"), "BMP"),
    "1-bit BMP": encoded(GREY.convert("1"), "BMP"),
    "WEBP": encoded(GREY.convert("RGB"), "WEBP", lossless=True),
    "TIFF": encoded(GREY, "TIFF"),
    "16-bit TIFF": encoded(Image.fromarray(drawn().astype(np.uint16) * 257), "TIFF"),
    "32-bit TIFF": encoded(Image.fromarray(drawn().astype(np.int32) * 257), "TIFF"),
    "32-bit TIFF up to 255": encoded(Image.fromarray(drawn().astype(np.int32)), "TIFF"),
    "LAB TIFF": encoded(Image.merge("LAB", (GREY, NEUTRAL, NEUTRAL)), "TIFF"),
    "float TIFF": encoded(Image.fromarray(drawn().astype(np.float32) / 255), "TIFF"),
    "large float TIFF": encoded(Image.fromarray(drawn().astype(np.float32)), "TIFF"),
    "fax TIFF": encoded(GREY.convert("1"), "TIFF", compression="group4"),
    "PPM": encoded(GREY.convert("RGB"), "PPM"),
    "PGM": encoded(GREY, "PPM"),
    "PBM": encoded(GREY.convert("1"), "PPM"),
}


@pytest.mark.parametrize("name", FILES)
def test_kinds_of_files(name):
    array = to_array(open_image(FILES[name], name), size=28, grey=True)
    usual = to_array(GREY, size=28, grey=True)
    assert np.abs(array.astype(int) - usual).max() < 12  # JPEG and dithering change a little


def test_pixels_that_cannot_be_converted(monkeypatch):
    """Builds of Pillow without colour management cannot convert LAB."""

    def convert(self, mode):
        raise ValueError(f"conversion from {self.mode} to {mode} not supported")

    monkeypatch.setattr(Image.Image, "convert", convert)
    with pytest.raises(KanervaError, match=r"lab\.tiff: .*conversion from LAB to RGB"):
        open_image(FILES["LAB TIFF"], "lab.tiff")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_damaged_metadata_does_not_matter(kind):
    """The pixels are whole. Without the orientation the image is read as it is stored."""
    usual = to_array(GREY, size=28, grey=True).astype(int)
    whole = encoded(GREY.convert("RGB"), kind, exif=exif())
    turned = to_array(open_image(whole, "whole"), size=28, grey=True)
    assert np.abs(turned[:, ::-1, ::-1] - usual).max() < 12
    damaged = whole.replace(b"MM\0*\0\0\0\x08", b"MM\0\0\0\0\0\x08")
    assert damaged != whole
    if kind == "PNG":  # its chunks have checksums
        return
    array = to_array(open_image(damaged, "damaged"), size=28, grey=True)
    assert np.abs(array - usual).max() < 12


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_floats_that_are_not_numbers(value):
    values = drawn().astype(np.float32) / 255
    values[0, 0] = value
    array = to_array(Image.fromarray(values), size=28, grey=True)
    assert array.max() <= 255


@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (5000, 1), (2, 3)])
def test_strange_shapes(shape):
    image = Image.fromarray(np.zeros(shape, np.uint8))
    assert to_array(image, size=28, grey=False).shape == (3, 28, 28)


TEXTS = {
    "bitmap": b"BMW and other makes of cars, a list",
    "portable": b"Python was here",
    "P5": b"P5 and P6 are models",
    "tiff": b"II*\0" + bytes(100),
    "ole": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
    "film": b"\0\0\0\x18ftypmp42" + bytes(100),
    "riff": b"RIFF\0\0\0\0WAVE" + bytes(100),
    "nothing": b"",
    "one byte": b"B",
    "pdf": b"%PDF-1.7",
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_only_begins_as_an_image(tmp_path, name):
    (tmp_path / "file").write_bytes(TEXTS[name])
    assert not is_image(tmp_path / "file")


@pytest.mark.parametrize("name", [name for name in FILES if "TIFF" not in name])
def test_images_without_an_ending(tmp_path, name):
    """Raw files of cameras begin as TIFF does, so that these need their ending."""
    (tmp_path / "file").write_bytes(FILES[name])
    assert is_image(tmp_path / "file")


def test_files_that_cannot_be_opened(tmp_path):
    assert not is_image(tmp_path)
    assert not is_image(tmp_path / "nothing")
    assert not is_image(Path("/proc/kmsg"))  # reading it would wait for ever


def test_threads_leave_settings_for_all_threads_alone():
    before = list(warnings.filters), Image.MAX_IMAGE_PIXELS
    data = FILES["grey PNG"]

    def work():
        for _ in range(200):
            open_image(data, "x")

    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert (list(warnings.filters), Image.MAX_IMAGE_PIXELS) == before


def test_too_many_pixels():
    header = encoded(Image.new("1", (20_000, 20_000)), "PNG")
    with pytest.raises(KanervaError, match="pixels"):
        open_image(header, "bomb.png")
    header = encoded(Image.new("1", (9_900, 9_900)), "PNG")  # Pillow would warn
    assert open_image(header, "large.png").size == (9_900, 9_900)


@pytest.mark.parametrize("factor", [1000, -1])
def test_integers_without_a_white_are_refused(tmp_path, factor):
    """Nobody knows what is white above 65,535, and cutting them off there would bleach them."""
    values = drawn().astype(np.int32) * factor
    (tmp_path / "odd.tif").write_bytes(encoded(Image.fromarray(values), "TIFF"))
    with pytest.raises(KanervaError, match=r"odd\.tif: .*white is 255 or 65,535"):
        read_images([tmp_path / "odd.tif"])
