"""One memory of the server: what the API does with it, on top of the store and the models.

Shapes: T items, K rows, C code size.
"""

import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kanerva.memory import MemoryState, fill
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.memory_access import FULL
from kanerva.models.memory_model import MemoryModel
from kanerva.models.reading import ReadResult
from kanerva.store.memory_store import MemoryStore
from kanerva.store.records import MemoryInfo, Receipt, Written
from kanerva.web.images import from_payload, to_bytes
from kanerva.web.limits import MAX_ITEMS
from kanerva.web.refusals import RefusedError


class ItemRow(NamedTuple):
    """An item as the page shows it."""

    id: str
    label: str | None
    time: float
    image: Tensor


class Filling(NamedTuple):
    """How full a memory is."""

    share: float
    """0 is empty; 1 is what its addresses can reach."""
    is_full: bool


@dataclass(frozen=True, eq=False)
class ServedMemory:
    """A memory that requests can use. All methods are safe in several threads."""

    name: str
    """What requests call it."""
    file: str
    """What the store calls it: random for the memory of a session."""
    key: str
    """Differs between two memories with one name."""
    store: MemoryStore
    stored: bool
    recall: KanervaMachine
    samples: MemoryModel

    def info(self) -> MemoryInfo:
        """Sizes, counts and state."""
        return self.store.info(self.file)

    def state(self) -> MemoryState:
        """The posterior p(M | W, Z), where the model is."""
        return self.store.memory(self.file).to(torch.float32).to(self.recall.device)

    def write(self, images: Tensor, *, ids: list[str | None], labels: list[str | None]) -> Written:
        """Write images (T, channels, H, W); each is kept, so that it can be shown and forgotten."""
        info = self.info()
        if info.num_items + len(images) > MAX_ITEMS:
            raise RefusedError(
                409,
                "images",
                expected=f"at most {MAX_ITEMS} items in a memory",
                got=f"{len(images)} more than the {info.num_items} that are there",
                fix="Forget some items first, or create another memory.",
            )
        if not info.ledger:
            return self.store.write(self.file, images)
        payloads = [to_bytes(image).tobytes() for image in images]
        names = [one or secrets.token_hex(8) for one in ids]
        self._check_free(names)
        return self.store.write(self.file, images, ids=names, labels=labels, payloads=payloads)

    def forget(self, ids: list[str]) -> Receipt:
        """Forget items exactly."""
        self._check_ledger()
        missing = set(ids) - self._ids()
        if missing:
            raise _no_item(min(missing))
        # The files of a session are removed as a whole, so their free space need not be.
        return self.store.forget(self.file, list(dict.fromkeys(ids)), purge=self.stored)

    def items(self) -> list[ItemRow]:
        """The first items, in the order in which they were written; none without a ledger."""
        if not self.info().ledger:
            return []
        memory = self.store._memory(self.file)  # the store has no public list of its items
        with memory.database.reading() as connection:
            rows = memory.sums.rows(
                connection,
                "number IN (SELECT number FROM items ORDER BY number LIMIT ?)",
                MAX_ITEMS,
            )
        codes = torch.from_numpy(memory.config.grid.codes(rows.items)).float()
        shape = self.recall.config.image_shape
        found = []
        for facts, code in zip(rows.facts, codes, strict=True):
            image = from_payload(facts.payload, shape) if isinstance(facts.payload, bytes) else None
            if image is None:  # written by someone else: show what its code looks like
                image = self._decode(code[None])[0]
            found.append(ItemRow(str(facts.id), facts.label, facts.time, image))
        return found

    def item(self, id: str) -> Tensor:
        """The image of an item."""
        for row in self.items():
            if row.id == id:
                return row.image
        raise _no_item(id)

    def read(self, cues: Tensor, *, num_readings: int | None) -> ReadResult:
        """Read cues; the model decides how often, unless told."""
        cues, state = cues.to(self.recall.device), self.state()
        if num_readings is None:
            return self.recall.read(cues, state)
        return self.recall.read(cues, state, num_readings=num_readings)

    def addresses(self, images: Tensor) -> Tensor:
        """The weights (T, K) with which images would be written."""
        return self.recall.address_images(images.to(self.recall.device))[0]

    def generate(self, num: int, *, seed: int) -> Tensor:
        """New images like those that were written, from the model for samples."""
        generator = torch.Generator(self.samples.device).manual_seed(seed)
        state = self.state() if self.samples is self.recall else self._state_for_samples()
        return self.samples.generate(state, num, generator=generator)

    def interpolate(self, start: Tensor, end: Tensor, *, steps: int) -> Tensor:
        """Images on the line between the weights of two."""
        start, end = start.to(self.recall.device), end.to(self.recall.device)
        return self.recall.interpolate(start, end, self.state(), steps=steps)

    def merge(self, others: "list[ServedMemory]") -> str:
        """Merge other memories into this one; the new state."""
        if any(other.file == self.file and other.store is self.store for other in others):
            raise RefusedError(
                409, "sources", expected="other memories", got=f"'{self.name}' itself",
                fix="Leave it out.",
            )  # fmt: skip
        mine = self._ids() if self.info().ledger else set()
        for other in others:
            if self.info().ledger and not other.info().ledger:
                raise RefusedError(
                    409, "sources", expected="memories that know their items, as this one does",
                    got=f"'{other.name}'", fix="Merge them in Python.",
                )  # fmt: skip
            theirs = other._ids() if other.info().ledger else set()
            if mine & theirs:
                raise _taken(min(mine & theirs))
            mine |= theirs
        if len(mine) > MAX_ITEMS:
            raise RefusedError(
                409, "sources", expected=f"at most {MAX_ITEMS} items in all", got=f"{len(mine)}",
                fix="Forget some items first.",
            )  # fmt: skip
        paths = [other.store.path / other.file for other in others]
        return self.store.merge(self.file, paths)

    def filling(self) -> Filling:
        """How full the memory is, relative to what its addresses can reach."""
        memory = self.store.memory(self.file).to(torch.float64)
        prior = self.recall.prior_memory().to("cpu").to(torch.float64)
        share = fill(memory, prior).item() / self.recall.addressing.usable_share
        return Filling(max(share, 0.0), share > FULL)

    def covariance(self) -> tuple[Tensor, float]:
        """|U| relative to the largest entry of an empty memory, (K, K), and that entry."""
        largest = self.recall.prior_memory().cov.abs().max().item()
        return self.store.memory(self.file).cov.abs() / largest, largest

    def export(self) -> bytes:
        """The sums of the memory as a safetensors file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.safetensors"
            self.store.export(self.file, path)
            return path.read_bytes()

    def _state_for_samples(self) -> object:
        """The same items in a memory of the model for samples."""
        items = self.items()
        if not items:
            return self.samples.prior_memory()
        images = torch.stack([item.image for item in items]).to(self.samples.device)
        if isinstance(self.samples, KanervaMachine):  # without the warning for a full memory
            return self.samples.evidence(images).posterior(self.samples.prior_memory())
        return self.samples.write(images)

    def _decode(self, codes: Tensor) -> Tensor:
        coder = self.recall.coder
        with torch.no_grad():
            return coder.likelihood.mean(coder.decode(codes.to(self.recall.device))).cpu()

    def _ids(self) -> set[str]:
        memory = self.store._memory(self.file)
        with memory.database.reading() as connection:
            return {one for (one,) in connection.execute("SELECT id FROM items")}

    def _check_ledger(self) -> None:
        if not self.info().ledger:
            raise RefusedError(
                409,
                "name",
                expected="a memory that knows its items",
                got=f"'{self.name}', which has no ledger",
                fix="Create a memory with a ledger, as this server does.",
            )

    def _check_free(self, ids: list[str]) -> None:
        if len(set(ids)) < len(ids):
            twice = next(one for index, one in enumerate(ids) if one in ids[:index])
            raise RefusedError(
                409, "ids", expected="each id once", got=f"'{twice}' twice", fix="Keep one."
            )
        taken = self._ids() & set(ids)
        if taken:
            raise _taken(min(taken))


def mean_codes(weights: Tensor, state: MemoryState) -> np.ndarray:
    """What a memory holds at addresses, (T, C)."""
    return (weights.double() @ state.mean.double()).float().cpu().numpy()


def _no_item(id: str) -> RefusedError:
    return RefusedError(
        404,
        "ids",
        expected="ids of items in this memory",
        got=f"'{id}'",
        fix="List them with GET /api/memories/NAME/items.",
    )


def _taken(id: str) -> RefusedError:
    return RefusedError(
        409,
        "ids",
        expected="ids that are not in the memory yet",
        got=f"'{id}'",
        fix="Choose another id, or forget that item first.",
    )
