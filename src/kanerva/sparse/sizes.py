"""`Sizes`: the three numbers that define a sparse distributed memory, and their checks."""

from dataclasses import dataclass

from kanerva.checks import check_integer
from kanerva.errors import KanervaError

MAX_BITS = 10_000_000
"""The most bits of an address. Sums over all distances would never end for absurd numbers."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a sparse memory: K addresses, D bits, and the radius tau of activation.

    A cue activates all addresses within this Hamming distance (appendix B of the paper,
    app:review, where the radius is called tau).

    Args:
        num_addresses: K, the number of addresses.
        num_bits: D, the bits of an address.
        radius: the largest Hamming distance between a cue and an address that it activates, from
            0 to D.

    Raises:
        KanervaError: a number is not whole or not in its range.

    Example:
        >>> from kanerva.sparse import Sizes, radius_for
        >>> Sizes(num_addresses=10_000, num_bits=1000, radius=radius_for(1000, 0.004))
        Sizes(num_addresses=10000, num_bits=1000, radius=458)

    """

    num_addresses: int
    num_bits: int
    radius: int

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
    check_integer(
        "num_bits",
        num_bits,
        at_most=MAX_BITS,
        fix="Pass how many bits an address has, for example 1000.",
    )


def check_sizes(sizes: object) -> None:
    if not isinstance(sizes, Sizes):
        raise KanervaError(
            "sizes",
            expected="the sizes of a memory",
            got=repr(sizes)[:60],
            fix="Pass memory.sizes, or Sizes(num_addresses, num_bits, radius).",
        )


def check_sizes_and_patterns(sizes: object, num_patterns: int) -> None:
    check_sizes(sizes)
    check_integer(
        "num_patterns", num_patterns, fix="Pass how many patterns were written, for example 100."
    )
