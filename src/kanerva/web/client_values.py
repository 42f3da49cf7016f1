"""What a client sends and gets, as the types of the local store."""

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.errors import KanervaError
from kanerva.store.item_coder import Items, Reading
from kanerva.store.records import MemoryInfo, Receipt
from kanerva.store.snapshot import read_snapshot
from kanerva.store.writing import check_one_each
from kanerva.web.connection import Json


def names_from(answer: dict[str, Json]) -> list[str]:
    """The names of all memories."""
    return [str(one["name"]) for one in _dicts(answer["memories"])]


def ids_from(answer: dict[str, Json]) -> list[str]:
    """The ids of what was written."""
    return [str(one) for one in cast("list[str]", answer["ids"])]


def state_from(answer: dict[str, Json]) -> str:
    """The state after a merge."""
    return str(answer["state"])


def images_from(answer: dict[str, Json]) -> Tensor:
    """Images that were made."""
    return torch.tensor(answer["images"])


def written_from(answer: dict[str, Json]) -> Tensor:
    """The images of written items."""
    images = [one["image"] for one in _dicts(answer["items"])]
    if len(images) != answer["num_items"]:
        raise KanervaError(
            "name",
            expected="a memory with a ledger whose images fit into one answer",
            got=f"{answer['num_items']} items, of which the server lists {len(images)}",
            fix="Open the folder of the server with kanerva.open.",
        )
    return torch.tensor(images)


def reading_from(answer: dict[str, Json]) -> Reading:
    """The readings of some cues."""
    found = _dicts(answer["readings"])
    columns = {
        key: torch.tensor([one[key] for one in found])
        for key in ("image", "confidence", "known", "codes", "weights")
    }
    return Reading(
        items=columns["image"],
        confidence=columns["confidence"],
        known=columns["known"],
        codes=columns["codes"],
        weights=columns["weights"],
        blocks=torch.zeros(len(found), dtype=torch.int64),
    )


def _dicts(value: Json) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", value)


def receipt_from(name: str, answer: dict[str, Json]) -> Receipt:
    """The receipt of a deletion."""
    return Receipt(
        memory=name,
        ids=tuple(cast("list[str]", answer["ids"])),
        num_items=cast(int, answer["num_items"]),
        time=cast(float, answer["time"]),
        before=str(answer["before"]),
        after=str(answer["after"]),
        purged=bool(answer["purged"]),
    )


def info_from(name: str, answer: dict[str, Json]) -> MemoryInfo:
    """What a memory is and holds."""
    return MemoryInfo(
        name=name,
        kind=str(answer["kind"]),
        num_items=cast(int, answer["num_items"]),
        num_rows=cast(int, answer["num_rows"]),
        num_blocks=1,
        code_size=cast(int, answer["code_size"]),
        ledger=bool(answer["ledger"]),
        half_life=None,
        dtype=str(answer["dtype"]),
        model=cast("str | None", answer["model"]),
        fingerprint=str(answer["fingerprint"]),
        state=str(answer["state"]),
        num_bytes=cast(int, answer["num_bytes"]),
        distance=None,
    )


def encoded_images(argument: str, images: Items) -> list[dict[str, str]]:
    """Images as bytes in base64."""
    array = images.detach().cpu().numpy() if isinstance(images, Tensor) else images
    if not isinstance(array, np.ndarray) or array.ndim != 4 or not len(array):
        raise KanervaError(
            argument,
            expected="images (T, channels, H, W)",
            got=f"shape {array.shape}" if isinstance(array, np.ndarray) else type(images).__name__,
            fix="One image is image[None]; kanerva.read_images reads files.",
        )
    values = array.astype(np.float64)
    if not (values.min() >= 0 and values.max() <= 1):
        raise KanervaError(
            argument,
            expected="pixels between 0 (background) and 1 (ink)",
            got=f"values from {values.min():g} to {values.max():g}",
            fix="Divide bytes by 255, or clamp: images.clamp(0, 1).",
        )
    whole = np.round(values * 255).astype(np.uint8)
    return [{"bytes": base64.b64encode(image.tobytes()).decode()} for image in whole]


def encoded_items(
    images: Items, *, ids: Sequence[str] | None, labels: Sequence[str | None] | None
) -> list[dict[str, object]]:
    """Images with what is known about them, as a write sends them."""
    items: list[dict[str, object]] = [{"image": one} for one in encoded_images("images", images)]
    for argument, facts in (("ids", ids), ("labels", labels)):
        check_one_each(argument, facts)
        if facts is None:
            continue
        if len(facts) != len(items):
            raise KanervaError(
                argument,
                expected=f"{len(items)}, one for each image",
                got=str(len(facts)),
                fix="Pass as many as there are images, or leave them out.",
            )
        for item, fact in zip(items, facts, strict=True):
            item[argument[:-1]] = fact
    return items


def save_export(path: Path, contents: bytes) -> None:
    """Write the exported sums of a memory, if that is what the server sent."""
    with tempfile.TemporaryDirectory() as folder:
        received = Path(folder) / "received.safetensors"
        received.write_bytes(contents)
        try:
            read_snapshot(received)
        except KanervaError:
            raise KanervaError(
                "url",
                expected="a server that sends the sums of a memory",
                got=f"{len(contents):,} bytes of something else",
                fix="Pass what `kanerva serve` printed. No file was written.",
            ) from None
    write_atomically(path, contents)
