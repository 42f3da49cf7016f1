"""What a data set contains, as numbers and words for `kanerva data info`."""

import warnings
from pathlib import Path
from typing import TypedDict

from kanerva.data.dataset import SPLITS, Dataset
from kanerva.data.folder_contents import SkippedFilesWarning, list_images
from kanerva.data.load import DATASETS, load_dataset
from kanerva.data.pixels import THRESHOLD
from kanerva.errors import KanervaError


class SplitDescription(TypedDict):
    """Counts of one split, and the mean of its pixels."""

    images: int
    classes: int
    mean_pixel: float


class DatasetDescription(TypedDict):
    """What `describe` returns."""

    name: str
    image_shape: list[int]
    num_classes: int
    likelihood: str
    binarisation: str
    encoding: str
    source: str
    """What to pass to `load_dataset`: a name, or the absolute path of a folder."""
    skipped_files: list[str]
    """Files of a folder that are not images."""
    splits: dict[str, SplitDescription]


def describe(
    name: str,
    *,
    data_folder: Path | str | None = None,
    binarisation: str | None = None,
    size: int | None = None,
) -> DatasetDescription:
    """Shape, classes and encoding of a data set, and the counts and mean pixel of each split."""
    splits: dict[str, SplitDescription] = {}
    dataset: Dataset | None = None
    for split in SPLITS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SkippedFilesWarning)  # they are in the result
                dataset = load_dataset(
                    name, split, data_folder=data_folder, binarisation=binarisation, size=size
                )
        except KanervaError as error:
            if error.argument != "split":  # a small folder may have no images for validation
                raise
            splits[split] = {"images": 0, "classes": 0, "mean_pixel": 0.0}
            continue
        splits[split] = {
            "images": len(dataset),
            "classes": len(dataset.labels.unique()),
            "mean_pixel": mean_pixel(dataset),
        }
    assert dataset is not None, "every data set has images for training or for test"
    assert dataset.source is not None, "it was loaded"
    own = dataset.source not in DATASETS
    return {
        "name": dataset.name,
        "image_shape": list(dataset.image_shape),
        "num_classes": dataset.num_classes,
        "likelihood": dataset.likelihood,
        "binarisation": dataset.binarisation,
        "encoding": dataset.encoding,
        "source": dataset.source,
        "skipped_files": list_images(Path(dataset.source)).skipped if own else [],
        "splits": splits,
    }


def mean_pixel(dataset: Dataset) -> float:
    """The mean of the pixels that episodes contain; for drawings, the share of ink."""
    if dataset.binarisation == "threshold20":
        total, scale = (dataset.images > THRESHOLD).sum(), 1
    else:
        total = dataset.images.sum()  # in whole numbers: no copy in float, no rounding
        scale = 256 if dataset.likelihood == "gaussian" else 255
    return total.item() / (scale * dataset.images.numel())
