"""Images in requests and answers: PNG as a data URL, nested arrays, or bytes in base64."""

import base64
import binascii
import io
from typing import Literal

import numpy as np
import torch
from PIL import Image as PillowImage
from torch import Tensor

from kanerva.data.user_images import image_from_bytes
from kanerva.errors import KanervaError
from kanerva.web.limits import MAX_PNG_PIXELS

Format = Literal["png", "array", "bytes"]
PNG_START = "data:image/png;base64,"


def decoded(
    image: "str | list[list[list[float]]] | dict[str, str]",
    *,
    argument: str,
    image_shape: tuple[int, int, int],
    binary: bool,
) -> Tensor:
    """One image of a request, (channels, H, W) in whole 255ths between 0 and 1."""
    if isinstance(image, str):
        return _from_png(image, argument=argument, image_shape=image_shape, binary=binary)
    if isinstance(image, dict):
        data = _from_base64(image["bytes"], argument)
        if len(data) != np.prod(image_shape):
            raise _wrong(argument, f"{len(data)} bytes", image_shape)
        array = np.frombuffer(data, np.uint8).reshape(image_shape)
        return torch.from_numpy(array.astype(np.float32) / 255)
    try:
        array = np.asarray(image, np.float32)
    except ValueError:
        raise _wrong(argument, "rows of different lengths", image_shape) from None
    if array.shape != image_shape:
        raise _wrong(argument, f"shape {array.shape}", image_shape)
    return torch.from_numpy(np.round(array * 255).astype(np.float32) / 255)


def encoded(image: Tensor, form: Format) -> "str | list[list[list[float]]] | dict[str, str]":
    """One image (channels, H, W) for an answer."""
    if form == "array":
        return [[[round(value, 4) for value in row] for row in channel] for channel in _rows(image)]
    data = to_bytes(image)
    if form == "bytes":
        return {"bytes": base64.b64encode(data.tobytes()).decode()}
    return PNG_START + base64.b64encode(png(data)).decode()


def to_bytes(image: Tensor) -> np.ndarray:
    """Values between 0 and 1 as uint8 of the same shape."""
    return np.round(image.detach().cpu().numpy().clip(0, 1) * 255).astype(np.uint8)


def png(image: np.ndarray) -> bytes:
    """A PNG file of uint8 (channels, H, W); drawings have dark ink on white paper."""
    pixels = 255 - image[0] if len(image) == 1 else image.transpose(1, 2, 0)
    file = io.BytesIO()
    PillowImage.fromarray(np.ascontiguousarray(pixels)).save(file, "PNG")
    return file.getvalue()


def from_payload(data: bytes, image_shape: tuple[int, int, int]) -> Tensor | None:
    """An image that the server stored with an item, bit for bit; None if it is something else."""
    if len(data) != np.prod(image_shape):
        return None
    array = np.frombuffer(data, np.uint8).reshape(image_shape)
    return torch.from_numpy(array.astype(np.float32) / 255)


def _rows(image: Tensor) -> list[list[list[float]]]:
    return image.detach().cpu().tolist()


def _from_png(
    text: str, *, argument: str, image_shape: tuple[int, int, int], binary: bool
) -> Tensor:
    """A picture of a user: its middle square, as `read_images` reads it."""
    data = _from_base64(text.removeprefix(PNG_START), argument)
    try:
        with PillowImage.open(io.BytesIO(data), formats=("PNG",)) as picture:
            pixels = picture.width * picture.height
    except Exception:  # Pillow raises nearly anything on damaged files
        raise _not_png(argument, "something else, or one that is cut short") from None
    if pixels > MAX_PNG_PIXELS:
        raise _not_png(argument, f"{pixels:,} pixels; {MAX_PNG_PIXELS:,} are allowed")
    return image_from_bytes(data, argument, image_shape=image_shape, binary=binary)


def _from_base64(text: str, argument: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise KanervaError(
            argument,
            expected="base64",
            got=repr(text[:40]),
            fix="Encode the bytes with base64, standard alphabet, with padding.",
        ) from None


def _wrong(argument: str, got: str, image_shape: tuple[int, int, int]) -> KanervaError:
    return KanervaError(
        argument,
        expected=f"an image of shape {image_shape}, or {np.prod(image_shape)} bytes",
        got=got,
        fix="GET /api/about says which shape the model has; a PNG may have any size.",
    )


def _not_png(argument: str, got: str) -> KanervaError:
    return KanervaError(
        argument, expected="a PNG image", got=got, fix="Save the picture as a PNG, not too large."
    )
