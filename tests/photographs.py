"""Photographs of drawings in uneven light, for tests: light, noise, warm colour, JPEG."""

import io

import numpy as np
from PIL import Image

from kanerva.data import render_glyphs

LIGHTS = (
    "even", "gradient", "steep gradient", "dark corners", "lamp", "soft shadow", "hard shadow",
    "hand",
)  # fmt: skip
WARM = np.array([1.0, 0.96, 0.84])
"""Red, green and blue of an electric lamp."""


def drawings(count: int, *, size: int = 480, seed: int = 0) -> np.ndarray:
    """(count, size, size) from 0, background, to 1, ink."""
    classes = np.random.default_rng(seed).integers(0, 900, count)
    return render_glyphs(classes.tolist(), seed=seed, size=size)[:, 0].numpy() / 255.0


def light(kind: str, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """(height, width): how much light falls on each point, at most 1."""
    y, x = np.mgrid[-0.5 : 0.5 : 1j * height, -0.5 : 0.5 : 1j * width]
    angle = rng.uniform(0, 2 * np.pi)
    along = x * np.cos(angle) + y * np.sin(angle)
    if kind == "gradient":
        return 0.68 + 0.45 * along
    if kind == "steep gradient":
        return np.clip(0.6 + 0.62 * along, 0.15, 1)
    if kind == "dark corners":
        return 1 - 1.3 * (x**2 + y**2)
    if kind == "lamp":
        x0, y0 = rng.uniform(-0.6, 0.6, 2)
        return 0.25 + 0.75 * np.exp(-((x - x0) ** 2 + (y - y0) ** 2) / 0.25)
    if kind in ("soft shadow", "hard shadow"):
        width_of_edge = 0.04 if kind == "soft shadow" else 0.004
        return _shadow((along - rng.uniform(-0.2, 0.2)) / width_of_edge)
    if kind == "hand":
        distance = np.hypot(x - 0.6 * np.cos(angle), y - 0.6 * np.sin(angle))
        return _shadow((distance - 0.45) / 0.015)
    return np.ones_like(x)


def _shadow(distance: np.ndarray) -> np.ndarray:
    return 0.45 + 0.55 / (1 + np.exp(-distance.clip(-500, 500)))


def photograph(
    drawing: np.ndarray,
    kind: str,
    rng: np.random.Generator,
    *,
    background: float = 230,
    ink: float = 45,
) -> bytes:
    """A JPEG file in colour, three wide and two high, with the drawing (S, S) in its middle."""
    margin = len(drawing) // 4
    wide = np.pad(drawing, ((0, 0), (margin, margin)))
    height, width = wide.shape
    grey = (background + (ink - background) * wide) * light(kind, height, width, rng)
    colours = grey[..., None] * WARM + rng.normal(0, 6, (*grey.shape, 3))
    data = io.BytesIO()
    Image.fromarray(colours.clip(0, 255).astype(np.uint8)).save(data, "JPEG", quality=75)
    return data.getvalue()


def scan(drawing: np.ndarray) -> bytes:
    """A clean PNG file, black on white."""
    data = io.BytesIO()
    Image.fromarray((255 - 255 * drawing).astype(np.uint8)).save(data, "PNG")
    return data.getvalue()
