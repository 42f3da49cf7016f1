"""`handwriting`: Omniglot and letterforms. `unseen-fonts`: letterforms that it leaves out."""

from pathlib import Path

import numpy as np

from kanerva.data import glyphs, omniglot
from kanerva.data.hershey import glyphs as all_glyphs
from kanerva.data.image_arrays import FIT, TEST, VALID, ImageArrays, in_split_order

UNSEEN_FONTS = ("futuram", "gothgrt", "greekc", "scriptc")
"""Fonts whose letterforms are kept away from `handwriting`, to measure on."""


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Omniglot by drawers, and the letterforms of all fonts but `UNSEEN_FONTS`."""
    drawings = omniglot.read(sources, size=size, grey=grey, show_progress=show_progress)
    letters = _letterforms(False, size=size, grey=grey, show_progress=show_progress)
    return in_split_order(
        np.concatenate([_parts(drawings), _parts(letters)]),
        images=np.concatenate([drawings.images, letters.images]),
        labels=np.concatenate([drawings.labels, letters.labels + len(drawings.class_names)]),
        class_names=(*drawings.class_names, *letters.class_names),
        encoding=f"{drawings.encoding}; {letters.encoding}",
    )


def read_unseen_fonts(
    sources: list[Path], *, size: int, grey: bool, show_progress: bool
) -> ImageArrays:
    """The letterforms of `UNSEEN_FONTS`."""
    return _letterforms(True, size=size, grey=grey, show_progress=show_progress)


def _letterforms(unseen: bool, *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """The letterforms of the fonts that are unseen, or of the others, with labels from 0."""
    every = glyphs.read([], size=size, grey=grey, show_progress=show_progress)
    is_unseen = np.array([glyph.name.split("/")[0] in UNSEEN_FONTS for glyph in all_glyphs()])
    classes = np.flatnonzero(is_unseen == unseen)
    chosen = np.isin(every.labels, classes)
    part = every.take(np.flatnonzero(chosen))
    return in_split_order(
        _parts(every)[chosen],
        images=part.images,
        labels=np.searchsorted(classes, part.labels),
        class_names=tuple(every.class_names[number] for number in classes),
        encoding=every.encoding,
    )


def _parts(arrays: ImageArrays) -> np.ndarray:
    """The part of each image (N,)."""
    return np.repeat([FIT, VALID, TEST], arrays.split_sizes)
