"""What `Evidence - Evidence` refuses, what it cannot know, and what it must never refuse."""

import pytest
import torch

from cases import C, K, random_case
from kanerva import Evidence, KanervaError, condition

F64 = torch.float64
NUM_ROWS, CODE_SIZE = 64, 20


def refused(written: Evidence, forgotten: Evidence) -> bool:
    try:
        _ = written - forgotten
    except KanervaError:
        return True
    return False


def refusals(mistake: str, num_items: int, trials: int = 10) -> float:
    """How often one mistake among `num_items` random items is refused."""
    count = 0
    for seed in range(trials):
        case = random_case(
            num_items=num_items + 1, num_rows=NUM_ROWS, code_size=CODE_SIZE, seed=seed
        )
        (W, w), (Z, z) = (tensor.split(num_items) for tensor in case.episode)
        written = Evidence.of(W, Z, noise_var=0.5)
        first = Evidence.of(W[:1], Z[:1], noise_var=0.5)
        if mistake == "unwritten":
            count += refused(written, Evidence.of(w, z, noise_var=0.5))
        elif mistake == "twice":
            count += refused(written - first, first)
        else:
            count += refused(written, Evidence.of(W[:1], z, noise_var=0.5))
    return count / trials


@pytest.mark.parametrize("mistake", ["unwritten", "twice", "other codes"])
@pytest.mark.parametrize("num_items", [2, 10, 30, 64])
def test_mistakes_are_refused_while_there_are_at_most_as_many_items_as_rows(mistake, num_items):
    assert refusals(mistake, num_items) == 1


@pytest.mark.parametrize(
    ("mistake", "num_items"),
    [("unwritten", 300), ("twice", 300), ("other codes", 128), ("other codes", 1000)],
)
def test_what_statistics_cannot_know(mistake, num_items):
    """The docstring says so. If this fails, more is detected now: say that there instead."""
    assert refusals(mistake, num_items) == 0


def test_forgetting_down_to_few_items_finds_every_mistake():
    """However many items there were: what remains must be evidence of few items."""
    case = random_case(num_items=1000, num_rows=NUM_ROWS, code_size=CODE_SIZE)
    W, Z = case.episode
    written = Evidence.of(W, Z)
    assert not refused(written, Evidence.of(W[30:], Z[30:]))
    other = Z.clone()
    other[500] += 1
    assert refused(written, Evidence.of(W[30:], other[30:]))
    other = W.clone()
    other[500] += 1
    assert refused(written, Evidence.of(other[30:], Z[30:]))


@pytest.mark.parametrize("code_scale", [1e-4, 1e4])
def test_large_codes_do_not_hide_small_weights(code_scale):
    """Weights and codes have scales of their own."""
    case = random_case(num_items=5, num_rows=NUM_ROWS)
    W, Z = 1e-3 * case.weights, code_scale * case.codes
    assert refused(Evidence.of(W[:4], Z[:4]), Evidence.of(W[4:], Z[4:]))
    assert refused(Evidence.of(W[:4], Z[:4]), Evidence.of(W[:1], Z[1:2]))
    assert not refused(Evidence.of(W, Z), Evidence.of(W[1:], Z[1:]))


def test_large_memories_of_a_batch_do_not_hide_small_ones():
    case = random_case((2,), num_items=5, num_rows=NUM_ROWS)
    scale = torch.tensor([1e6, 1.0], dtype=F64)[:, None, None]
    W, Z = scale * case.weights, case.codes
    wrong = W[:, 4:].clone()
    wrong[0] = W[0, :1]  # written in the large memory; the small one does not have its item
    right = Z[:, 4:].clone()
    right[0] = Z[0, :1]
    assert refused(Evidence.of(W[:, :4], Z[:, :4]), Evidence.of(wrong, right))


def test_the_history_of_both_sides_counts():
    """The large item leaves errors that the small ones do not explain, but does not hide them."""
    case = random_case(num_items=4, num_rows=3, code_size=1, seed=3)
    W, Z = case.weights * torch.tensor([[3e3], [1.0], [1e-2], [1e-2]]), case.codes
    parts = [Evidence.of(W[i : i + 1], Z[i : i + 1]) for i in range(4)]
    rounded = (parts[0] + parts[2]) - parts[0]  # the small item, with errors of the large one
    for merged in (rounded + parts[3], parts[3] + rounded):
        assert not refused(merged, parts[2])
        assert not refused(merged, rounded)
        assert not refused(merged + parts[1], rounded)
    # An evidence that only ever was on the right side brings its history along, too.
    fresh = parts[2] + parts[3]
    assert not refused(fresh, rounded)
    assert not refused(fresh - rounded, parts[3])


def test_nothing_left_has_no_history():
    large = Evidence.of(1e6 * torch.eye(3, dtype=F64), torch.ones(3, 1, dtype=F64))
    small = Evidence.of(torch.eye(3, dtype=F64)[:1], torch.ones(1, 1, dtype=F64))
    other = Evidence.of(torch.eye(3, dtype=F64)[1:2], torch.ones(1, 1, dtype=F64))
    assert refused((large - large) + small, other)


@pytest.mark.parametrize("seed", range(20))
def test_right_subtractions_are_never_refused(seed):
    """In random order, with large and small items, recomputed in float32, down to nothing."""
    generator = torch.Generator().manual_seed(seed)
    num_items, num_rows = 3 + seed, 1 + seed % 7
    sizes = 10 ** (6 * torch.rand(num_items, 1, generator=generator) - 3)
    W = (sizes * torch.randn(num_items, num_rows, generator=generator)).float()
    Z = (torch.randn(num_items, 4, generator=generator) / sizes).float()
    left = Evidence.of(W, Z, noise_var=0.1)
    jitter = 1 + 2e-7 * torch.randn(num_items, 1, generator=generator)
    for i in torch.randperm(num_items, generator=generator).tolist():
        left = left - Evidence.of(jitter[i] * W[i : i + 1], Z[i : i + 1], noise_var=0.1)
    assert left.count == 0
    assert left.gram.abs().max() == 0


def test_evidence_of_zeros():
    nothing = Evidence.of(torch.zeros(3, K), torch.zeros(3, C))
    assert (nothing - Evidence.of(torch.zeros(1, K), torch.zeros(1, C))).count == 2


def test_evidence_without_squares_still_adds_and_forgets():
    case = random_case(num_items=4)
    whole = Evidence.of(*case.episode)
    bare = Evidence(whole.gram, whole.cross, whole.count)
    part = Evidence.of(case.weights[2:], case.codes[2:])
    for left in (bare - part, (bare + part) - part - part):
        assert left.count == 2
        assert left.squares is None
        post = left.posterior(case.prior)
        never = condition(case.prior, case.weights[:2], case.codes[:2])
        torch.testing.assert_close(post.mean, never.mean)
    assert refused(bare, Evidence.of(2 * case.weights[:1], case.codes[:1]))


def test_squares_are_the_length_of_the_codes():
    case = random_case((3,), num_items=4)
    code_var = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=F64)
    squares = Evidence.of(*case.episode, noise_var=0.5, code_var=code_var.expand(3, 4)).squares
    expected = (case.codes.square().sum(-1) / (0.5 + code_var)).sum(-1)
    torch.testing.assert_close(squares, expected)
    learned = Evidence.of(*(tensor.requires_grad_() for tensor in case.episode))
    assert learned.squares is not None
    assert not learned.squares.requires_grad


@pytest.mark.parametrize("scale", [1e150, 1e153, 1e160, 1e-160, 1e-300])
def test_codes_of_extreme_size(scale):
    """Their squares are too large or too small for floating point, which only a check notices."""
    case = random_case(num_items=4)
    W, Z = case.weights, scale * case.codes
    left = Evidence.of(W, Z) - Evidence.of(W[2:], Z[2:])
    post, never = left.posterior(case.prior), condition(case.prior, W[:2], Z[:2])
    torch.testing.assert_close(post.mean, never.mean)
    assert (left - Evidence.of(W[:2], Z[:2])).count == 0
