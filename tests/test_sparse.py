"""Kanerva's sparse distributed memory: against plain loops and against another library."""

import pytest
import torch
from torch import Tensor

from kanerva import SparseMemory
from kanerva.sparse import Sizes, hamming, radius_for
from kanerva.sparse import counters as counters_file
from kanerva.sparse.hamming_balls import active_share
from kanerva.sparse.theory import critical_distance

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_bits(*shape: int, seed: int) -> Tensor:
    return torch.randint(2, shape, dtype=torch.bool, generator=seeded(seed))


def flipped(patterns: Tensor, num: int, seed: int) -> Tensor:
    """Flip `num` random bits of each row."""
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
    if request.param == "elsewhere":  # as on another device: only tensors
        monkeypatch.setattr(hamming, "as_numpy_on_cpu", lambda tensor: tensor)
        monkeypatch.setattr(counters_file, "as_numpy_on_cpu", lambda tensor: tensor)
    monkeypatch.setattr(hamming, "PACKED_BLOCK", 100)
    monkeypatch.setattr(hamming, "PRODUCT_BLOCK", 100)
    monkeypatch.setattr(counters_file, "COUNTERS_AT_ONCE", 300)


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
    centres, data = random_bits(8, 20, seed=1), random_bits(8, 5, seed=2)
    memory.write(data, at=centres)
    for x, y in zip(data.int().tolist(), centres.int().tolist(), strict=True):
        loops.write(x, y)
    assert memory.counters.tolist() == loops.counters
    read = memory.read(centres)
    assert read.bits.int().tolist() == [loops.read(y)[0] for y in centres.int().tolist()]
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
    assert memory.write(torch.ones(16)).item() == 0  # lost, and the result says so
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
        assert torch.equal(hamming.HammingIndex(points).is_within(radius, cues), exact <= radius)


def test_share_of_active_addresses():
    """The number of active addresses is binomial; all cues share the same addresses."""
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
    centres, data = random_bits(60, num_bits, seed=20), random_bits(60, num_data_bits, seed=21)

    def signs(bits: Tensor) -> MAPTensor:
        return (2.0 * bits - 1).as_subclass(MAPTensor)

    ours.write(data, at=centres)
    other.write(signs(centres), signs(data))
    assert ours.counters.abs().sum() > 0
    assert torch.equal(ours.counters.float(), other.values.data.as_subclass(Tensor))
    cues = flipped(centres, 15, seed=22)
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


def test_random_memories_differ_without_a_generator():
    first, second = (SparseMemory.random(100, 50, radius=20).addresses for _ in range(2))
    assert not torch.equal(first, second)
    assert 0.4 < first.double().mean() < 0.6
