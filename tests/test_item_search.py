"""Finding items with Fourier keys: the exact variance, cheap steps, one item after another."""

import math

import pytest
import torch
from torch import Tensor

from kanerva import KanervaMachine, MemoryState, ModelConfig, condition
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.fourier_search import FourierSearch, Traces
from kanerva.models.item_search import ItemSearch, choose, compared, starts_around
from kanerva.models.ranking import NUM_FEATURES, Ranking, compare, features
from kanerva.models.views import MAX_SHIFT, NUM_VIEWS, moved_towards, views
from kanerva.models.widening_search import WideningSearch, stages

K, C, Y, T = 64, 10, 4, 6
U0 = 16.0


def keys() -> FourierKeys:
    return FourierKeys(num_rows=K, address_code_size=Y, width=1.5).double()


def random_cov(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(K, K, generator=generator, dtype=torch.float64)
    return root @ root.mT / K + 4 * torch.eye(K).double()


def search_for(
    items: Tensor, cues: Tensor, prior_cov: Tensor, *, std: float = 1.0, code_size: int = C
) -> FourierSearch:
    """The search for cues (N, Y) in a memory of items (T, Y) that began with a covariance."""
    codes = torch.zeros(len(items), 1).double()
    prior = MemoryState(torch.zeros(K, 1).double(), prior_cov)
    traces = Traces.of(condition(prior, keys()(items), codes).cov, prior_cov)
    posterior = Gaussian(cues, torch.full_like(cues, 2 * math.log(std)))
    return FourierSearch(keys(), traces, posterior, code_size=code_size, noise_var=1.0)


def spread_out(num: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(num, Y, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("make_prior", [lambda: U0 * torch.eye(K).double(), lambda: random_cov(3)])
def test_the_variance_is_that_of_the_same_items_in_an_even_prior(make_prior):
    """Against a memory that was written with the prior u I in the first place."""
    items, places = spread_out(T), spread_out(20, seed=1)
    prior_cov = make_prior()
    search = search_for(items, places, prior_cov)
    even = search.traces.prior_var * torch.eye(K).double()
    assert search.traces.prior_var == pytest.approx(prior_cov.diagonal().mean().item())
    weights = keys()(items)
    dense = torch.linalg.inv(torch.linalg.inv(even) + weights.mT @ weights)
    w = keys()(places)
    expected = (w @ dense * w).sum(-1)
    torch.testing.assert_close(search.variance(places), expected, rtol=1e-8, atol=1e-8)


def test_the_objective_and_its_slope():
    items, places = spread_out(T), spread_out(5, seed=1)
    search = search_for(items, places + 0.3, random_cov(3), std=0.7)
    search = search.without(items[:1].expand(5, Y))
    y = places.clone().requires_grad_()
    var = search.variance(y)
    expected = -0.5 * ((y - search.centre) / 0.7).square().sum(-1) - C / 2 * (var + 1).log()
    torch.testing.assert_close(search.objective(y), expected)
    (gradient,) = torch.autograd.grad(expected.sum(), y)
    at = search._look(places)
    strength = C / (at.variance + 1)
    slope = strength[:, None] * keys().slope(at.weights, search._spread(at))
    slope = slope + (places - search.centre) / 0.49
    torch.testing.assert_close(-slope, gradient)


def test_the_bound_on_the_curvature_holds_everywhere():
    search = search_for(spread_out(T), spread_out(5, seed=1), random_cov(3))
    values, axes = keys().curvature()
    bound = search.traces.prior_var * axes * values @ axes.mT
    L = search.traces.directions
    dense = search.traces.prior_var * (torch.eye(K).double() - L @ L.mT)
    for jacobian in keys().jacobian(spread_out(30, seed=2)):
        assert torch.linalg.eigvalsh(bound - jacobian.mT @ dense @ jacobian).min() > -1e-9


def test_the_objective_never_falls_and_its_slope_vanishes():
    items = spread_out(T)
    search = search_for(items, items + 0.3 * spread_out(T, seed=1), U0 * torch.eye(K).double())
    state = search.start(search.centre)
    for _ in range(200):
        before, state = state.places.objective, search.step(state)
        assert (state.places.objective >= before).all()
    assert state.has_converged.all()
    y = state.places.address_codes.clone().requires_grad_()
    (slope,) = torch.autograd.grad(search.objective(y).sum(), y)
    assert slope.abs().max() < 1.5  # steps shorter than 0.01 end a search
    run = search.run(search.centre, 200)
    assert torch.equal(run, state.places.address_codes)


def test_a_search_finds_one_item_after_another():
    items = torch.tensor([[0.0, 0, 0, 0], [2.5, 0, 0, 0]]).double()
    cue = torch.tensor([[0.3, 0.1, 0, 0]]).double()
    search = search_for(items, cue, U0 * torch.eye(K).double(), code_size=100)
    found = []
    for _ in items:
        found.append(search.run(cue, 60))
        search = search.without(found[-1])
        # What was found looks as it did before anything was written.
        assert search.variance(found[-1]).item() == pytest.approx(U0, rel=1e-6)
    assert (torch.cat(found) - items).norm(dim=-1).max() < 0.3
    again = search.without(cue + 8)  # nothing was written there, so nothing is passed over
    torch.testing.assert_close(again.variance(items[:1]), search.variance(items[:1]))


def test_merit_does_not_prefer_items_with_neighbours():
    items = torch.tensor([[0.0, 0, 0, 0], [0.4, 0, 0, 0], [5.0, 0, 0, 0]]).double()
    cue = torch.tensor([[2.6, 0, 0, 0]]).double().expand(2, Y)
    prior_cov = U0 * torch.eye(K).double()
    search = search_for(items, cue, prior_cov, std=math.exp(0.5), code_size=100)
    places = items[[0, 2]]  # the lonely item is nearer to the cue
    assert search.objective(places).argmax() == 0
    assert search.merit(places).argmax() == 1


def test_an_empty_memory_has_no_traces():
    search = search_for(spread_out(0), spread_out(3, seed=1), random_cov(3))
    assert search.traces.directions.shape == (K, 0)
    assert torch.equal(search.run(search.centre, 5), search.centre)


def finder(items: Tensor) -> ItemSearch:
    search = search_for(items, items, U0 * torch.eye(K).double(), code_size=100)
    return ItemSearch(keys(), search.traces, code_size=100, noise_var=1.0)


def around(means: Tensor) -> Gaussian:
    return Gaussian(means, torch.zeros_like(means))


def test_candidates_are_different_items():
    items = spread_out(T)
    search = finder(items)
    seen = torch.stack([items + 0.1, items + 0.2, items.roll(1, 0) + 0.7])
    found = search.different(search.at_views(around(seen)))
    further = search.next_to(around(items + 0.1), found, 2)
    found = search.different(found.joined(further))
    best = found.address_codes[0]
    assert (best - items).norm(dim=-1).max() < 0.3
    for cue in range(T):
        is_real = ~found.merit[:, cue].isneginf()
        places = found.address_codes[is_real, cue]
        assert len(places) >= 2
        apart = torch.cdist(places, places) + 10 * torch.eye(len(places)).double()
        assert apart.min() > 0.4 * 1.5
    choice = choose(found, by_image=False)
    assert torch.equal(choice.address_codes, best)
    merits = found.merit.topk(2, dim=0).values
    assert torch.equal(choice.lead, (merits[0] - merits[1]).clamp(max=50))
    some = found.of_cues(torch.tensor([3, 1]))
    assert torch.equal(some.posterior.mean, found.posterior.mean[:, [3, 1]])
    assert torch.equal(some.log_var, found.log_var[:, [3, 1]])


def test_what_is_known_is_passed_over():
    items = torch.tensor([[0.0, 0, 0, 0], [2.2, 0, 0, 0], [0, 9.0, 0, 0]]).double()
    search, cue = finder(items), torch.tensor([[0.4, 0, 0, 0]]).double()
    known = search.at_views(around(cue[None]))
    assert (known.address_codes[0] - items[0]).norm() < 0.3
    there = search.next_to(around(cue), known, 1).address_codes[0]
    assert (there - items[1]).norm() < 0.3
    views = torch.cat([cue[None], cue[None] + 1, cue[None] + torch.tensor([1.0, -1, 0, 0])])
    found = search.around(around(views), known, 40).address_codes[:, 0]
    assert ((found - items[1]).norm(dim=-1) < 0.3).any()
    assert not ((found - items[0]).norm(dim=-1) < 0.3).any()


def test_searches_begin_where_two_views_agree():
    means = torch.randn(NUM_VIEWS, 2, Y).double()
    places = starts_around(around(means), 192)
    assert places.shape == (192, 2, Y)
    torch.testing.assert_close(places[0], means[2] + means[1] - means[0])
    torch.testing.assert_close(places[66], (means[1] + means[0]) / 2)
    scattered = (places[144:] - means[-4:].repeat(12, 1, 1)).flatten()
    assert scattered.std().item() == pytest.approx(1, abs=0.2)
    assert torch.equal(places, starts_around(around(means), 192))
    assert torch.equal(places[:5], starts_around(around(means), 5))


def ranking_that_says(odds: float) -> Ranking:
    """A ranking that gives every candidate the same log-odds."""
    ranking = Ranking()
    ranking.last[-1] = odds
    ranking.is_fitted.fill_(1)
    assert ranking(torch.zeros(1, NUM_FEATURES)).item() == odds
    return ranking


@pytest.mark.parametrize("odds", [9.0, -2.0])
def test_a_search_goes_on_only_where_there_is_a_doubt(odds):
    items, asked_for = spread_out(T), []

    def views_of(cues: Tensor, num: int) -> Gaussian:
        asked_for.append((len(cues), num))
        return around((items + 0.1).expand(num, T, Y))

    search = WideningSearch(
        finder(items),
        views_of=views_of,
        decode=lambda y: torch.zeros(*y.shape[:-1], 1, 28, 28).double(),
        ranking=ranking_that_says(odds).double(),
    )
    cues = torch.zeros(T, 1, 28, 28).double()
    choice = search.choose(cues, around(items + 0.1), 20)
    assert asked_for == ([] if odds > 4 else [(T, 12)])
    assert (choice.address_codes - items).norm(dim=-1).max() < 0.3
    if odds > 4:  # a single candidate against none
        torch.testing.assert_close(choice.lead, torch.full((T,), odds).double())


def test_only_new_candidates_are_decoded():
    """After two stages the log-odds are those of comparing every candidate at once."""
    items, decoded = spread_out(T), []
    search, cues = finder(items), drawn(T).double()
    torch.manual_seed(0)
    ranking = Ranking().double()
    for parameter in (ranking.first, ranking.last):
        parameter.normal_()

    def decode(address_codes: Tensor) -> Tensor:
        decoded.append(len(address_codes))
        pixels = torch.einsum("ny,yp->np", address_codes, torch.ones(Y, 784).double().cumsum(1))
        return torch.sigmoid(pixels.sin()).unflatten(-1, (1, 28, 28))

    known = search.different(search.at_views(around((items + 0.1)[None])))
    known = compared(known, cues, ranking, decode)
    assert decoded == [T]
    joined = search.different(known.joined(search.next_to(around(items + 0.1), known, 2)))
    at_once = joined._replace(log_odds=torch.full_like(joined.log_odds, math.nan))
    found = compared(joined, cues, ranking, decode)
    expected = compared(at_once, cues, ranking, decode)
    is_item = ~joined.merit.isneginf()
    assert decoded == [T, is_item.sum() - T, is_item.sum()]
    torch.testing.assert_close(found.log_odds[is_item], expected.log_odds[is_item])
    assert torch.equal(compared(found, cues, ranking, decode).log_odds, found.log_odds)
    assert len(decoded) == 3


def test_stages():
    assert stages(1) == [("own", 1)]
    assert stages(3) == [("own", 1), ("next", 2)]
    assert stages(20) == [("own", 1), ("next", 3), ("views", 12), ("around", 4)]
    assert sum(num for _, num in stages(208)) == 208


def drawn(num: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    images = torch.zeros(num, 1, 28, 28)
    images[..., 6:22, 6:22] = (torch.rand(num, 1, 16, 16, generator=generator) < 0.2).float()
    return images


def test_views_undo_movements_and_leave_halves_out():
    images = drawn(3)
    seen = views(images)
    assert len(seen) == NUM_VIEWS
    assert torch.equal(seen[0], images)
    for down in (-2, 0, 2):
        for right in (-2, 0, 2):
            moved = torch.roll(images, (down, right), (-2, -1))
            assert any(torch.equal(view, images) for view in views(moved))
    lower, upper, right_half, left_half = seen[-4:]
    assert torch.equal(lower + upper, images)
    assert torch.equal(left_half + right_half, images)
    assert lower[..., :14, :].sum() == upper[..., 14:, :].sum() == 0


def test_images_are_moved_to_where_their_cue_is():
    images = drawn(4)
    moves = [(0, 0), (3, -2), (-1, 0), (2, 3)]
    cues = torch.stack(
        [torch.roll(image, move, (-2, -1)) for image, move in zip(images, moves, strict=True)]
    )
    cues[:, :, 3:9, 3:9] = 1  # damage does not mislead it
    there, distance = moved_towards(images[None].expand(2, -1, -1, -1, -1), cues)
    for image, move, found in zip(images, moves, there[0], strict=True):
        assert torch.equal(found, torch.roll(image, move, (-2, -1)))
    assert distance.tolist() == [[0, 5, 1, 5]] * 2
    assert max(abs(step) for move in moves for step in move) == MAX_SHIFT


def test_a_comparison_leaves_out_the_damaged_square():
    images = drawn(3)
    cues = images.clone()
    cues[:, :, 4:16, 6:18] = 1
    all_of_it, outside, *_ = compare(cues, images[None])[0].unbind(-1)
    torch.testing.assert_close(all_of_it, (cues - images).abs().sum((1, 2, 3)))
    assert (all_of_it > 50).all()
    torch.testing.assert_close(outside, torch.zeros(3), rtol=0, atol=1e-4)
    none = torch.zeros(1, 3)
    assert features(none, none, cues, images[None]).shape == (1, 3, NUM_FEATURES)


def small_machine() -> KanervaMachine:
    torch.manual_seed(0)
    config = ModelConfig(
        num_filters=4, code_size=8, num_rows=32, key_size=32, keys="fourier", key_width=1.5
    )
    return KanervaMachine(config).eval()


def test_readings_go_on_as_often_as_asked_for():
    """Converged or not; what they maximise never falls, and each is decoded from its own code."""
    machine, images = small_machine(), drawn(6)
    memory, seen = machine.write(images), []
    result = machine.read(
        images, memory, num_readings=12, on_reading=lambda _, read: seen.append(read)
    )
    until_converged = machine.read(images, memory)
    assert result.objectives is not None
    assert until_converged.objectives is not None
    assert len(result.steps) == len(seen) == len(result.objectives) == 12
    assert len(until_converged.steps) < 12
    assert (result.objectives.diff(dim=0) >= 0).all()
    assert (result.objectives[-1] > until_converged.objectives[-1]).any()
    torch.testing.assert_close(result.images, machine._search_reader().decode(result.codes))
    assert torch.equal(result.images, result.steps[-1])


@pytest.mark.parametrize("keys", ["fourier", "network"])
def test_the_sign_of_fill_is_the_fill_of_the_memory(keys):
    torch.manual_seed(0)
    config = ModelConfig(num_filters=4, code_size=8, num_rows=32, key_size=32, keys=keys)
    machine, images = KanervaMachine(config).eval(), drawn(12).unflatten(0, (2, 6))
    memory = machine.write(images)
    signs = machine.read(images, memory).signs
    assert signs is not None
    expected = machine.memory_module.fill(memory)
    assert expected is not None
    torch.testing.assert_close(signs.fill, expected.float()[:, None].expand(2, 6))


def test_reading_does_not_depend_on_the_other_cues():
    machine, images = small_machine(), drawn(6)
    memory = machine.write(images)
    together = machine.read(images, memory, num_readings=3)
    for number in range(6):
        alone = machine.read(images[number : number + 1], memory, num_readings=3)
        torch.testing.assert_close(alone.images[0], together.images[number], atol=1e-4, rtol=0)
