"""Values of a JSON file that know where they stand, so that an error can name the place."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kanerva.errors import KanervaError
from kanerva.rendering.image_json import images_from_json


@dataclass(frozen=True)
class SavedJson:
    """A value inside a JSON file, read as what it should be. Everything else is an error."""

    value: object
    file: Path
    place: str = ""
    """The keys and numbers that lead to it, for example runs[2].final."""

    @classmethod
    def read(cls, file: Path) -> "SavedJson":
        """Read a file that holds one JSON object."""
        if not os.path.isfile(file):  # reading a pipe would wait for ever
            raise _wrong(file, "a file", "a folder, a pipe or a link that leads nowhere")
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise _wrong(file, "a file that can be read", str(error.strerror).lower()) from None
        except RecursionError:
            raise _wrong(file, "one JSON object", "thousands of them inside each other") from None
        except ValueError as error:  # not JSON, not text, or a number of thousands of digits
            raise _wrong(file, "one JSON object", f"something else ({error})") from None
        if not isinstance(value, dict):
            raise _wrong(file, "one JSON object", type(value).__name__)
        return cls(value, file)

    def __getitem__(self, key: str) -> "SavedJson":
        """The value of a key that must be there."""
        found = self.get(key)
        if found is None:
            raise self._error(f"the key '{key}'", f"the keys {', '.join(self.entries())}")
        return found

    def get(self, key: str) -> "SavedJson | None":
        """The value of a key, or None if the key is not there."""
        return self.entries().get(key)

    def entries(self) -> dict[str, "SavedJson"]:
        """The values of an object, by their keys."""
        if not isinstance(self.value, dict):
            raise self._error("an object", repr(self.value)[:40])
        return {key: self._part(part, f".{key}") for key, part in self.value.items()}

    def parts(self) -> list["SavedJson"]:
        """The values of a list."""
        if not isinstance(self.value, list):
            raise self._error("a list", repr(self.value)[:40])
        return [self._part(part, f"[{number}]") for number, part in enumerate(self.value)]

    def number(self) -> float:
        """A number. JSON has no word for an infinite one, so null becomes NaN."""
        if self.value is None:
            return math.nan
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self._error("a number", repr(self.value)[:40])
        return self.value

    def integer(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self._error("a whole number", repr(self.value)[:40])
        return self.value

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self._error("a string", repr(self.value)[:40])
        return self.value

    def images(self) -> NDArray[np.float64]:
        """Images (N, channels, H, W) that `images_to_json` saved."""
        if not isinstance(self.value, dict):
            raise self._error("saved images", repr(self.value)[:40])
        try:
            images = images_from_json(self.value)
        except KanervaError as error:
            raise self._error(error.expected, error.got) from None
        if images.ndim != 4 or images.shape[1] not in (1, 3) or 0 in images.shape:
            raise self._error("images (N, 1 or 3 channels, H, W)", f"shape {images.shape}")
        return images

    def _part(self, value: object, step: str) -> "SavedJson":
        return SavedJson(value, self.file, (self.place + step).removeprefix("."))

    def _error(self, expected: str, got: str) -> KanervaError:
        return _wrong(self.file, f"{expected} at {self.place or 'the top'}", got)


def _wrong(file: Path, expected: str, got: str) -> KanervaError:
    return KanervaError(
        "--results",
        expected=expected,
        got=f"{got} in '{file}'",
        fix="Make this file again, or move it out of the folder.",
    )
