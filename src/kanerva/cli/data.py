"""`kanerva data list | info | fetch`: see, describe and download data sets."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def list_data(*, data_folder: Path | None = None, json: bool = False) -> None:
    """List the data sets, which of them are there, and the folder they are looked for in.

    Args:
        data_folder: the folder with the archives; by default KANERVA_DATA, else ./data.
        json: print one JSON object and nothing else.

    """
    from kanerva.data.download import REMOTE_FILES
    from kanerva.data.load import READERS
    from kanerva.data.paths import absolute, cache_folder, resolve_data_folder
    from kanerva.errors import KanervaError

    folder = absolute(resolve_data_folder(data_folder))
    files: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    for name, reader in READERS.items():
        try:
            files[name] = [str(path) for path in reader.find(folder)]
        except KanervaError as error:
            missing[name] = str(error)
    if json:
        datasets = {
            name: {"present": False, "files": [], "missing": missing[name]}
            if name in missing
            else {"present": True, "files": files[name]}
            for name in READERS
        }
        folders = {"data_folder": str(folder), "cache_folder": str(cache_folder())}
        print(jsonlib.dumps({**folders, "datasets": datasets}, indent=2))
        return
    print(f"looked for in {folder} (--data-folder or KANERVA_DATA), cached in {cache_folder()}")
    for name in READERS:
        if name in missing:
            way = f"kanerva data fetch {name}" if name in REMOTE_FILES else "copy its files there"
            print(f"  {name:<18} missing: {way}")
        else:
            print(f"  {name:<18} there: {', '.join(files[name]) or 'needs no files'}")
    print("  or the path of any folder of images, with one sub-folder for each class")


def info(
    name: Positional[str],
    *,
    data_folder: Path | None = None,
    binarisation: str | None = None,
    size: int | None = None,
    json: bool = False,
) -> None:
    """Count the images and classes of a data set, and say what its pixels are.

    Args:
        name: omniglot, omniglot-alphabets, handwriting, unseen-fonts, omniglot-burda, omniglot-gmn,
            cifar10, glyphs, or a folder of images.
        data_folder: the folder with the archives; by default KANERVA_DATA, else ./data.
        binarisation: threshold20 or stochastic; by default the one the data set is usually used
            with.
        size: height and width of the images; by default the data set's own.
        json: print one JSON object and nothing else.

    """
    from kanerva.data.describe import describe

    report = describe(name, data_folder=data_folder, binarisation=binarisation, size=size)
    if json:
        print(jsonlib.dumps(report, indent=2))
        return
    for key, value in report.items():
        if key not in ("splits", "skipped_files"):
            print(f"{key.replace('_', ' '):<14} {value}")
    skipped = report["skipped_files"]
    names = ", ".join(skipped[:3]) + (", ..." if len(skipped) > 3 else "")
    print(f"{'skipped files':<14} {f'{len(skipped):,}: {names}' if skipped else 'none'}")
    for split, entry in report["splits"].items():
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
        name: omniglot, omniglot-alphabets, handwriting, omniglot-burda or cifar10.
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
        print(f"{name} needs no files")


DATA_COMMANDS = {"list": list_data, "info": info, "fetch": fetch_data}
"""The commands after `kanerva data`."""
