"""`Client`: the memories of a server, with the methods of the local store.

It needs only the standard library beside torch; the server may be on another computer.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from kanerva.checks import check_integer, check_number, check_path
from kanerva.errors import KanervaError
from kanerva.store.item_coder import Items, Reading
from kanerva.store.merging import checked_sources
from kanerva.store.records import MemoryInfo, Receipt, Written, partly_written
from kanerva.web.client_values import (
    encoded_images,
    encoded_items,
    ids_from,
    images_from,
    info_from,
    names_from,
    reading_from,
    receipt_from,
    save_export,
    state_from,
    written_from,
)
from kanerva.web.connection import Connection, quoted
from kanerva.web.limits import KNOWN_FROM, MAX_IMAGES, MAX_READINGS


class Client:
    """The memories of a `kanerva serve`, used like those of `kanerva.open(folder)`.

    A memory belongs to the server's folder (`kanerva serve --store FOLDER`) or, without one, to
    this client: then it goes when the server ends or when this client does.

    Args:
        url: the address that the server printed.
        token: the token of the server, if it has one and it is not part of the address.
        timeout: how many seconds to wait for an answer.

    Raises:
        KanervaError: the address is not one of a server. Every method raises it for a server that
            does not answer and for what the server refuses.

    Example:
        >>> import tempfile
        >>> import torch
        >>> import kanerva
        >>> from kanerva.data import render_glyphs
        >>> from kanerva.web.background import serving
        >>> images = (render_glyphs(range(6), seed=0) > 20).float()
        >>> with serving() as url, tempfile.TemporaryDirectory() as folder:
        ...     client = kanerva.Client(url)
        ...     client.create("notes")
        ...     ids = client.write("notes", images[:5], labels=list("abcde")).ids
        ...     client.read("notes", images).known.shape
        ...     client.forget("notes", ids[:1]).num_items
        ...     client.create("more")
        ...     written = client.write("more", images[5:])
        ...     state = client.merge("notes", ["more"])
        ...     client.info("notes").num_items
        ...     client.images("notes").shape
        ...     client.generate("notes", 3).shape
        ...     client.interpolate("notes", images[1], images[2], steps=4).shape
        ...     client.export("notes", f"{folder}/notes.safetensors")
        ...     client.delete("more")
        ...     client.names()
        torch.Size([6])
        1
        5
        torch.Size([5, 1, 28, 28])
        torch.Size([3, 1, 28, 28])
        torch.Size([4, 1, 28, 28])
        ['notes']

    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        check_number("timeout", timeout, above=0, at_most=1e6, fix="Pass seconds.")
        self._connection = Connection(url, token=token, timeout=timeout)

    def __reduce__(self) -> tuple[object, ...]:
        one = self._connection  # a copy asks the same server, as another client
        return functools.partial(Client, token=one.token, timeout=one.timeout), (one.url,)

    def names(self) -> list[str]:
        """The names of all memories that this client can use.

        Returns:
            The names, this client's own first.

        """
        return self._connection.ask(names_from, "GET", "/memories")

    def create(self, name: str, *, stored: bool | None = None) -> None:
        """Create an empty memory of images, with a ledger.

        Args:
            name: its name: letters, digits, dots, dashes and underscores, at most 100.
            stored: keep it in the server's folder; by default if the server has one.

        """
        self._connection.json("POST", "/memories", {"name": name, "stored": stored})

    def delete(self, name: str) -> None:
        """Delete a whole memory.

        Args:
            name: the memory.

        """
        self._connection.json("DELETE", _path(name))

    def write(
        self,
        name: str,
        images: Items,
        *,
        ids: Sequence[str] | None = None,
        labels: Sequence[str | None] | None = None,
    ) -> Written:
        """Write images, 64 in one request; all are kept when this returns their ids and count.

        Args:
            name: the memory.
            images: (T, channels, H, W) between 0 and 1. The server keeps them in 255 steps.
            ids: ids of the items; by default random ones.
            labels: words for each item.

        Returns:
            The ids, and how many were written.

        """
        items = encoded_items(images, ids=ids, labels=labels)
        written: list[str] = []
        for start in range(0, len(items), MAX_IMAGES):
            body = {"items": items[start : start + MAX_IMAGES]}
            try:
                written += self._connection.ask(ids_from, "POST", f"{_path(name)}/items", body)
            except KanervaError as error:
                if not written:
                    raise
                raise partly_written(error, Written(written, len(written), [])) from None
        return Written(written, len(items), [])

    def read(
        self,
        name: str,
        cues: Items,
        *,
        threshold: float = KNOWN_FROM,
        num_readings: int | None = None,
    ) -> Reading:
        """Read what a memory holds for cues, with a confidence for each.

        Args:
            name: the memory.
            cues: images (T, channels, H, W) between 0 and 1, damaged or not.
            threshold: the confidence from which on an answer is given.
            num_readings: how often to read; by default the model decides.

        Returns:
            Images, confidence, and which cues are known, as `MemoryStore.read` returns them.

        """
        if num_readings is not None:
            check_integer("num_readings", num_readings, at_most=MAX_READINGS, fix="6 is enough.")
        found: list[Reading] = []
        encoded = encoded_images("cues", cues)
        for start in range(0, len(encoded), MAX_IMAGES):
            body = {
                "cues": encoded[start : start + MAX_IMAGES],
                "threshold": threshold,
                "num_readings": num_readings,
                "format": "array",
            }
            path = f"{_path(name)}/read"
            found.append(self._connection.ask(reading_from, "POST", path, body))
        return Reading(*(torch.cat(parts) for parts in zip(*found, strict=True)))

    def forget(self, name: str, ids: Sequence[str]) -> Receipt:
        """Delete items by their ids, as if they had never been written, and return the receipt.

        Args:
            name: the memory.
            ids: their ids, at most 64.

        Returns:
            The receipt.

        """
        query = "&".join(f"id={quoted(one)}" for one in ([ids] if isinstance(ids, str) else ids))
        read = functools.partial(receipt_from, name)
        return self._connection.ask(read, "DELETE", f"{_path(name)}/items?{query}")

    def merge(self, name: str, sources: Sequence[str]) -> str:
        """Merge other memories of the server into a named one, and return its new checksum.

        Args:
            name: the memory to merge into.
            sources: names of the others, which are not changed.

        Returns:
            The new state, a checksum.

        """
        body = {"sources": checked_sources(sources)}
        return self._connection.ask(state_from, "POST", f"{_path(name)}/merge", body)

    def info(self, name: str) -> MemoryInfo:
        """What a memory is and holds.

        Args:
            name: the memory.

        Returns:
            Sizes, counts, fingerprint and state.

        """
        read = functools.partial(info_from, name)
        return self._connection.ask(read, "GET", f"{_path(name)}/state")

    def images(self, name: str) -> Tensor:
        """The images that were written.

        Args:
            name: the memory.

        Returns:
            (T, channels, H, W), the oldest first.

        Raises:
            KanervaError: the memory has no ledger, or more images than the server lists.

        """
        return self._connection.ask(written_from, "GET", f"{_path(name)}/items?format=array")

    def generate(self, name: str, num_images: int, *, seed: int = 0) -> Tensor:
        """Make new images like those that were written.

        Args:
            name: the memory.
            num_images: how many, at most 64.
            seed: the same seed gives the same images.

        Returns:
            Images (num_images, channels, H, W) between 0 and 1.

        """
        body = {"num": num_images, "seed": seed, "format": "array"}
        return self._connection.ask(images_from, "POST", f"{_path(name)}/generate", body)

    def interpolate(self, name: str, start: Tensor, end: Tensor, *, steps: int = 10) -> Tensor:
        """Read the memory along the line between the weights of two images.

        Args:
            name: the memory.
            start: the first image, (channels, H, W).
            end: the last image.
            steps: how many images, both ends included.

        Returns:
            Images (steps, channels, H, W) between 0 and 1.

        """
        body = {
            "start": encoded_images("start", start[None])[0],
            "end": encoded_images("end", end[None])[0],
            "steps": steps,
            "format": "array",
        }
        return self._connection.ask(images_from, "POST", f"{_path(name)}/interpolate", body)

    def export(self, name: str, path: str | Path) -> None:
        """Save the sums of a memory to a safetensors file, which `MemoryStore.merge` takes.

        Args:
            name: the memory.
            path: the file, which ends in .safetensors. An existing one is replaced.

        """
        target = check_path("path", path)
        if target.suffix != ".safetensors":
            raise KanervaError(
                "path",
                expected="a file name that ends in .safetensors",
                got=f"'{target}'",
                fix=f"Write '{target.with_suffix('.safetensors')}'.",
            )
        save_export(target, self._connection.bytes("GET", f"{_path(name)}/export"))


def _path(name: str) -> str:
    return f"/memories/{quoted(name)}"
