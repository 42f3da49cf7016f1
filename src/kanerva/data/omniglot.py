"""Omniglot (Lake et al. 2015): 1,623 characters of 50 alphabets, each drawn by 20 people."""

import re
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops

from kanerva.data.archives import read_files
from kanerva.data.image_arrays import FIT, TEST, VALID, ImageArrays, in_split_order
from kanerva.data.image_files import RESAMPLING, open_image
from kanerva.data.paths import first_existing, missing_files
from kanerva.data.progress import tracked
from kanerva.errors import KanervaError

NUM_CHARACTERS = {"images_background": 964, "images_evaluation": 659}
NUM_DRAWERS = 20
LAST_FIT_DRAWER, LAST_TRAIN_DRAWER = 13, 15
"""Drawers 1 to 13 are for fitting, 14 and 15 for validation, 16 to 20 for test.

Training and test set are as large as Burda's.
"""
VALID_ALPHABETS = 6
"""By alphabets, every sixth background alphabet is for validation."""

_PATH = re.compile(
    r"(?P<part>images_\w+)/(?P<character>[^/]+/character\d+)/\d+_(?P<drawer>\d+)\.png"
)
_SUBFOLDERS = ("", "omniglot/", "omniglot-py/")


def find(folder: Path) -> list[Path]:
    """Find the two archives, or the folders that were unpacked from them."""
    sources = []
    for part in NUM_CHARACTERS:
        names = [subfolder + part + suffix for subfolder in _SUBFOLDERS for suffix in (".zip", "")]
        source = first_existing(folder, *names)
        if source is None:
            raise missing_files("omniglot", folder, f"{part}.zip, or the folder {part},")
        sources.append(source)
    return sources


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Read every drawing, down-sampled to `size` x `size`; ink is 255, with greys in between."""
    images: dict[tuple[str, str, int], np.ndarray] = {}
    for part, source in zip(NUM_CHARACTERS, sources, strict=True):
        total = NUM_CHARACTERS[part] * NUM_DRAWERS
        files = read_files(source)
        with tracked(files, total=total, description=part, show=show_progress) as entries:
            for path, data in entries:
                match = _PATH.search(f"{part}/{path}" if source.is_dir() else path)
                if match and match["part"] == part:
                    key = (part, match["character"], int(match["drawer"]))
                    images[key] = _shrink(open_image(data, f"{source}: {path}"), size)
        _check_complete(source, part, [key for key in images if key[0] == part])
    return _collect(images)


def read_by_alphabets(
    sources: list[Path], *, size: int, grey: bool, show_progress: bool
) -> ImageArrays:
    """The same drawings in Lake's own split: no character of the test set is ever trained on.

    The 30 background alphabets are for training, 5 of them for validation. The 20 evaluation
    alphabets are for test.
    """
    by_drawer = read(sources, size=size, grey=grey, show_progress=show_progress)
    assert by_drawer.alphabets is not None
    assert by_drawer.drawers is not None
    # Classes are in the order of their parts, so background alphabets have the lowest numbers.
    background = by_drawer.alphabets[by_drawer.labels < NUM_CHARACTERS["images_background"]]
    is_test = by_drawer.alphabets > background.max()
    is_valid = by_drawer.alphabets % VALID_ALPHABETS == VALID_ALPHABETS - 1
    parts = np.where(is_test, TEST, np.where(is_valid, VALID, FIT))
    order = np.lexsort((by_drawer.drawers, by_drawer.labels))
    by_class = by_drawer.take(order)
    return in_split_order(
        parts[order],
        images=by_class.images,
        labels=by_class.labels,
        class_names=by_class.class_names,
        encoding=by_class.encoding,
        alphabets=by_class.alphabets,
        drawers=by_class.drawers,
    )


def _shrink(image: Image.Image, size: int) -> np.ndarray:
    """Down-sample as the paper does (section 4.2, footnote). Episodes apply the threshold later."""
    inverted = ImageChops.invert(image.convert("L"))
    return np.asarray(inverted.resize((size, size), RESAMPLING))


def _check_complete(source: Path, part: str, keys: list[tuple[str, str, int]]) -> None:
    characters = sorted({character for _, character, _ in keys})
    drawers = {drawer for *_, drawer in keys} | {0}
    present = {(character, drawer) for _, character, drawer in keys}
    absent = [
        f"{character} by drawer {drawer}"
        for character in characters
        for drawer in range(1, NUM_DRAWERS + 1)
        if (character, drawer) not in present
    ]
    if len(characters) == NUM_CHARACTERS[part] and not absent and max(drawers) == NUM_DRAWERS:
        return
    gaps = f"; missing {len(absent)} drawings, first {absent[0]}" if absent else ""
    raise KanervaError(
        str(source),
        expected=f"{NUM_CHARACTERS[part]} characters by {NUM_DRAWERS} drawers as "
        f"{part}/ALPHABET/characterNN/NNNN_DRAWER.png",
        got=f"{len(characters)} characters in {len(keys)} drawings{gaps}",
        fix="Run `kanerva data fetch omniglot`, or unpack the original archive again.",
    )


def _collect(images: dict[tuple[str, str, int], np.ndarray]) -> ImageArrays:
    keys = sorted(images)
    class_names = list(dict.fromkeys(character for _, character, _ in keys))
    alphabet_names = list(dict.fromkeys(name.split("/")[0] for name in class_names))
    class_of = {name: number for number, name in enumerate(class_names)}
    alphabet_of = {name: number for number, name in enumerate(alphabet_names)}
    drawers = np.array([drawer for *_, drawer in keys])
    parts = np.where(drawers <= LAST_FIT_DRAWER, FIT, VALID)
    parts[drawers > LAST_TRAIN_DRAWER] = TEST
    return in_split_order(
        parts,
        images=np.stack([images[key] for key in keys])[:, None],
        labels=np.array([class_of[character] for _, character, _ in keys]),
        class_names=tuple(class_names),
        encoding="original PNG, Pillow down-sampled",
        alphabets=np.array([alphabet_of[character.split("/")[0]] for _, character, _ in keys]),
        drawers=drawers,
    )
