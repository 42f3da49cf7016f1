"""Image files as square arrays of the size we want."""

import io
import re
import threading
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from kanerva.errors import KanervaError

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
"""The formats that Pillow may read here. None of them starts another program."""
_BEGINNING = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP"  # PNG, JPEG, GIF, WEBP
    rb"|BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0"  # BMP, with the size of a known header
    rb"|P[1-6]\s+(?:#[^\n]*\s+)*\d+\s",  # PPM, PGM and PBM
    re.DOTALL,
)
MAX_INTEGER = 65535
"""White, in images of 16 bits."""
MAX_PIXELS = 100_000_000
"""The most pixels of one image. Pillow's own limit only warns at about this size."""
_PILLOW_LIMIT = threading.Lock()
"""Held while Pillow's own limit, which is the same for all threads, is not in use."""
RESAMPLING = Image.Resampling.LANCZOS
"""Pillow's antialiasing filter, called ANTIALIAS when the paper was written.

Measured on Omniglot at threshold 20. Ink: nearest 8.0 %, box 12.5, lanczos 13.1, hamming 13.2,
bicubic 13.4, bilinear 14.6. Among the filters whose greys suit a threshold, lanczos closes the
fewest loops (22 % of characters lose one; bilinear 27 %), and none of them breaks a stroke in two.
"""


def is_image(path: Path) -> bool:
    """Whether a file begins as an image does, whatever its name is.

    TIFF is left out, because the raw files of cameras begin in the same way.
    """
    try:
        if path.stat().st_size == 0:  # files of the system say so, too; some never end
            return False
        with path.open("rb") as file:
            return _BEGINNING.match(file.read(64)) is not None
    except OSError:
        return False


def open_image(data: bytes, where: str) -> Image.Image:
    """Decode the bytes of an image file; `where` names the file in errors."""
    try:
        image = _identified(data)
        if image.width * image.height > MAX_PIXELS:
            raise _bad(where, f"{image.width} x {image.height} pixels, more than {MAX_PIXELS:,}")
        image.load()
        if image.mode == "F" and not np.isfinite(np.asarray(image)).any():
            raise _bad(where, "no pixel that is a number")
        if image.mode == "I":
            low, high = np.asarray(image).min(), np.asarray(image).max()
            if low < 0 or high > MAX_INTEGER:
                raise _bad(where, f"pixels from {low} to {high}, where white is 255 or 65,535")
        upright(image.crop((0, 0, 1, 1)), grey=True)  # can its kind of pixels be converted?
    except KanervaError:
        raise
    except UnidentifiedImageError:
        raise _bad(where, "another kind of file, or an image that is cut short") from None
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged files
        raise _bad(where, " ".join(str(error).split()) or type(error).__name__) from None
    return image


def _identified(data: bytes) -> Image.Image:
    """Find out the format and size. Our own limit replaces Pillow's, which would also warn."""
    with _PILLOW_LIMIT:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(io.BytesIO(data), formats=FORMATS)
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def to_array(image: Image.Image, *, size: int, grey: bool) -> np.ndarray:
    """Turn an image upright, put it on white, cut out its middle square and resize that.

    Returns uint8 (channels, size, size), with one channel if `grey` and three if not.
    """
    return middle_square(upright(image, grey=grey), size)


def upright(image: Image.Image, *, grey: bool) -> Image.Image:
    """Turn an image upright, put it on white, and convert it to 8 bits of grey or colour."""
    try:
        image = ImageOps.exif_transpose(image)
    except Exception:  # Pillow raises nearly anything on damaged metadata; the pixels are whole
        image = image.copy()
    if image.mode.startswith("I"):  # integers, which Pillow would cut off at 255
        values = np.asarray(image).clip(0, MAX_INTEGER)  # or in 32 bits up to 255
        is_small = image.mode == "I" and values.max() <= 255
        image = Image.fromarray((values if is_small else values // 257).astype(np.uint8))
    if image.mode == "F":  # floating point, up to 1 or up to 255
        values = np.nan_to_num(np.asarray(image)).clip(0, 255)
        image = Image.fromarray((values * (255 if values.max() <= 1 else 1)).astype(np.uint8))
    if image.mode == "LAB":  # Pillow converts it to colours only
        image = image.convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("L" if grey else "RGB")


def middle_square(image: Image.Image, size: int) -> np.ndarray:
    """Cut out the middle square of an upright image; returns uint8 (channels, size, size)."""
    array = np.asarray(ImageOps.fit(image, (size, size), RESAMPLING))
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def has_light_background(images: np.ndarray) -> bool:
    """Whether the border of images (..., H, W), from 0 to 255, is mostly light."""
    return float(np.median(border(images))) > 127


def border(images: np.ndarray) -> np.ndarray:
    """The outermost pixels of images (..., H, W), as one row of numbers."""
    sides = (images[..., 0, :], images[..., -1, :], images[..., 0], images[..., -1])
    return np.concatenate([side.reshape(-1) for side in sides])


def _bad(where: str, got: str) -> KanervaError:
    return KanervaError(
        where,
        expected=f"an image ({', '.join(FORMATS)})",
        got=got,
        fix="Replace the file, or remove it from the folder or archive.",
    )
