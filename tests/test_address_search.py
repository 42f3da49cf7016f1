"""Reading by search: the objective, its steps, and what they find."""

import math

import pytest
import torch
from torch import Tensor
from torch.func import jacrev, vmap

from kanerva import KanervaError, KanervaMachine, MemoryState, ModelConfig, condition
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.address_search import AddressSearch
from kanerva.models.addressing import AddressTable
from kanerva.models.fourier_keys import FourierKeys

K, C, Y, T = 64, 10, 3, 6


def fourier_keys(width: float = 1.0) -> FourierKeys:
    return FourierKeys(num_rows=K, address_code_size=Y, width=width).double()


def network_keys() -> AddressTable:
    torch.manual_seed(0)
    return AddressTable(num_rows=K, key_size=20, address_code_size=Y, hidden_size=30).double()


def written(keys: AddressTable | FourierKeys) -> tuple[MemoryState, Tensor]:
    """A memory of T items, and their address codes."""
    torch.manual_seed(1)
    address_codes = 2 * torch.randn(T, Y, dtype=torch.float64)
    prior = MemoryState(torch.zeros(K, C).double(), 9 * torch.eye(K).double())
    codes = torch.randn(T, C, dtype=torch.float64)
    with torch.no_grad():
        return condition(prior, keys(address_codes), codes), address_codes


def search_in(keys: AddressTable | FourierKeys, cue_std: float = 0.5) -> AddressSearch:
    memory, address_codes = written(keys)
    cues = address_codes + 0.3 * torch.randn(T, Y, dtype=torch.float64)
    log_var = torch.full_like(cues, 2 * math.log(cue_std))
    return AddressSearch(keys, memory.cov, Gaussian(cues, log_var), code_size=C, noise_var=1.0)


def test_fourier_keys_have_length_1_and_overlap_by_distance():
    keys = FourierKeys(num_rows=20_000, address_code_size=Y, width=1.5).double()
    y = torch.randn(40, Y, dtype=torch.float64)
    overlap = keys(y) @ keys(y).mT
    expected = (-torch.cdist(y, y).square() / (2 * 1.5**2)).exp()
    assert torch.allclose(overlap.diagonal(), torch.ones(40).double())
    assert (overlap - expected).abs().max() < 5 / math.sqrt(10_000)


@pytest.mark.parametrize("make", [fourier_keys, network_keys])
def test_the_jacobian_is_that_of_autograd(make):
    keys = make()
    y = torch.randn(2, 5, Y, dtype=torch.float64)
    expected = vmap(vmap(jacrev(keys)))(y)
    assert torch.allclose(keys.jacobian(y), expected, atol=1e-12)


@pytest.mark.parametrize("make", [fourier_keys, network_keys])
def test_the_objective_is_the_best_joint_density_of_y_and_z(make):
    """F(y) = max over z of ln q(y|x) + ln p(z|y), written out item by item."""
    keys = make()
    search, (memory, _) = search_in(keys), written(keys)
    y = search.centre + 0.1
    found = search.objective(y)
    with torch.no_grad():
        for number in range(T):
            w = keys(y[number])
            var = w @ memory.cov @ w + 1.0
            prior = torch.distributions.Normal(w @ memory.mean, var.sqrt())
            best = prior.log_prob(prior.mean).sum()
            q = torch.distributions.Normal(search.centre[number], 0.5).log_prob(y[number]).sum()
            constant = -0.5 * (C + Y) * math.log(2 * math.pi) - Y * math.log(0.5)
            assert torch.isclose(found[number], best + q - constant)


@pytest.mark.parametrize("make", [fourier_keys, network_keys])
def test_the_objective_never_falls_and_its_slope_vanishes(make):
    search = search_in(make())
    state = search.start(search.centre)
    with torch.no_grad():
        for _ in range(80):
            before, state = state.objective, search.step(state)
            assert (state.objective >= before).all()
    assert state.has_converged.all()
    y = state.address_codes.clone().requires_grad_()
    (slope,) = torch.autograd.grad(search.objective(y).sum(), y)
    if make is fourier_keys:  # a network of ReLUs has kinks
        assert slope.abs().max() < 0.5


def test_a_search_ends_where_something_was_written():
    search = search_in(fourier_keys())
    _, address_codes = written(fourier_keys())
    state = search.start(search.centre)
    before = (search.centre - address_codes).norm(dim=-1)
    for _ in range(20):
        state = search.step(state)
    after = (state.address_codes - address_codes).norm(dim=-1)
    assert (after < 0.5 * before).float().mean() > 0.8
    assert (search.variance(state.address_codes) < search.variance(search.centre)).all()


@pytest.fixture(scope="module")
def machine() -> KanervaMachine:
    torch.manual_seed(0)
    config = ModelConfig(
        num_filters=4,
        code_size=8,
        num_rows=32,
        key_size=32,
        keys="fourier",
        key_width=1.5,
        code_posterior="product",
        reading="distribution",
        novel_share=0.5,
    )
    return KanervaMachine(config).eval()


@pytest.fixture(scope="module")
def images() -> Tensor:
    return (torch.rand(2, 5, 1, 28, 28, generator=torch.Generator().manual_seed(0)) < 0.1).float()


def test_reading_goes_on_until_nothing_moves(machine, images):
    memory = machine.write(images)
    result = machine.read(images, memory)
    assert result.images.shape == images.shape
    assert result.objectives.shape == (len(result.steps), 2, 5)
    assert (result.objectives.diff(dim=0) >= 0).all()
    assert torch.equal(result.steps[-1], result.images)
    fixed = machine.read(images, memory, num_readings=3)
    assert len(fixed.steps) == 3
    seen = []
    machine.read(images, memory, num_readings=3, on_reading=lambda n, x: seen.append((n, x)))
    assert [number for number, _ in seen] == [1, 2, 3]
    assert all(torch.equal(a, b) for (_, a), b in zip(seen, fixed.steps, strict=True))


def test_more_starts_never_end_lower(machine, images):
    memory = machine.write(images)
    one, many = (machine.read(images, memory, num_starts=n, num_readings=8) for n in (1, 6))
    assert (many.objectives[-1] >= one.objectives[-1] - 1e-4).all()


def test_one_memory_for_all_cues(machine, images):
    memory = machine.write(images[0])
    alone = machine.read(images[0], memory, num_readings=4)
    batched = machine.read(images[:1], machine.write(images[:1]), num_readings=4)
    assert torch.allclose(alone.images, batched.images[0], atol=1e-3)


def test_algorithm_1_is_the_papers(machine, images):
    """`keep_cue=False`: encode, address, read, decode, and ask again with the result."""
    memory = machine.write(images[0])
    result = machine.read(images[0], memory, keep_cue=False, num_readings=3)
    cue = images[0]
    with torch.no_grad():
        for step in result.steps:
            embeddings = machine.coder.encode(cue)
            y = machine.addressing.posterior(embeddings, memory).mean
            code = machine.access.read(embeddings, machine.addressing.address_for(y), memory, None)
            parameters = machine.coder.decode(code.distribution.mean)
            cue = machine.coder.likelihood.mean(parameters)
            assert torch.equal(step, cue)
    assert result.objectives is None


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"keep_cue": True, "sample": True}, "keep_cue"),
        ({"keep_cue": False, "num_starts": 3}, "num_starts"),
        ({"sample": True, "num_starts": 3}, "num_starts"),
        ({"num_starts": 0}, "num_starts"),
        ({"num_readings": 0}, "num_readings"),
        ({"keep_cue": "yes"}, "keep_cue"),
    ],
)
def test_options_that_do_not_go_together(machine, images, options, argument):
    with pytest.raises(KanervaError, match=f"^{argument}"):
        machine.read(images[0], machine.write(images[0]), **options)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"keys": "fourier"}, "key_size"),
        ({"keys": "fourier", "num_rows": 33, "key_size": 33}, "key_size"),
        ({"key_width": 2.0}, "key_width"),
        ({"keys": "waves"}, "keys"),
        ({"novel_share": 0.5}, "novel_share"),
        ({"novel_share": 1.0, "code_posterior": "product"}, "novel_share"),
        ({"code_posterior": "product", "bottom_up": False}, "code_posterior"),
    ],
)
def test_options_of_the_model_that_do_not_go_together(options, argument):
    with pytest.raises(KanervaError, match=f"^{argument}"):
        ModelConfig(**options)
