"""`kanerva data list | info | fetch`: which data sets are there, what they hold, getting them."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def list_data(*, data_folder: Path | None = None, json: bool = False) -> None:
    """Say which data sets are there, and where they are looked for.

    Args:
        data_folder: the folder with the archives; by default KANERVA_DATA, else ./data.
        json: print one JSON object and nothing else.

    """
    from kanerva.data.load import READERS
    from kanerva.data.paths import cache_folder, resolve_data_folder
    from kanerva.errors import KanervaError

    folder = resolve_data_folder(data_folder).resolve()
    found: dict[str, dict[str, object]] = {}
    for name, source in READERS.items():
        try:
            files = [str(path) for path in source.find(folder)]
            found[name] = {"present": True, "files": files}
        except KanervaError as error:
            found[name] = {"present": False, "files": [], "missing": str(error)}
    if json:
        report = {
            "data_folder": str(folder),
            "cache_folder": str(cache_folder()),
            "datasets": found,
        }
        print(jsonlib.dumps(report, indent=2))
        return
    print(f"looked for in {folder} (--data-folder or KANERVA_DATA), cached in {cache_folder()}")
    for name, entry in found.items():
        files = entry["files"]
        assert isinstance(files, list)
        if entry["present"]:
            print(f"  {name:<15} there: {', '.join(files) or 'needs no file'}")
        else:
            print(f"  {name:<15} missing: kanerva data fetch {name}")
    print("  or the path of any folder of images, one sub-folder a class")


def info(
    name: Positional[str],
    *,
    data_folder: Path | None = None,
    binarisation: str | None = None,
    size: int | None = None,
    json: bool = False,
) -> None:
    """Count a data set's images and classes, and say what its pixels are.

    Args:
        name: omniglot, omniglot-burda, cifar10, glyphs, or a folder of images.
        data_folder: the folder with the archives; by default KANERVA_DATA, else ./data.
        binarisation: threshold20 or stochastic; by default what the data set is known with.
        size: height and width of the images; by default the data set's own.
        json: print one JSON object and nothing else.

    """
    from kanerva.data.describe import describe

    report = describe(name, data_folder=data_folder, binarisation=binarisation, size=size)
    if json:
        print(jsonlib.dumps(report, indent=2))
        return
    splits = report.pop("splits")
    for key, value in report.items():
        print(f"{key.replace('_', ' '):<14} {value}")
    for split, entry in splits.items():
        print(
            f"{split:<14} {entry['images']:>7,} images of {entry['classes']:,} classes, "
            f"mean pixel {entry['mean_pixel']:.4f}"
        )


def fetch_data(
    name: Positional[str],
    *,
    data_folder: Path | None = None,
    mirror: str | None = None,
    json: bool = False,
) -> None:
    """Download a data set from where it was published, with resume and checksum.

    Args:
        name: omniglot, omniglot-burda or cifar10.
        data_folder: the folder to put the files in; by default KANERVA_DATA, else ./data.
        mirror: another address (http or https) that has the same files.
        json: print one JSON object and nothing else.

    """
    from kanerva.data import fetch

    files = fetch(name, data_folder=data_folder, mirror=mirror)
    if json:
        states = {str(path): state for path, state in files}
        print(jsonlib.dumps({"dataset": name, "files": states}, indent=2))
        return
    for path, state in files:
        print(f"{path}: {state}")
    if not files:
        print(f"{name} needs no file")


DATA_COMMANDS = {"list": list_data, "info": info, "fetch": fetch_data}
"""What follows `kanerva data`."""
