"""Numbers as bars above and below zero, in a picture of any size."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

BAR = np.array([31, 95, 168], dtype=np.uint8)
WHITE = np.array([255, 255, 255], dtype=np.uint8)


def bar_chart(values: NDArray[np.floating], *, width: int, height: int) -> Image.Image:
    """Draw numbers (K,) as K bars that fill a white picture from the lowest to the highest."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    span = (high - low) or 1.0
    level = high - (np.arange(height) + 0.5) / height * span
    below, above = np.minimum(values, 0)[None], np.maximum(values, 0)[None]
    inside = (level[:, None] > below) & (level[:, None] < above)
    pixels = np.where(inside[..., None], BAR, WHITE)
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX)
