"""Evidence merges and forgets, and refuses to forget what was never written."""

import pytest
import torch

from cases import DEVICES, C, K, assert_same_memory, random_case
from kanerva import Evidence, KanervaError, condition

F64 = torch.float64

case = random_case(num_items=8, num_rows=12)
W, Z = case.episode


def part(start: int, stop: int) -> Evidence:
    return Evidence.of(W[start:stop], Z[start:stop])


def test_contract():
    post = (part(0, 3) + part(3, 8) - part(5, 8)).posterior(case.prior)
    assert_same_memory(post, condition(case.prior, W[:5], Z[:5]))


def test_sum_merges_shards():
    merged = sum(part(i, i + 1) for i in range(8))
    assert isinstance(merged, Evidence)
    assert merged.count == 8
    assert_same_memory(merged.posterior(case.prior), condition(case.prior, W, Z))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (part(0, 3), part(0, 4)),  # more items than were written
        (part(0, 3), part(3, 5)),  # items that were not written
        (part(0, 3), part(3, 6)),  # the same number of items, but other ones
        (part(0, 3), Evidence.of(2 * W[:2], Z[:2])),  # the same items with larger weights
        (part(0, 3), Evidence.of(W[:2], Z[:2], noise_var=0.1)),  # the same items with less noise
        (part(0, 2), Evidence.of(W[:2], Z[:2] + 1)),  # the same weights with other codes
    ],
)
def test_forgetting_more_than_was_written_is_refused(left, right):
    with pytest.raises(KanervaError, match="forget only items that were written") as caught:
        _ = left - right
    assert caught.value.argument == "evidence"


def test_forgetting_everything_leaves_exactly_nothing():
    left = (part(0, 3) + part(3, 8)) - part(3, 8) - part(0, 3)
    assert left.count == 0
    assert torch.equal(left.gram, torch.zeros_like(left.gram))
    assert torch.equal(left.posterior(case.prior).mean, case.prior.mean)


def test_forgetting_weights_computed_again_in_float32():
    """The same network rounds differently at another batch size; this must be accepted."""
    weights, codes = W.float(), Z.float()
    again = weights * (1 + 1e-7 * torch.randn(W.shape, generator=torch.Generator().manual_seed(0)))
    left = Evidence.of(weights, codes) - Evidence.of(again[2:], codes[2:])
    never = condition(case.prior.to(torch.float32), weights[:2], codes[:2])
    post = left.posterior(case.prior.to(torch.float32))
    torch.testing.assert_close(post.mean, never.mean, rtol=1e-4, atol=1e-4)


def test_forgetting_down_to_the_smallest():
    """Large items go first, then small ones: rounding errors of the large ones must be accepted."""
    for seed in range(10):
        generator = torch.Generator().manual_seed(seed)
        sizes = torch.cat([torch.full((100, 1), 10.0), torch.full((100, 1), 1e-3)])
        weights = sizes * torch.randn(200, 2, generator=generator)
        codes = torch.randn(200, 1, generator=generator)
        left = Evidence.of(weights, codes)
        for i in range(199):
            left = left - Evidence.of(weights[i : i + 1], codes[i : i + 1])
        assert left.count == 1


@pytest.mark.parametrize("extreme", [Evidence.of(1e7 * W[3:4], Z[3:4]), None])
def test_a_remainder_that_is_lost_in_rounding_errors_is_refused(extreme):
    extreme = extreme or Evidence.of(W[3:4], Z[3:4], noise_var=1e-14)
    both = part(0, 3) + extreme
    with pytest.raises(KanervaError, match=r"rounding errors.*of their own"):
        _ = both - extreme
    assert (both - part(0, 3)).count == 1  # what is large is not lost
    assert (extreme - extreme).count == 0  # nothing is left that could be lost


def test_batches_of_evidence():
    many = random_case((3, 2), num_items=4)
    evidence = Evidence.of(*many.episode)
    both = evidence + evidence
    assert both.gram.shape == (3, 2, K, K)
    assert both.cross.shape == (3, 2, K, C)
    twice = condition(condition(many.prior, *many.episode), *many.episode)
    assert_same_memory(both.posterior(many.prior), twice)
    assert_same_memory((both - evidence).posterior(many.prior), evidence.posterior(many.prior))


def test_other_things_do_not_add():
    with pytest.raises(TypeError):
        _ = part(0, 1) + 1.0  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(TypeError):
        _ = part(0, 1) - 1.0  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(TypeError):
        _ = 1.0 + part(0, 1)  # pyright: ignore[reportOperatorIssue]


def test_moving_evidence():
    evidence = part(0, 3)
    moved = evidence.to("cpu")
    assert torch.equal(moved.gram, evidence.gram)
    assert_same_memory((moved + part(3, 8)).posterior(case.prior), condition(case.prior, W, Z))
    for device in DEVICES:
        there = evidence.to(device)
        assert there.gram.device.type == there.cross.device.type == device
        assert (there + there - there).to("cpu").count == 3
    for target, words in (
        ("nodevice", "'cpu'"),
        ("float32", "device"),
        (torch.float32, "memory.to"),
        (None, "None"),
    ):
        with pytest.raises(KanervaError, match=words) as caught:
            evidence.to(target)  # pyright: ignore[reportArgumentType]
        assert caught.value.argument == "device"


@pytest.mark.parametrize(
    ("gram", "count", "words"),
    [
        (torch.triu(torch.ones(2, 2)), 3, "symmetric"),
        (torch.eye(2), 0, "no items"),
        (-torch.eye(2), 3, "eigenvalue"),
    ],
)
def test_evidence_that_no_items_have(gram, count, words):
    with pytest.raises(KanervaError, match=words) as caught:
        Evidence(gram, torch.ones(2, 1), count)
    assert caught.value.argument == "gram"


def test_squares_that_do_not_fit():
    ones = torch.ones(2, 1)
    Evidence(torch.eye(2), ones, 3, squares=torch.tensor(2.0))
    for squares, argument in (
        (torch.tensor(1.9), "gram"),
        (torch.tensor(torch.nan), "squares"),
        (torch.tensor(2), "squares"),
        (2.0, "squares"),
    ):
        with pytest.raises(KanervaError) as caught:
            Evidence(torch.eye(2), ones, 3, squares=squares)  # pyright: ignore
        assert caught.value.argument == argument


def test_adding_to_tensors_and_arrays():
    for other in (torch.zeros(2), torch.tensor(0.0), 0.0, False, None):
        with pytest.raises(TypeError):
            _ = other + part(0, 1)  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_statistics_made_by_hand_are_copied_in_float64(dtype):
    parts = [torch.eye(3, dtype=dtype), torch.zeros(3, 1, dtype=dtype), torch.ones((), dtype=dtype)]
    evidence = Evidence(parts[0], parts[1], 3, squares=parts[2])
    for part in parts:
        part += 9
    assert evidence.gram.dtype == evidence.cross.dtype == F64
    assert torch.equal(evidence.gram, torch.eye(3, dtype=F64))
    assert not evidence.cross.any()
    assert evidence.squares == 1
    assert (evidence + Evidence.of(torch.eye(3), torch.ones(3, 1))).count == 6


def test_gradients_reach_statistics_made_by_hand():
    gram = torch.eye(3, requires_grad=True)
    Evidence(gram, torch.zeros(3, 1), 3).gram.sum().backward()
    assert gram.grad is not None
    assert torch.equal(gram.grad, torch.ones(3, 3))
