"""`glyphs`: a data set that needs no files. Letterforms, drawn a little differently each time."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.data.hershey import Glyph, draw_strokes, glyphs
from kanerva.data.image_arrays import FIT, TEST, VALID, ImageArrays, in_split_order
from kanerva.data.image_files import RESAMPLING
from kanerva.data.progress import tracked
from kanerva.errors import KanervaError

NUM_FIT, NUM_VALID, NUM_TEST = 10, 2, 4
"""How many drawings of each glyph there are for fitting, validation and test."""
SIZE = 28
MAX_SIZE = 1024
"""The largest height and width of an image."""
OVERSAMPLING = 4
"""Glyphs are drawn this many times larger and then down-sampled, as Omniglot is."""
PEN_WIDTHS = (2, 3, 3, 4)
"""Pen widths at the larger size. Omniglot's strokes are about 3 wide at its size of 105."""
BLOCK = 1024
"""How many drawings are transformed together."""


def find(folder: Path) -> list[Path]:
    """Find nothing: the letterforms come with a package."""
    return []


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Make the drawings, with a fixed seed, so that they are the same each time."""
    each = NUM_FIT + NUM_VALID + NUM_TEST
    labels = np.repeat(np.arange(len(glyphs())), each)
    parts = np.repeat([FIT, VALID, TEST], [NUM_FIT, NUM_VALID, NUM_TEST])
    return in_split_order(
        np.tile(parts, len(glyphs())),
        images=_render(labels, seed=0, size=size, show_progress=show_progress),
        labels=labels,
        class_names=tuple(glyph.name for glyph in glyphs()),
        encoding="Hershey letterforms drawn with a jittered pen, Pillow down-sampled",
    )


def render_glyphs(classes: Iterable[int] | Tensor, *, seed: int, size: int = SIZE) -> Tensor:
    """Draw letterforms, one for each number in `classes`, each a little differently.

    The `glyphs` data set was made in this way with seed 0. Another seed gives new drawings.

    Args:
        classes: N class numbers, as in the labels of the `glyphs` data set.
        seed: the same seed gives the same drawings.
        size: height and width in pixels.

    Returns:
        uint8 (N, 1, size, size), ink 255 and background 0.

    Raises:
        KanervaError: a class number is not one of the data set's, or `seed` or `size` is not a
            whole number in its range.

    Example:
        >>> from kanerva.data import render_glyphs
        >>> drawings = render_glyphs([7, 7, 7], seed=1)
        >>> drawings.shape, drawings.dtype
        (torch.Size([3, 1, 28, 28]), torch.uint8)

    """
    check_integer("seed", seed, at_least=0, fix="Pass any small number, for example 0.")
    check_integer("size", size, at_most=MAX_SIZE, fix=f"The usual size is {SIZE}.")
    values = classes.tolist() if isinstance(classes, Tensor) else classes
    if not isinstance(values, Iterable):
        raise _wrong_class(type(values).__name__)
    values = list(values)
    for value in values:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not 0 <= value < len(glyphs()):
            raise _wrong_class(repr(value)[:60])
    numbers = np.asarray(values, dtype=np.int64)
    return torch.from_numpy(_render(numbers, seed=seed, size=size, show_progress=False))


def _wrong_class(got: str) -> KanervaError:
    return KanervaError(
        "classes",
        expected=f"whole numbers from 0 to {len(glyphs()) - 1}",
        got=got,
        fix='Use the labels of load_dataset("glyphs", ...).',
    )


def _render(numbers: np.ndarray, *, seed: int, size: int, show_progress: bool) -> np.ndarray:
    images = np.empty((len(numbers), 1, size, size), np.uint8)
    generator = np.random.default_rng(seed)
    canvas = size * OVERSAMPLING
    starts = range(0, len(numbers), BLOCK)
    with tracked(starts, total=len(starts), description="glyphs", show=show_progress) as blocks:
        for start in blocks:
            drawings = _drawings(numbers[start : start + BLOCK], generator, canvas)
            for number, (glyph, points, width) in enumerate(drawings, start=start):
                image = Image.new("L", (canvas, canvas))
                draw_strokes(image, points, glyph.ends, width)
                images[number, 0] = np.asarray(image.resize((size, size), RESAMPLING))
    return images


def _drawings(
    numbers: np.ndarray, generator: np.random.Generator, canvas: int
) -> list[tuple[Glyph, np.ndarray, int]]:
    """Turn, shear, stretch, bend and move each glyph; return points on a square canvas."""
    chosen = [glyphs()[number] for number in numbers]
    counts = [len(glyph.points) for glyph in chosen]
    of = np.repeat(np.arange(len(chosen)), counts)
    points = np.concatenate([glyph.points for glyph in chosen])
    points = points + _wobble(points, of, len(chosen), generator)
    points = np.einsum("pij,pj->pi", _random_transforms(len(chosen), generator)[of], points)
    starts = np.cumsum([0, *counts[:-1]])
    low = np.minimum.reduceat(points, starts)
    high = np.maximum.reduceat(points, starts)
    margin = 0.12
    room = np.maximum(2 - margin - (high - low), 0) / 2  # the canvas spans -1 to 1
    place = np.clip(0.12 * generator.standard_normal(room.shape), -room, room)
    points = points + (place - (low + high) / 2)[of]
    pixels = np.split((points + 1) * (canvas / 2), starts[1:])
    widths = generator.choice(PEN_WIDTHS, len(chosen)) * canvas / (SIZE * OVERSAMPLING)
    return list(
        zip(chosen, pixels, np.maximum(widths.round(), 1).astype(int).tolist(), strict=True)
    )


def _random_transforms(count: int, generator: np.random.Generator) -> np.ndarray:
    """Draw random matrices (count, 2, 2) that scale, stretch, slant and turn."""
    size = generator.uniform(0.5, 0.78, count)
    stretch = np.exp(0.1 * generator.standard_normal(count))
    slant = 0.15 * generator.standard_normal(count)
    angle = 0.12 * generator.standard_normal(count)
    zero, one = np.zeros(count), np.ones(count)
    scale = _matrices(size * stretch, zero, zero, size / stretch)
    shear = _matrices(one, slant, zero, one)
    turn = _matrices(np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))
    return turn @ shear @ scale


def _matrices(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    return np.stack([a, b, c, d], axis=-1).reshape(-1, 2, 2)


def _wobble(
    points: np.ndarray, of: np.ndarray, count: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw a smooth displacement of the plane for each drawing: three waves along x and y."""
    moved = np.zeros_like(points)
    for _ in range(3):
        direction = generator.normal(0, 2.5, (count, 2))[of]
        phase = generator.uniform(0, 2 * np.pi, count)[of]
        height = generator.normal(0, 0.045, (count, 2))[of]
        moved += height * np.sin((direction * points).sum(1) + phase)[:, None]
    return moved
