"""The three numbers that a sparse distributed memory is made of, and what whole numbers may be."""

from dataclasses import dataclass

from kanerva.errors import KanervaError


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
        check_count("num_addresses", self.num_addresses)
        check_count("num_bits", self.num_bits)
        check_count(
            "radius",
            self.radius,
            lowest=0,
            highest=self.num_bits,
            fix="kanerva.sparse.radius_for(num_bits, share) finds one for a share of addresses.",
        )


def check_count(
    argument: str,
    value: int,
    *,
    lowest: int = 1,
    highest: int | None = None,
    fix: str = "Pass a plain int.",
) -> None:
    """A whole number between `lowest` and `highest`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and lowest <= value and (highest is None or value <= highest):
        return
    limit = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    raise KanervaError(argument, expected=f"a whole number {limit}", got=repr(value), fix=fix)
