"""Ready-made characters for the page: letterforms that look a little different each time."""

import threading
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from kanerva.data.glyphs import render_glyphs
from kanerva.data.hershey import glyphs
from kanerva.data.pixels import THRESHOLD

FONTS = ("futural", "greeks", "scripts", "japanese", "cursive")
"""Fonts of single strokes, as handwriting has."""
MIN_EXTENT = 0.9
"""Of a box from -1 to 1, in both directions: full stops and dashes are left out."""


_LISTING = threading.Lock()


def pool() -> tuple[int, ...]:
    """The class numbers of all letterforms to choose from; listed once, by the first thread."""
    with _LISTING:
        return _pool()


@lru_cache(maxsize=1)
def _pool() -> tuple[int, ...]:
    return tuple(
        number
        for number, glyph in enumerate(glyphs())
        if glyph.name.split("/")[0] in FONTS and np.ptp(glyph.points, axis=0).min() > MIN_EXTENT
    )


def ready_made(num: int, *, seed: int, size: int) -> tuple[Tensor, list[str]]:
    """Drawings (num, 1, size, size) of different letterforms, and their names."""
    generator = np.random.default_rng(seed)
    every = pool()
    chosen = generator.choice(every, num, replace=num > len(every)).tolist()
    drawn = render_glyphs(chosen, seed=seed, size=size)
    return (drawn > THRESHOLD).to(torch.float32), [glyphs()[one].name for one in chosen]
