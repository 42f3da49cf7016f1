"""Objects of a JSON file, read so that each mistake is named by its place in the file."""

from collections.abc import Mapping, Sequence

from kanerva.checks import check_integer, check_number, check_one_of, nearest
from kanerva.errors import KanervaError


class JSONObject:
    """One object of a JSON file.

    Args:
        value: what the file holds there.
        place: where that is, for example "runs[0]"; empty for the file itself.
        keys: the keys it may have.

    """

    def __init__(self, value: object, *, place: str, keys: Sequence[str]) -> None:
        self.place = place
        if not isinstance(value, Mapping):
            raise KanervaError(
                place or "plan",
                expected=f"an object with the keys {', '.join(keys)}",
                got=type(value).__name__,
                fix='Write it as {"key": value, ...}.',
            )
        for key in value:
            if key not in keys:
                raise KanervaError(
                    self.named(key),
                    expected=f"one of the keys {', '.join(keys)}",
                    got=repr(key),
                    fix=nearest(key, keys) or f"Leave it out, or use one of: {', '.join(keys)}.",
                )
        self._values: Mapping[str, object] = value

    def named(self, key: object) -> str:
        """The place of a key in the file."""
        return f"{self.place}.{key}" if self.place else str(key)

    def has(self, key: str) -> bool:
        """Whether the object has a key, with a value that is not null."""
        return self._values.get(key) is not None

    def require(self, key: str) -> object:
        """The value of a key that must be there."""
        if not self.has(key):
            raise KanervaError(
                self.named(key),
                expected=f"the key {key!r}",
                got=f"only {', '.join(map(str, self._values)) or 'no key'}",
                fix=f"Add {key!r}.",
            )
        return self._values[key]

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self.require(key)
        if not isinstance(value, str) or not value.strip():
            raise KanervaError(
                self.named(key),
                expected="a string that is not empty",
                got=repr(value),
                fix='Write it in quotes, for example "omniglot".',
            )
        return value

    def one_of(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of several words."""
        if not self.has(key):
            return default
        check_one_of(self.named(key), self._values[key], choices)
        return str(self._values[key])

    def integer(self, key: str, *, at_least: int, fix: str, default: int | None = None) -> int:
        """A whole number."""
        if default is not None and not self.has(key):
            return default
        return as_integer(self.require(key), place=self.named(key), at_least=at_least, fix=fix)

    def number(self, key: str, *, fix: str) -> float:
        """A finite number."""
        value = self.require(key)
        check_number(self.named(key), value, fix=fix)
        return float(value)  # pyright: ignore[reportArgumentType]  checked above

    def items(self, key: str) -> list[tuple[str, object]]:
        """The entries of a list, each with its place; none where the key is missing."""
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise KanervaError(
                self.named(key),
                expected="a list",
                got=type(value).__name__,
                fix="Write it in square brackets, also if it has one entry.",
            )
        return [(f"{self.named(key)}[{number}]", entry) for number, entry in enumerate(value)]

    def mapping(self, key: str) -> Mapping[str, object]:
        """An object with any keys; empty where the key is missing."""
        value = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise KanervaError(
                self.named(key),
                expected="an object",
                got=type(value).__name__,
                fix='Write it as {"training.lr": 0.001}.',
            )
        return value


def as_integer(value: object, *, place: str, at_least: int, fix: str) -> int:
    """A whole number at a place of the file."""
    check_integer(place, value, at_least=at_least, fix=fix)
    return int(value)  # pyright: ignore[reportArgumentType]  checked above
