"""CIFAR-10 (Krizhevsky 2009): the official binary archive, or its images as files."""

import re
from pathlib import Path

import numpy as np

from kanerva.data.archives import read_files
from kanerva.data.image_arrays import ImageArrays, in_split_order, random_parts
from kanerva.data.image_files import open_image, to_array
from kanerva.data.paths import first_existing, missing_files
from kanerva.data.progress import tracked
from kanerva.errors import KanervaError

CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
SIZE = 32
NUM_TRAIN, NUM_TEST = 50_000, 10_000

_BINARY = ("cifar-10-binary.tar.gz", "cifar-10-batches-bin")
_IMAGES = ("cifar10-jpeg.tar.xz", "cifar10-png.tar.xz", "cifar10.zip", "cifar10-jpeg", "cifar10")
_PICKLED = ("cifar-10-python.tar.gz", "cifar-10-batches-py")
_BATCH = re.compile(r"(?:^|/)(?P<name>data_batch_[1-5]|test_batch)\.bin$")
_IMAGE = re.compile(
    r"(?:^|/)(?P<part>train|test)/(?P<label>[^/]+)/[^/.][^/]*\.(?P<kind>(?i:jpe?g|png))$"
)


def find(folder: Path) -> list[Path]:
    """Find the binary archive, else image files. The archive that is a pickle is refused."""
    source = first_existing(folder, *_BINARY, *_IMAGES)
    if source is not None:
        return [source]
    pickled = first_existing(folder, *_PICKLED)
    if pickled is not None:
        raise KanervaError(
            str(pickled),
            expected="the binary version of CIFAR-10",
            got="the Python version, a pickle, which could run any code and is not opened",
            fix="Run `kanerva data fetch cifar10`, or put cifar-10-binary.tar.gz there.",
        )
    raise missing_files(
        "cifar10", folder, "cifar-10-binary.tar.gz, or train/CLASS and test/CLASS images"
    )


def read(sources: list[Path], *, size: int, grey: bool, show_progress: bool) -> ImageArrays:
    """Read colour images with the official test set; a seeded tenth of the rest validates."""
    (source,) = sources
    if source.name in _BINARY:
        images, labels, is_test, encoding = _read_batches(source)
    else:
        images, labels, is_test, encoding = _read_images(source, show_progress)
    num_train, num_test = int((~is_test).sum()), int(is_test.sum())
    if (num_train, num_test) != (NUM_TRAIN, NUM_TEST):
        raise _incomplete(source, f"{num_train:,} and {num_test:,}")
    return in_split_order(
        random_parts(is_test, len(labels)),
        images=images,
        labels=labels,
        class_names=CLASSES,
        encoding=encoding,
    )


Read = tuple[np.ndarray, np.ndarray, np.ndarray, str]
"""Images, labels, which images are for test, and the encoding."""


def _read_batches(source: Path) -> Read:
    """Read records of one byte for the label and 3 x 32 x 32 bytes of red, green and blue."""
    batches: dict[str, np.ndarray] = {}
    for path, data in read_files(source):
        match = _BATCH.search(path)
        if match is None:
            continue
        if len(data) % (1 + 3 * SIZE * SIZE):
            got = f"{path} of {len(data):,} bytes, which is not a whole number of images"
            raise _incomplete(source, got)
        batches[match["name"]] = np.frombuffer(data, np.uint8).reshape(-1, 1 + 3 * SIZE * SIZE)
    if not batches:
        raise _incomplete(source, "no data_batch_*.bin and test_batch.bin")
    records = np.concatenate([batches[name] for name in sorted(batches)])
    is_test = np.repeat(
        [name == "test_batch" for name in sorted(batches)],
        [len(batches[name]) for name in sorted(batches)],
    )
    labels = records[:, 0].astype(np.int64)
    if labels.max() >= len(CLASSES):
        raise _incomplete(source, f"a label of {labels.max()}")
    return records[:, 1:].reshape(-1, 3, SIZE, SIZE), labels, is_test, "official binary"


def _read_images(source: Path, show_progress: bool) -> Read:
    found: dict[tuple[str, str, str], np.ndarray] = {}
    kinds: set[str] = set()
    files = read_files(source)
    total = NUM_TRAIN + NUM_TEST
    with tracked(files, total=total, description="cifar10", show=show_progress) as entries:
        for path, data in entries:
            match = _IMAGE.search(path)
            if match is None:
                continue
            if match["label"] not in CLASSES:
                raise _incomplete(source, f"a class {match['label']!r}")
            image = open_image(data, f"{source}: {path}")
            if image.size != (SIZE, SIZE):
                raise _incomplete(source, f"{path} of {image.width} x {image.height} pixels")
            found[match["part"], match["label"], path] = to_array(image, size=SIZE, grey=False)
            kinds.add("PNG" if match["kind"].lower() == "png" else "JPEG re-encoding")
    if not found:
        raise _incomplete(source, "no images")
    keys = sorted(found)
    return (
        np.stack([found[key] for key in keys]),
        np.array([CLASSES.index(label) for _, label, _ in keys]),
        np.array([part == "test" for part, *_ in keys]),
        " and ".join(sorted(kinds)),
    )


def _incomplete(source: Path, got: str) -> KanervaError:
    return KanervaError(
        str(source),
        expected=f"CIFAR-10: {NUM_TRAIN:,} training and {NUM_TEST:,} test images of "
        f"{SIZE} x {SIZE} in its {len(CLASSES)} classes",
        got=got,
        fix="Get the original with `kanerva data fetch cifar10`.",
    )
