"""What the tests of the data sets share: small image files and archives, and loading them."""

import io
import tarfile
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva import KanervaError
from kanerva.data import Dataset, load_dataset


def png(value: Any = 0, size: int = 105, mode: str = "L") -> bytes:
    """An image file of one colour, or of an array."""
    data = io.BytesIO()
    if isinstance(value, np.ndarray):
        Image.fromarray(value).save(data, "PNG")
    else:
        Image.new(mode, (size, size), value).save(data, "PNG")
    return data.getvalue()


def write_zip(path, contents: dict[str, bytes]):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def write_tar(path, contents: dict[str, bytes], mode: Any = "w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def fails(match, *args, **options):
    with pytest.raises(KanervaError, match=match) as caught:
        load_dataset(*args, **options)
    assert "\n" not in str(caught.value)


def load_all(name, **options) -> dict[str, Dataset]:
    return {
        split: load_dataset(name, split, **options) for split in ("fit", "valid", "train", "test")
    }


def same(a: Dataset, b: Dataset) -> bool:
    return torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels)
