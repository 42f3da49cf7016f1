"""What is fixed when a memory is created, and how it is kept in the memory's file."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass

from kanerva.checks import check_number
from kanerva.errors import KanervaError
from kanerva.store.database_files import SCHEMA
from kanerva.store.exact_sums import Grid

DTYPES = ("float32", "float64")


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """The facts of one memory. Memories with the same `merges_with` can be merged."""

    kind: str
    """images or vectors."""
    fingerprint: str
    """SHA-256 of the model or of the plan."""
    ledger: bool
    """Whether each item is kept, so that it can be deleted by its id."""
    half_life: float | None
    """Seconds after which evidence counts half; None for a memory that does not fade."""
    dtype: str
    """float32 or float64: the numbers that readings are returned in."""
    num_rows: int
    code_size: int
    num_blocks: int
    noise_var: float
    grid: Grid
    coder: dict[str, object]
    """What the coder needs to be made again."""

    @property
    def merges_with(self) -> tuple[object, ...]:
        """What must be equal for two memories to be merged."""
        return (self.kind, self.fingerprint, self.half_life, self.num_rows, self.num_blocks)

    def epoch_of(self, time: float) -> int:
        """The half-life in which a time lies; 0 without fading."""
        return 0 if self.half_life is None else math.floor(time / self.half_life)

    def scale_at(self, time: float) -> float:
        """By how much weights and codes of an item grow within its half-life: their product counts.

        At any later time all items of one half-life then fade by the same factor.
        """
        if self.half_life is None:
            return 1.0
        return 2.0 ** ((time / self.half_life - self.epoch_of(time)) / 2)

    def share_left(self, epoch: int, now: float) -> float:
        """What is left of the evidence of a half-life; what is dated later than now is all there.

        Clocks of several machines differ, so that this happens.
        """
        return 1.0 if self.half_life is None else 2.0 ** min(epoch - now / self.half_life, 0.0)

    def to_facts(self) -> dict[str, str]:
        """The rows of the table `facts`."""
        text = json.dumps(asdict(self), sort_keys=True)
        return {"schema": str(SCHEMA), "config": text, "checksum": _checksum(text)}

    @classmethod
    def from_facts(cls, facts: dict[str, str]) -> "MemoryConfig | None":
        """What `to_facts` wrote, or None if something was changed."""
        text = facts.get("config")
        if not isinstance(text, str) or facts.get("checksum") != _checksum(text):
            return None
        fields = json.loads(text)
        return cls.from_json(fields)

    @classmethod
    def from_json(cls, fields: dict) -> "MemoryConfig | None":
        """From the fields as JSON has them."""
        try:
            return cls(**{**fields, "grid": Grid(**fields["grid"])})
        except (KeyError, TypeError):
            return None


def check_half_life(half_life: float | None) -> None:
    """A positive number of seconds, or None."""
    if half_life is not None:
        check_number(
            "half_life",
            half_life,
            above=1e-3,
            at_most=1e12,
            fix="Pass seconds, for example 30 * 86400 for a month, or None for no fading.",
        )


def checked_time(time: float | None, now: float, argument: str = "time") -> float:
    """A time in seconds since 1970; by default now."""
    if time is None:
        return now
    check_number(argument, time, at_least=-1e11, at_most=1e11, fix="Pass time.time(), for example.")
    return float(time) + 0.0  # not -0.0, which SQLite would change


def different(name: str, mine: MemoryConfig, other: MemoryConfig, where: str) -> KanervaError:
    """The error for memories that cannot be merged."""
    return KanervaError(
        "sources",
        expected=f"memories made like '{name}': the same model or plan, and the same half-life",
        got=f"'{where}', with the fingerprint {other.fingerprint[:12]} and half-life "
        f"{other.half_life}, not {mine.fingerprint[:12]} and {mine.half_life}",
        fix="Create all of them with one model, or with one plan.",
    )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
