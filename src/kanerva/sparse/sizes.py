"""The three numbers that a sparse distributed memory is made of, and what whole numbers may be."""

from dataclasses import dataclass

from kanerva.checks import check_integer


@dataclass(frozen=True)
class Sizes:
    """K hard addresses of D bits, of which those within the radius of a cue are active."""

    num_addresses: int
    """K."""
    num_bits: int
    """D, of an address."""
    radius: int
    """Largest Hamming distance between a cue and an address that it activates."""

    def __post_init__(self) -> None:
        check_integer(
            "num_addresses",
            self.num_addresses,
            fix="Pass how many addresses the memory has, for example 10_000.",
        )
        check_num_bits(self.num_bits)
        check_integer(
            "radius",
            self.radius,
            at_least=0,
            at_most=self.num_bits,
            fix="kanerva.sparse.radius_for(num_bits, share) finds one for a share of addresses.",
        )


def check_num_bits(num_bits: int) -> None:
    check_integer("num_bits", num_bits, fix="Pass how many bits an address has, for example 1000.")


def check_num_patterns(num_patterns: int) -> None:
    check_integer(
        "num_patterns", num_patterns, fix="Pass how many patterns were written, for example 100."
    )
