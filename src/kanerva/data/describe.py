"""What a data set holds, as plain numbers and words."""

from pathlib import Path
from typing import Any

from kanerva.data.dataset import SPLITS, Dataset
from kanerva.data.episodes import THRESHOLD
from kanerva.data.load import load_dataset
from kanerva.errors import KanervaError


def describe(
    name: str,
    *,
    data_folder: Path | str | None = None,
    binarisation: str | None = None,
    size: int | None = None,
) -> dict[str, Any]:
    """Shape, classes and encoding of a data set, and for each split its counts and mean pixel."""
    report: dict[str, Any] = {}
    splits: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        try:
            dataset = load_dataset(
                name, split, data_folder=data_folder, binarisation=binarisation, size=size
            )
        except KanervaError as error:
            if error.argument != "split":  # a small folder may have none for validation
                raise
            splits[split] = {"images": 0, "classes": 0, "mean_pixel": 0.0}
            continue
        splits[split] = {
            "images": len(dataset),
            "classes": len(dataset.labels.unique()),
            "mean_pixel": mean_pixel(dataset),
        }
        report = {
            "name": dataset.name,
            "image_shape": list(dataset.image_shape),
            "num_classes": dataset.num_classes,
            "likelihood": dataset.likelihood,
            "binarisation": dataset.binarisation,
            "encoding": dataset.encoding,
        }
    return report | {"splits": splits}


def mean_pixel(dataset: Dataset) -> float:
    """Of what episodes hold; for drawings the part of the paper that has ink."""
    if dataset.binarisation == "threshold20":
        total, scale = (dataset.images > THRESHOLD).sum(), 1
    else:
        total = dataset.images.sum()  # in whole numbers: no copy in float, no rounding
        scale = 256 if dataset.likelihood == "gaussian" else 255
    return total.item() / (scale * dataset.images.numel())
