"""The options of commands that read a memory."""

from typing import NamedTuple, TypedDict

from kanerva.checks import check_integer
from kanerva.errors import KanervaError


class ReadingKeywords(TypedDict):
    """Arguments of `MemoryModel.read`."""

    num_readings: int | None
    keep_cue: bool | None
    num_starts: int | None
    sample: bool


class ReadingOptions(NamedTuple):
    """How to read, as given on the command line."""

    readings: int | None
    keep_cue: bool
    starts: int | None
    sample: bool

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.starts is not None:
            check_integer("--starts", self.starts, at_most=1000, fix="Leave it out, or try 8.")
        if self.sample and self.keep_cue:
            raise KanervaError(
                "--sample",
                expected="--no-keep-cue next to it: only algorithm 1 draws samples",
                got="only --sample",
                fix="Add --no-keep-cue.",
            )
        if self.starts is not None and not self.keep_cue:
            raise KanervaError(
                "--starts",
                expected="no --no-keep-cue next to it: algorithm 1 does not search",
                got=f"--starts {self.starts} and --no-keep-cue",
                fix="Remove one of them.",
            )

    def keywords(self) -> ReadingKeywords:
        """The arguments of `MemoryModel.read`. A model that cannot search reads by algorithm 1."""
        return {
            "num_readings": self.readings,
            "keep_cue": None if self.keep_cue else False,
            "num_starts": self.starts,
            "sample": self.sample,
        }
