"""Images inside a JSON file: bytes in base64, with their shape."""

import base64
import math
from typing import Any

import numpy as np


def pack(images: Any) -> dict[str, Any]:
    """Images with values between 0 and 1, an array or a tensor of any shape."""
    array = np.round(np.clip(np.asarray(images, dtype=np.float64), 0, 1) * 255).astype(np.uint8)
    return {"shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode()}


def unpack(packed: dict[str, Any]) -> np.ndarray:
    """Values between 0 and 1."""
    data = np.frombuffer(base64.b64decode(packed["bytes"]), dtype=np.uint8)
    assert data.size == math.prod(packed["shape"])
    return data.reshape(packed["shape"]) / 255
