"""Kanerva's sparse distributed memory: against loops, against another library, bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kanerva import KanervaError, SparseMemory
from kanerva.sparse import Sizes, hamming, radius_for
from kanerva.sparse import memory as memory_file
from kanerva.sparse.hamming_balls import active_share
from kanerva.sparse.theory import critical_distance

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_bits(*shape: int, seed: int) -> Tensor:
    return torch.randint(2, shape, dtype=torch.bool, generator=seeded(seed))


def flipped(patterns: Tensor, num: int, seed: int) -> Tensor:
    """Copies with `num` random bits of each row turned."""
    order = torch.rand(patterns.shape, generator=seeded(seed)).argsort(-1)
    return patterns ^ (order < num)


class Loops:
    """The appendix as written, one bit at a time."""

    def __init__(self, addresses: Tensor, radius: int, num_data_bits: int) -> None:
        self.addresses, self.radius = addresses.int().tolist(), radius
        self.counters = [[0] * num_data_bits for _ in self.addresses]

    def active(self, cue: list[int]) -> list[int]:
        return [
            k
            for k, address in enumerate(self.addresses)
            if sum(a != q for a, q in zip(address, cue, strict=True)) <= self.radius
        ]

    def write(self, pattern: list[int], at: list[int]) -> int:
        for k in self.active(at):
            for j, bit in enumerate(pattern):
                self.counters[k][j] += 1 if bit else -1
        return len(self.active(at))

    def read(self, cue: list[int]) -> tuple[list[int], list[int], int]:
        active = self.active(cue)
        sums = [sum(self.counters[k][j] for k in active) for j in range(len(self.counters[0]))]
        return [int(total > 0) for total in sums], sums, len(active)


@pytest.fixture(params=["packed", "product", "elsewhere"])
def way(request, monkeypatch):
    """All ways to find and add up the active addresses, cut into small blocks."""
    if request.param == "packed" and not hamming.CAN_COUNT:
        pytest.skip("numpy before 2 cannot count bits")
    monkeypatch.setattr(hamming, "CAN_COUNT", request.param == "packed")
    if request.param == "elsewhere":  # as on another device: tensors throughout
        monkeypatch.setattr(hamming, "as_numpy_on_cpu", lambda tensor: tensor)
        monkeypatch.setattr(memory_file, "as_numpy_on_cpu", lambda tensor: tensor)
    monkeypatch.setattr(hamming, "PACKED_BLOCK", 100)
    monkeypatch.setattr(hamming, "PRODUCT_BLOCK", 100)
    monkeypatch.setattr(memory_file, "COUNTERS_AT_ONCE", 300)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num_bits", [1, 7, 64, 65, 130])
@pytest.mark.usefixtures("way")
def test_against_loops(num_bits, device):
    radius = max(num_bits // 2 - 1, 0)
    memory = SparseMemory.random(
        40, num_bits, radius=radius, generator=seeded(num_bits), device=device
    )
    loops = Loops(memory.addresses, radius, num_bits)
    patterns = random_bits(9, num_bits, seed=1)
    taken = torch.cat([memory.write(part.to(device)) for part in patterns.split(4)])
    assert taken.tolist() == [loops.write(x, x) for x in patterns.int().tolist()]
    assert memory.counters.tolist() == loops.counters
    assert memory.num_written == 9

    cues = random_bits(6, num_bits, seed=2)
    read = memory.read(cues.to(device), num_readings=3, steps=True)
    for i, cue in enumerate(cues.int().tolist()):
        expected = (cue, [], 0)
        for step in read.steps:
            expected = loops.read(expected[0])
            assert step[i].int().tolist() == expected[0]
        assert read.sums[i].tolist() == expected[1]
        assert read.num_active[i].item() == expected[2]
    assert torch.equal(read.bits, read.steps[-1])
    assert read.bits.dtype is torch.bool


@pytest.mark.usefixtures("way")
def test_data_that_are_not_addresses():
    memory = SparseMemory.random(50, 20, radius=9, num_data_bits=5, generator=seeded(0))
    loops = Loops(memory.addresses, 9, 5)
    places, data = random_bits(8, 20, seed=1), random_bits(8, 5, seed=2)
    memory.write(data, at=places)
    for x, y in zip(data.int().tolist(), places.int().tolist(), strict=True):
        loops.write(x, y)
    assert memory.counters.tolist() == loops.counters
    read = memory.read(places)
    assert read.bits.int().tolist() == [loops.read(y)[0] for y in places.int().tolist()]
    assert read.steps == []


def test_a_sequence_is_walked():
    """Each pattern is the address of the next; a damaged one still finds its successor."""
    chain = random_bits(6, 256, seed=3)
    memory = SparseMemory.random(4000, 256, radius=radius_for(256, 0.01), generator=seeded(4))
    memory.write(chain[1:], at=chain[:-1])
    steps = memory.read(flipped(chain[0], 20, seed=5), num_readings=5, steps=True).steps
    assert torch.equal(torch.stack(steps), chain[1:])


def test_writing_goes_on_in_any_order():
    patterns = random_bits(30, 64, seed=6)
    whole, parts = (SparseMemory.random(200, 64, radius=26, generator=seeded(7)) for _ in range(2))
    assert torch.equal(whole.addresses, parts.addresses)
    whole.write(patterns)
    for part in patterns.flip(0).split(7):
        parts.write(part)
    assert torch.equal(whole.counters, parts.counters)
    assert whole.num_written == parts.num_written == 30


def test_leading_dimensions_and_numbers_as_bits():
    memory = SparseMemory.random(300, 64, radius=26, generator=seeded(8))
    patterns = random_bits(2, 3, 64, seed=9)
    assert memory.write(patterns.float()).shape == (2, 3)
    read = memory.read(patterns.to(torch.uint8), num_readings=2)
    assert read.bits.shape == read.sums.shape == (2, 3, 64)
    assert read.num_active.shape == (2, 3)
    one = memory.read(patterns[1, 2], num_readings=2)
    assert torch.equal(one.bits, read.bits[1, 2])
    assert one.num_active.shape == ()
    assert memory.read(patterns[:0]).bits.shape == (0, 3, 64)
    assert memory.write(patterns[:0]).shape == (0, 3)


def test_given_addresses_are_copied():
    addresses = random_bits(10, 8, seed=10)
    memory = SparseMemory(addresses, radius=4)
    addresses.zero_()
    assert memory.addresses.any()


def test_nothing_answers_far_away():
    memory = SparseMemory(torch.zeros(3, 16), radius=2)
    assert memory.write(torch.zeros(16)).item() == 3
    assert memory.write(torch.ones(16)).item() == 0  # lost, and said so
    read = memory.read(torch.ones(16))
    assert read.num_active.item() == 0
    assert not read.bits.any()


def test_sums_beyond_32_bits():
    memory = SparseMemory(torch.zeros(8, 4), radius=4)
    memory.counters.fill_(2**30)
    memory.num_written = 2**30
    assert memory.read(torch.zeros(4)).sums.tolist() == [2**33] * 4


def test_distances_are_exact_under_autocast():
    """In bfloat16 a sum of 1000 ones would be rounded to a multiple of 4."""
    points, cues = random_bits(300, 1001, seed=11), random_bits(20, 1001, seed=12)
    exact = (points[None] ^ cues[:, None]).sum(-1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(hamming._distances(points, cues).long(), exact)
    for radius in (470, 480, 490, 500):
        assert torch.equal(hamming.HammingIndex(points).near(radius, cues), exact <= radius)


def test_share_of_active_addresses():
    """Binomial over addresses; cues share them, so only the mean of many memories would be."""
    radius = radius_for(100, 0.02)
    share = active_share(100, radius)
    memory = SparseMemory.random(200_000, 100, radius=radius, generator=seeded(13))
    memory.write(random_bits(1, 100, seed=14))
    num_active = memory.read(random_bits(50, 100, seed=15)).num_active.double()
    deviation = (num_active - 200_000 * share) / (200_000 * share * (1 - share)) ** 0.5
    assert abs(deviation.mean().item()) < 4 / 50**0.5
    assert 0.6 < deviation.std().item() < 1.4


def test_reading_again_repairs_below_the_critical_distance_and_not_above():
    sizes = Sizes(10_000, 1000, radius_for(1000, 0.004))
    patterns = random_bits(200, 1000, seed=16)
    memory = SparseMemory.random(10_000, 1000, radius=sizes.radius, generator=seeded(17))
    memory.write(patterns)
    assert torch.equal(memory.read(patterns).bits, patterns)
    critical = critical_distance(sizes, 200)
    some = patterns[:40]
    below = memory.read(flipped(some, int(0.5 * critical), 18), num_readings=8, steps=True)
    left = torch.stack([(step ^ some).sum(1) for step in below.steps])
    assert (left[-1] == 0).double().mean() > 0.9
    assert left[1].double().mean() < 0.5 * left[0].double().mean()  # the second reading helps
    far = int(1.75 * critical)
    above = memory.read(flipped(some, far, 19), num_readings=8).bits
    assert ((above ^ some).sum(1) > far).double().mean() > 0.9  # farther than before


def test_against_torchhd():
    """The same addresses and data in another implementation: same counters, same sums."""
    from torchhd import MAPTensor
    from torchhd.memory import SparseDistributed

    share, num_bits, num_data_bits = 0.01, 200, 30
    other = SparseDistributed(3000, num_bits, num_data_bits, p=share)
    radius = radius_for(num_bits, share)
    assert other.threshold == num_bits - 2 * radius
    ours = SparseMemory(
        (other.keys > 0).as_subclass(Tensor), radius=radius, num_data_bits=num_data_bits
    )
    places, data = random_bits(60, num_bits, seed=20), random_bits(60, num_data_bits, seed=21)

    def signs(bits: Tensor) -> MAPTensor:
        return (2.0 * bits - 1).as_subclass(MAPTensor)

    ours.write(data, at=places)
    other.write(signs(places), signs(data))
    assert ours.counters.abs().sum() > 0
    assert torch.equal(ours.counters.float(), other.values.data.as_subclass(Tensor))
    cues = flipped(places, 15, seed=22)
    read = ours.read(cues)
    theirs = other.read(signs(cues)).detach().as_subclass(Tensor)
    assert torch.equal(read.sums.float(), theirs)
    assert (read.bits == data).double().mean() > 0.97


@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.02, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("num_bits", [1, 20, 1000])
def test_radius_for_a_share(num_bits, share):
    radius = radius_for(num_bits, share)
    assert active_share(num_bits, radius) >= share * (1 - 1e-9)
    assert radius == 0 or active_share(num_bits, radius - 1) < share * (1 + 1e-9)


def loose(value: object) -> Any:
    """What a type checker would have stopped."""
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
    "device": (lambda: small().read(ZEROS.to("meta")), "cues", "like the memory"),
    "fewer places": (lambda: small().write(ZEROS.expand(3, 8), at=ZEROS), "at", "(3,)"),
    "places of data": (lambda: small().write(ZEROS, at=torch.zeros(7)), "at", "8 bits"),
    "no place": (
        lambda: SparseMemory.random(8, 8, radius=3, num_data_bits=5).write(torch.zeros(5)),
        "at",
        "write(patterns, at=bits)",
    ),
    "empty memory": (
        lambda: SparseMemory.random(8, 8, radius=3).read(ZEROS),
        "memory",
        "memory.write(patterns) first",
    ),
    "no num_readings": (lambda: small().read(ZEROS, num_readings=0), "num_readings", "at least 1"),
    "some num_readings": (
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


def test_random_memories_differ_without_a_generator():
    first, second = (SparseMemory.random(100, 50, radius=20).addresses for _ in range(2))
    assert not torch.equal(first, second)
    assert 0.4 < first.double().mean() < 0.6
