"""The theory of sparse distributed memory: enumerated, against scipy, and measured."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor

from kanerva import KanervaError, SparseMemory
from kanerva.sparse import Sizes
from kanerva.sparse.hamming_balls import (
    _radius_in_float64,
    active_share,
    active_share_normal,
    intersection,
    overlap,
    radius_for,
)
from kanerva.sparse.readout import (
    address_statistics,
    first_order_ratio,
    noise_levels,
    readout,
    readout_given,
    signal_to_noise,
)
from kanerva.sparse.theory import (
    binomial_quadrature,
    capacity,
    change_rates,
    critical_distance,
    fidelity,
    first_order_capacity,
    new_distances,
)

CUBE = torch.tensor(list(itertools.product([0, 1], repeat=6)), dtype=torch.bool)


@pytest.mark.parametrize("num_bits", [1, 10, 256, 1000, 5000])
def test_activation(num_bits):
    for share in (1e-6, 1e-3, 0.1, 0.5):
        radius = radius_for(num_bits, share)
        assert radius == scipy.stats.binom.ppf(share, num_bits, 0.5)
        exact = scipy.stats.binom.cdf(radius, num_bits, 0.5)
        assert active_share(num_bits, radius) == pytest.approx(exact, rel=1e-9)
    assert active_share_normal(num_bits, num_bits // 2) == pytest.approx(
        active_share(num_bits, num_bits // 2), rel=0.02
    )


@pytest.mark.parametrize("num_bits", [1, 2, 3, 64, 65, 1000, 4001])
@pytest.mark.parametrize("share", [5e-324, 1e-20, 1e-3, 0.25, 0.5, 0.5001, 0.9, 1 - 1e-16, 1])
def test_the_radius_in_float64_is_the_exact_one(num_bits, share):
    assert _radius_in_float64(num_bits, share) == radius_for(num_bits, share)


def test_the_radius_of_a_million_bits_is_found():
    """With whole numbers this took hours."""
    for share in (1e-3, 0.9):
        radius = radius_for(10**6, share)
        assert radius == scipy.stats.binom.ppf(share, 10**6, 0.5)


def test_normal_approximation_in_the_tail():
    """Kanerva's radius: 451 of 1000 bits contains a thousandth of the addresses."""
    assert radius_for(1000, 0.001) == 451
    assert active_share(1000, 451) == pytest.approx(0.001, rel=0.1)
    assert active_share_normal(1000, 451) == pytest.approx(active_share(1000, 451), rel=0.01)


@pytest.mark.parametrize("distance", range(7))
def test_overlap_by_enumeration(distance):
    x, y = torch.zeros(6, dtype=torch.bool), torch.arange(6) < distance
    for r, s in itertools.product(range(-1, 7), repeat=2):
        both = ((CUBE ^ x).sum(1) <= r) & ((CUBE ^ y).sum(1) <= s)
        assert intersection(6, distance, r, s) == pytest.approx(
            both.double().mean().item(), abs=1e-14
        )
        if r == s >= 0:
            assert overlap(6, r, distance) == intersection(6, distance, r, s)


def test_overlap_at_random_is_the_square():
    chances = scipy.stats.binom.pmf(np.arange(257), 256, 0.5)
    mean = sum(chances[d] * overlap(256, 110, d) for d in range(257))
    assert mean == pytest.approx(active_share(256, 110) ** 2, rel=1e-9)


@pytest.mark.parametrize(("num_addresses", "num_patterns"), [(1, 1), (1, 4), (2, 1), (2, 3)])
@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_mean_and_variance_by_enumeration(num_addresses, num_patterns, radius):
    """Every choice of addresses and other patterns of three bits, written and read."""
    cube = 2 * np.array(list(itertools.product([0, 1], repeat=3))) - 1
    near = (cube @ cube.T >= 3 - 2 * radius).astype(int)  # w(u), over all pairs of points
    mean, var = readout(Sizes(num_addresses, 3, radius), num_patterns)
    for distance, y in enumerate((7, 3, 1, 0)):  # the first bits of x = 7 flipped
        values = []
        for chosen in itertools.product(range(8), repeat=num_addresses):
            answers = near[:, list(chosen)] @ near[list(chosen), y]  # n(u) for all u
            for others in itertools.product(range(8), repeat=num_patterns - 1):
                written = [7, *others]
                values.append((answers[written] @ cube[written]) * cube[7])
        for row, bit in ((0, 2), (1, 0)):  # the last bit is kept, the first flipped
            if distance != (3, 0)[row]:
                sums = np.array(values)[:, bit]
                assert mean[row, distance] == pytest.approx(sums.mean(), abs=1e-12)
                assert var[row, distance] == pytest.approx(sums.var(), abs=1e-12)


def test_given_numbers_average_to_the_whole():
    """Total expectation and total variance: two derivations of one thing."""
    sizes, num_patterns = Sizes(3000, 200, 83), 80
    known = address_statistics(sizes)
    first, second = np.zeros((2, 201)), np.zeros((2, 201))
    numbers, chances = binomial_quadrature(3000, np.array([known.active]))
    for active, chance in zip(numbers[:, 0], chances[:, 0], strict=True):
        shared, weight = binomial_quadrature(int(active), known.overlap / known.active)
        mean, var = readout_given(sizes, num_patterns, active, shared[:, None])
        first += chance * (mean * weight[:, None]).sum(0)
        second += chance * ((mean**2 + var) * weight[:, None]).sum(0)
    whole = readout(sizes, num_patterns)
    for row, where in ((0, slice(0, 200)), (1, slice(1, 201))):
        deviation = np.sqrt(whole.var[row, where])
        assert np.abs((first - whole.mean)[row, where] / deviation).max() < 1e-4
        ratio = (second - first**2)[row, where] / whole.var[row, where]
        assert np.abs(ratio - 1).max() < 1e-3


def test_tails_are_as_thick_as_they_are():
    """The fourth cumulant of N equal, symmetric terms n(u) u, by a sum over the values of n(u)."""
    sizes, num_patterns, active = Sizes(2000, 60, 20), 400, np.array(15.0)
    known = address_statistics(sizes)
    distance, number = scipy.stats.binom.pmf(np.arange(61), 60, 0.5), np.arange(16)
    chances = distance @ scipy.stats.binom.pmf(number, 15, (known.overlap / known.active)[:, None])
    square, fourth = chances @ number**2, chances @ number**4
    levels = noise_levels(sizes, num_patterns, active)
    extra, weight = np.array(levels).T
    assert weight.sum() == pytest.approx(1)
    assert weight @ extra == pytest.approx(0, abs=float(0.4 * square))
    assert fourth > 3 * square**2
    assert 3 * weight @ extra**2 == pytest.approx(399 * (fourth - 3 * square**2), rel=0.02)


def test_nothing_else_written_is_no_noise():
    assert noise_levels(Sizes(2000, 60, 20), 1, np.array(15.0)) == [(0, 1)]


@pytest.mark.parametrize(("n", "q"), [(5, 0.5), (30, 0.01), (10_000, 0.004), (10**6, 0.3)])
def test_spread_stands_for_a_binomial(n, q):
    numbers, chances = binomial_quadrature(n, np.array([q]))
    exact = scipy.stats.binom(n, q)
    mean = (numbers * chances).sum()
    assert mean == pytest.approx(exact.mean(), rel=1e-4)
    assert ((numbers - mean) ** 2 * chances).sum() == pytest.approx(exact.var(), rel=1e-4)
    smooth = (np.exp(-numbers / n) * chances).sum()
    assert smooth == pytest.approx((1 - q + q * np.exp(-1 / n)) ** n, rel=1e-6)


def test_spread_of_nothing_and_of_all():
    numbers, chances = binomial_quadrature(7, np.array([0.0, 1.0]))
    assert (numbers * chances).sum(0).tolist() == [0, 7]


def test_first_order_holds_where_it_should():
    """Few shared addresses, a steady signal: the exact rho tends to Kanerva's."""
    sizes, num_patterns = Sizes(10**6, 1000, radius_for(1000, 1e-4)), 50_000
    exact, first = (
        signal_to_noise(sizes, num_patterns)[0, 0],
        first_order_ratio(sizes, num_patterns)[0],
    )
    assert first == pytest.approx((10**6 / num_patterns) ** 0.5)
    assert exact == pytest.approx(first, rel=0.1)
    crowded = Sizes(10**6, 1000, radius_for(1000, 1e-2))
    assert signal_to_noise(crowded, num_patterns)[0, 0] < 0.6 * first


def test_tau():
    """A tenth of the addresses for a thousand bits: Kanerva's rule of thumb."""
    assert first_order_capacity(1000) == pytest.approx(0.098, abs=5e-4)
    for num_bits in (2, 100, 10_000):
        rho = first_order_capacity(num_bits) ** -0.5
        assert scipy.stats.norm.cdf(rho) ** num_bits == pytest.approx(0.5, rel=1e-9)
    assert first_order_capacity(1) == np.inf


def test_critical_distance_is_a_fixed_point():
    sizes = Sizes(10_000, 1000, 458)
    distances = [critical_distance(sizes, num) for num in (100, 200, 400, 800)]
    assert distances == sorted(distances, reverse=True)
    new = new_distances(sizes, 200)
    around = np.interp(distances[1] + np.array([-0.5, 0.5]), np.arange(1001), new)
    assert around.mean() == pytest.approx(distances[1], abs=1e-6)
    assert new[int(distances[1]) - 20] < int(distances[1]) - 20
    assert new[int(distances[1]) + 20] > int(distances[1]) + 20


def test_one_pattern_is_found_from_anywhere_and_too_many_from_nowhere():
    sizes = Sizes(10_000, 1000, 458)
    assert critical_distance(sizes, 1) == 500
    most = capacity(sizes)
    assert critical_distance(sizes, most) > 0
    assert critical_distance(sizes, most + 1) == 0
    assert 0.5 * first_order_capacity(1000) < most / 10_000 < 1.5 * first_order_capacity(1000)
    assert fidelity(sizes, most)[0, 0] > 0.99


@pytest.mark.parametrize("numbers", [(1, 1, 0), (1, 1, 1), (3, 2, 1), (5, 2000, 0), (1000, 64, 64)])
def test_odd_memories_have_numbers_too(numbers):
    sizes = Sizes(*numbers)
    for num_patterns in (1, 2, 100):
        rates = change_rates(sizes, num_patterns)
        assert ((rates >= 0) & (rates <= 1)).all()
        assert not np.isnan(signal_to_noise(sizes, num_patterns)).any()
    assert capacity(sizes) >= 0


def test_a_full_memory_that_answers_with_the_cue_has_no_critical_distance():
    """If the cue's own bits pull strongly, wrong bits are too rare for 1 - Phi in float64."""
    sizes = Sizes(10**7, 1000, 451)
    assert critical_distance(sizes, 10**5) > 0
    assert critical_distance(sizes, 10**12) == 0


def damaged(patterns: Tensor, num: int, generator: torch.Generator) -> Tensor:
    return patterns ^ (torch.rand(patterns.shape, generator=generator).argsort(1) < num)


def test_new_distance_as_measured():
    """Forty memories; the mean over cues of each is one independent measurement."""
    sizes, num_patterns, olds = (
        Sizes(2000, 256, radius_for(256, 0.02)),
        60,
        (0, 13, 26, 51, 90, 128),
    )
    generator = torch.Generator().manual_seed(0)
    measured, active = np.zeros((40, len(olds))), np.zeros((40, len(olds)))
    for row, active_row in zip(measured, active, strict=True):
        memory = SparseMemory.random(2000, 256, radius=sizes.radius, generator=generator)
        patterns = torch.randint(2, (num_patterns, 256), dtype=torch.bool, generator=generator)
        memory.write(patterns)
        for i, old in enumerate(olds):
            read = memory.read(damaged(patterns, old, generator))
            row[i] = (read.bits ^ patterns).sum(1).double().mean()
            active_row[i] = read.num_active.double().mean() / 2000

    def z_scores(values: np.ndarray, expected: np.ndarray | float) -> np.ndarray:
        return (values.mean(0) - expected) / (values.std(0, ddof=1) / 40**0.5)

    predicted = new_distances(sizes, num_patterns)[list(olds)]
    assert np.abs(z_scores(measured, predicted)).max() < 4
    assert np.abs(z_scores(active, active_share(256, sizes.radius))).max() < 4
    # What the first order leaves out is much larger than the error of the measurement.
    first = 256 * scipy.stats.norm.sf(first_order_ratio(sizes, num_patterns)[list(olds)])
    assert np.abs(z_scores(measured, first))[1:5].min() > 8


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: readout(Sizes(10, 10, 3), 0), "num_patterns"),
        (lambda: change_rates(Sizes(10, 10, 3), 0), "num_patterns"),
        (lambda: first_order_ratio(Sizes(10, 10, 3), 0), "num_patterns"),
        (lambda: overlap(10, 3, 11), "distance"),
        (lambda: overlap(10, 11, 3), "radius"),
        (lambda: active_share(0, 0), "num_bits"),
        (lambda: active_share_normal(10, 11), "radius"),
        (lambda: first_order_capacity(0), "num_bits"),
    ],
)
def test_bad_numbers(call, argument):
    with pytest.raises(KanervaError) as caught:
        call()
    assert caught.value.argument == argument


def test_the_experiment_runs(tmp_path):
    script, out = Path(__file__).parents[1] / "experiments" / "sparse.py", tmp_path / "sparse.json"
    command = [sys.executable, str(script), "--quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert {"one_reading", "turning_point", "critical_distance", "capacity"} <= result.keys()
    assert len(result["one_reading"][0]["points"]) == 10


def test_saved_results_are_those_of_this_theory():
    """The saved predictions are those that this code makes."""
    saved = json.loads((Path(__file__).parents[1] / "results" / "sparse.json").read_text())
    for row in saved["one_reading"]:
        predicted = new_distances(Sizes(row["addresses"], 1000, row["radius"]), row["patterns"])
        for point in row["points"]:
            assert point["predicted"] == pytest.approx(predicted[point["flipped"]], rel=1e-6)
            assert point["z"] is None or abs(point["z"]) < 4
    for row in (*saved["critical_distance"], *saved["turning_point"]):
        predicted = critical_distance(Sizes(row["addresses"], 1000, row["radius"]), row["patterns"])
        assert row["predicted"] == pytest.approx(predicted, rel=1e-6)
