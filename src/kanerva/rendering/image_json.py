"""Images inside a JSON file: bytes in base64, with their shape."""

import base64
from collections.abc import Mapping
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from kanerva.errors import KanervaError
from kanerva.rendering.arrays import Images, as_array


class ImageJson(TypedDict):
    """What a JSON file holds of some images."""

    shape: list[int]
    bytes: str
    """One byte for each value, 0 to 255, in base64."""


def images_to_json(images: Images) -> ImageJson:
    """Turn images with values between 0 and 1, of any shape, into something JSON can hold.

    Example:
        >>> images_to_json([[0.0, 1.0]])
        {'shape': [1, 2], 'bytes': 'AP8='}

    """
    values = as_array(images).astype(np.float64)
    array = np.round(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return {"shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode()}


def images_from_json(saved: Mapping[str, object]) -> NDArray[np.float64]:
    """Get the images back, with values between 0 and 1.

    Example:
        >>> images_from_json({"shape": [1, 2], "bytes": "AP8="})
        array([[0., 1.]])

    """
    shape, text = saved.get("shape"), saved.get("bytes")
    try:
        data = base64.b64decode(text if isinstance(text, str) else "?", validate=True)
        return np.frombuffer(data, dtype=np.uint8).reshape(_sizes(shape)) / 255
    except ValueError as error:
        raise KanervaError(
            "images",
            expected="a shape and as many bytes in base64",
            got=f"{sorted(saved)} ({error})",
            fix="Save the images again with images_to_json.",
        ) from None


def _sizes(shape: object) -> list[int]:
    """The shape of saved images; ValueError where it is not a list of whole numbers."""
    if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
        raise ValueError(f"shape {shape!r}")
    return shape
