"""Letterforms as strokes: the Hershey fonts, digitised by hand in 1967 for pen plotters."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

PLAIN_FONTS = ("futural", "rowmans", "greeks", "cursive", "scripts", "japanese", "cyrillic")
"""These fonts come first, so that of similar letters the one with the fewest strokes is kept."""
CAP_HEIGHT = 21
"""Height of a capital letter in font units. A full stop is not enlarged to that size."""
MAX_SIMILARITY = 0.97
"""Of two glyphs whose blurred images have a larger cosine than this, one is left out."""
MAX_SEGMENT = 0.15
"""Longest straight piece of a stroke, where a glyph spans -1 to 1; short pieces can bend."""


class Glyph(NamedTuple):
    """A letterform in a box from -1 to 1."""

    name: str
    """The font and the character."""
    points: np.ndarray
    """(P, 2): x to the right and y down, one stroke after the other."""
    ends: tuple[int, ...]
    """For each stroke, the index after its last point."""


@lru_cache(maxsize=1)
def glyphs() -> tuple[Glyph, ...]:
    """List all letterforms of the 32 fonts, without empty ones and lookalikes."""
    from HersheyFonts import HersheyFonts

    fonts = HersheyFonts()
    names = sorted(fonts.default_font_names)
    every: list[Glyph] = []
    for font in (*PLAIN_FONTS, *(name for name in names if name not in PLAIN_FONTS)):
        fonts.load_default_font(font)
        for character, glyph in sorted(fonts.all_glyphs.items()):
            strokes = [stroke for stroke in glyph.strokes if len(stroke) > 1]
            if strokes:
                every.append(_glyph(f"{font}/{character}", strokes))
    return tuple(every[number] for number in _without_lookalikes(every))


def _glyph(name: str, strokes: list[list[tuple[int, int]]]) -> Glyph:
    every = np.concatenate([np.asarray(stroke, float) for stroke in strokes])
    low, high = every.min(0), every.max(0)
    scale = 2 / max(*(high - low), 0.75 * CAP_HEIGHT)
    centre = (low + high) / 2
    pieces = [_subdivided((np.asarray(stroke, float) - centre) * scale) for stroke in strokes]
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return Glyph(name, np.concatenate(pieces), tuple(ends))


def _subdivided(stroke: np.ndarray) -> np.ndarray:
    """Add points to a line, so that none is farther than MAX_SEGMENT from the next."""
    length = np.hypot(*np.diff(stroke, axis=0).T)
    counts = np.maximum(np.ceil(length / MAX_SEGMENT), 1)
    knots = np.concatenate([[0], np.cumsum(counts)])
    at = np.arange(knots[-1] + 1)
    return np.stack([np.interp(at, knots, column) for column in stroke.T], axis=1)


def _without_lookalikes(every: list[Glyph]) -> list[int]:
    """Give the indices of the glyphs that do not look like an earlier one."""
    images = np.stack([_blurred(glyph) for glyph in every]).reshape(len(every), -1)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    alike = images @ images.T > MAX_SIMILARITY
    kept: list[int] = []
    for number in range(len(every)):
        if not alike[number, kept].any():
            kept.append(number)
    return kept


def _blurred(glyph: Glyph) -> np.ndarray:
    """Draw a small blurred image, in which lines at nearly the same place overlap."""
    image = Image.new("L", (56, 56))
    draw_strokes(image, glyph.points * 24 + 28, glyph.ends, width=6)
    return np.asarray(image.resize((14, 14), Image.Resampling.BILINEAR), np.float32)


def draw_strokes(image: Image.Image, points: np.ndarray, ends: tuple[int, ...], width: int):
    """Draw strokes into an image with a pen of this width in pixels."""
    pen = ImageDraw.Draw(image)
    flat = points.reshape(-1).tolist()
    start = 0
    for end in ends:
        pen.line(flat[2 * start : 2 * end], fill=255, width=width)
        start = end
