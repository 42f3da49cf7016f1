"""Burda's Omniglot (Burda et al. 2016): `chardata.mat`, the version that most papers use."""

from pathlib import Path

import numpy as np

from kanerva.data.image_arrays import ImageArrays, in_split_order, random_parts
from kanerva.data.paths import FILE, first_existing, missing_files, unreadable, what_is_at
from kanerva.errors import KanervaError

SIZE = 28
MAX_BYTES = 512 * 2**20
NAMES = ("data", "target", "targetchar", "testdata", "testtarget", "testtargetchar")


def find(folder: Path) -> list[Path]:
    """Find the one file."""
    source = first_existing(folder, "chardata.mat", "omniglot-burda/chardata.mat")
    if source is None:
        raise missing_files("omniglot-burda", folder, "chardata.mat")
    return [source]


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Read grey images with Burda's own test set; a seeded tenth of the rest validates."""
    (source,) = sources
    arrays = _load(source)
    train, test = _images(source, arrays, "data"), _images(source, arrays, "testdata")
    characters = [*_characters(arrays, "", len(train)), *_characters(arrays, "test", len(test))]
    class_names = sorted(set(characters))
    class_of = {name: number for number, name in enumerate(class_names)}
    labels = np.array([class_of[name] for name in characters])
    is_test = np.arange(len(labels)) >= len(train)
    return in_split_order(
        random_parts(is_test, len(labels)),
        images=np.concatenate([train, test])[:, None],
        labels=labels,
        class_names=tuple(class_names),
        encoding="chardata.mat of Burda et al.",
    )


def _load(source: Path) -> dict[str, np.ndarray]:
    try:
        from scipy.io import loadmat
    except ImportError:
        raise KanervaError(
            "name",
            expected="SciPy, to read chardata.mat",
            got="a Python without it",
            fix="Install it: pip install 'kanerva[mat]'.",
        ) from None
    if (found := what_is_at(source)) != FILE:
        raise unreadable(source, found)
    if source.stat().st_size > MAX_BYTES:
        raise _wrong(source, f"{source.stat().st_size:,} bytes")
    try:
        arrays = loadmat(source, variable_names=NAMES)
    except Exception as error:  # SciPy raises nearly anything on files of another kind
        raise _wrong(source, " ".join(str(error).split()) or type(error).__name__) from None
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _images(source: Path, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Turn 784 x N columns in [0, 1], images stored column by column, into (N, 28, 28) bytes."""
    columns = arrays.get(name)
    if columns is None:
        raise _wrong(source, f"no array {name}")
    if columns.ndim != 2 or columns.shape[0] != SIZE * SIZE or columns.dtype.kind not in "fui":
        raise _wrong(source, f"{name} of shape {columns.shape}, {columns.dtype}")
    if not (columns.min() >= 0 and columns.max() <= 1):
        raise _wrong(source, f"{name} with values from {columns.min():g} to {columns.max():g}")
    images = columns.T.reshape(-1, SIZE, SIZE).transpose(0, 2, 1)
    return np.round(images * 255).astype(np.uint8)


def _characters(arrays: dict[str, np.ndarray], prefix: str, count: int) -> list[str]:
    """Name the alphabet and character of each image, if the file has them."""
    alphabets, numbers = arrays.get(f"{prefix}target"), arrays.get(f"{prefix}targetchar")
    if alphabets is None or numbers is None:
        return ["unlabelled"] * count
    if alphabets.shape[-1] != count or numbers.size != count:
        return ["unlabelled"] * count
    pairs = zip(alphabets.argmax(0).tolist(), numbers.reshape(-1).tolist(), strict=True)
    return [f"alphabet{alphabet + 1:02d}/character{int(number):02d}" for alphabet, number in pairs]


def _wrong(source: Path, got: str) -> KanervaError:
    return KanervaError(
        str(source),
        expected=f"a MATLAB file with data and testdata, {SIZE * SIZE} x N numbers from 0 to 1",
        got=got,
        fix="Get it with `kanerva data fetch omniglot-burda`.",
    )
