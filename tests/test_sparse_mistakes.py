"""Mistakes with the sparse distributed memory: each is an error that names the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from kanerva import KanervaError, SparseMemory
from kanerva.sparse import radius_for
from test_sparse import random_bits, seeded


def loose(value: object) -> Any:
    """Hide the type from the type checker, which would reject the call."""
    return value


def small() -> SparseMemory:
    memory = SparseMemory.random(20, 8, radius=3, generator=seeded(0))
    memory.write(random_bits(2, 8, seed=0))
    return memory


ZEROS = torch.zeros(8, dtype=torch.bool)
BAD: dict[str, tuple[Callable[[], object], str, str]] = {
    # name: (call, argument, words of the message)
    "no addresses": (lambda: SparseMemory.random(0, 8, radius=3), "num_addresses", "at least 1"),
    "no bits": (lambda: SparseMemory.random(8, 0, radius=0), "num_bits", "at least 1"),
    "half a bit": (lambda: SparseMemory.random(8, loose(8.5), radius=0), "num_bits", "whole"),
    "radius below": (lambda: SparseMemory.random(8, 8, radius=-1), "radius", "from 0 to 8"),
    "radius above": (lambda: SparseMemory.random(8, 8, radius=9), "radius", "radius_for"),
    "radius of a share": (lambda: SparseMemory.random(8, 8, radius=loose(0.1)), "radius", "0.1"),
    "no data": (
        lambda: SparseMemory.random(8, 8, radius=3, num_data_bits=0),
        "num_data_bits",
        "at least",
    ),
    "flat addresses": (lambda: SparseMemory(ZEROS, radius=3), "addresses", "(K addresses, D"),
    "list": (lambda: small().write(loose([0, 1])), "patterns", "torch.as_tensor(patterns)"),
    "array": (lambda: small().read(loose(np.zeros(8, bool))), "cues", "ndarray"),
    "nothing": (lambda: small().write(torch.tensor(True)), "patterns", "8 bits in the last"),
    "wrong size": (lambda: small().read(torch.zeros(2, 9)), "cues", "shape (2, 9)"),
    "signs": (lambda: small().write(2.0 * ZEROS - 1), "patterns", "pass patterns > 0"),
    "real numbers": (lambda: small().read(torch.full((8,), 0.5)), "cues", "threshold"),
    "not a number": (lambda: small().read(torch.full((8,), torch.nan)), "cues", "0 or 1"),
    "sparse layout": (lambda: small().read(ZEROS.int().to_sparse()), "cues", "to_dense"),
    "too large": (lambda: SparseMemory.random(10**9, 10**6, radius=3), "num_addresses", "fewer"),
    "far too large": (lambda: SparseMemory.random(10**30, 8, radius=3), "num_addresses", "fewer"),
    "no generator": (
        lambda: SparseMemory.random(8, 8, radius=3, generator=loose(0)),
        "generator",
        "manual_seed",
    ),
    "device": (lambda: small().read(ZEROS.to("meta")), "cues", "like the memory"),
    "fewer rows in at": (lambda: small().write(ZEROS.expand(3, 8), at=ZEROS), "at", "(3,)"),
    "wrong size of at": (lambda: small().write(ZEROS, at=torch.zeros(7)), "at", "8 bits"),
    "no at": (
        lambda: SparseMemory.random(8, 8, radius=3, num_data_bits=5).write(torch.zeros(5)),
        "at",
        "write(patterns, at=bits)",
    ),
    "empty memory": (
        lambda: SparseMemory.random(8, 8, radius=3).read(ZEROS),
        "memory",
        "memory.write(patterns) first",
    ),
    "no readings": (lambda: small().read(ZEROS, num_readings=0), "num_readings", "at least 1"),
    "readings as a bool": (
        lambda: small().read(ZEROS, num_readings=loose(True)),
        "num_readings",
        "True",
    ),
    "share of nothing": (lambda: radius_for(8, 0.0), "share", "above 0"),
    "share beyond all": (lambda: radius_for(8, 1.5), "share", "at most 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, argument, words = BAD[name]
    with pytest.raises(KanervaError) as caught:
        call()
    assert caught.value.argument == argument
    assert words in str(caught.value)


def test_data_that_are_not_addresses_are_read_once():
    memory = SparseMemory.random(8, 8, radius=8, num_data_bits=5)
    memory.write(torch.zeros(5), at=ZEROS)
    with pytest.raises(KanervaError, match="as many bits as an address") as caught:
        memory.read(ZEROS, num_readings=2)
    assert caught.value.argument == "num_readings"


def test_a_refused_write_changes_nothing():
    memory = small()
    before = memory.counters.clone()
    with pytest.raises(KanervaError):
        memory.write(ZEROS.expand(3, 8), at=ZEROS)
    assert torch.equal(memory.counters, before)
    assert memory.num_written == 2
