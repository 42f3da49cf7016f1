"""One suite that every memory with parameters inherits, and what is true of one kind alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from kanerva import KanervaError, MemoryState
from kanerva.data import EpisodeSampler, load_dataset
from kanerva.models.addressing import Addressing, LeastSquaresAddressing
from kanerva.models.build import build_model
from kanerva.models.checkpoint import load, save_model
from kanerva.models.config import (
    AnyMemoryModelConfig,
    DNCConfig,
    DynamicConfig,
    LRUAConfig,
    ModelConfig,
)
from kanerva.models.dynamic_kanerva_machine import DynamicKanervaMachine
from kanerva.models.initialise import initialise_model
from kanerva.models.memories import LRUA, Memory, content, dnc, lrua
from kanerva.models.memories.controlled import ControlledMemory
from kanerva.models.memories.dnc import DNC, DNCState
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Model
from kanerva.training.config import TrainingConfig
from kanerva.training.step import TrainingStep

B, T, K, C, Y = 3, 5, 12, 6, 4
CODER: dict[str, Any] = {"num_filters": 4, "code_size": C, "num_rows": K}
NETS: dict[str, Any] = {"address_code_size": Y, "hidden_size": 16}
DNC_SIZES = DNCConfig(**CODER, **NETS, bottom_up=False)
LRUA_SIZES = LRUAConfig(**CODER, **NETS, bottom_up=False)
DYNAMIC_SIZES = DynamicConfig(**CODER)


def parts(state) -> tuple[torch.Tensor, ...]:
    """A state as tensors."""
    return (state.mean, state.cov) if isinstance(state, MemoryState) else tuple(state)


def assert_alike(one, other, **tolerance) -> None:
    for a, b in zip(parts(one), parts(other), strict=True):
        torch.testing.assert_close(a, b, **tolerance)


class MemorySuite:
    """What a model may rely on, whatever the memory."""

    config: AnyMemoryModelConfig
    order_matters: bool

    @pytest.fixture
    def model(self) -> MemoryModel:
        torch.manual_seed(0)
        model = build_model(self.config)
        assert isinstance(model, MemoryModel)
        return model

    @pytest.fixture
    def memory(self, model):
        return model.memory_module

    @pytest.fixture
    def address(self, model):
        torch.manual_seed(1)
        addressing = model.addressing
        return addressing.address_for(torch.randn(B, T, addressing.address_code_size)).detach()

    @pytest.fixture
    def codes(self):
        torch.manual_seed(2)
        return 2 * torch.randn(B, T, C)

    def written(self, memory, address, codes):
        return memory.write(memory.initial_state(torch.Size([B])), address, codes)

    def test_shapes(self, memory, address, codes):
        state = self.written(memory, address, codes)
        assert memory.batch_shape(state) == (B,)
        mean, var, weights = memory.read(state, address)
        assert mean.shape == (B, T, C)
        assert weights.shape == (B, T, K)
        assert torch.broadcast_to(torch.as_tensor(var), (B, T, C)).min() > 0
        assert all(part.isfinite().all() for part in (mean, weights, *parts(state)))

    def test_writing_changes_what_is_read(self, memory, address, codes):
        before = memory.read(memory.initial_state(torch.Size([B])), address).mean
        after = memory.read(self.written(memory, address, codes), address).mean
        assert (before - after).abs().max() > 1e-3

    def test_states_are_values(self, memory, address, codes):
        """Neither writing nor reading changes a state."""
        state = self.written(memory, address, codes)
        copies = [part.clone() for part in parts(state)]
        memory.write(state, address, -codes)
        memory.read(state, address)
        for part, copy in zip(parts(state), copies, strict=True):
            assert torch.equal(part, copy)

    def test_items_read_do_not_see_each_other(self, memory, address, codes):
        state = self.written(memory, address, codes)
        whole, one = memory.read(state, address), memory.read(state, address[:, 2:3])
        torch.testing.assert_close(whole.mean[:, 2:3], one.mean)
        torch.testing.assert_close(whole.weights[:, 2:3], one.weights)

    def test_episodes_do_not_see_each_other(self, memory, address, codes):
        whole = self.written(memory, address, codes)
        single = memory.write(memory.initial_state(torch.Size([1])), address[1:2], codes[1:2])
        for a, b in zip(parts(whole), parts(single), strict=True):
            torch.testing.assert_close(a[1:2], b)

    def some_state(self, memory):
        """A state to write into."""
        return memory.initial_state(torch.Size([B]))

    def test_writing_goes_on(self, memory, address, codes):
        start = self.some_state(memory)
        begun = memory.write(start, address[:, :2], codes[:, :2])
        parted = memory.write(begun, address[:, 2:], codes[:, 2:])
        whole = memory.write(start, address, codes)
        assert_alike(parted, whole, rtol=1e-4, atol=1e-5)

    def test_order(self, memory, address, codes):
        turned = self.written(memory, address.flip(-2), codes.flip(-2))
        straight = self.written(memory, address, codes)
        means = [memory.read(state, address).mean for state in (straight, turned)]
        same = torch.allclose(*means, rtol=1e-4, atol=1e-4)
        assert same != self.order_matters

    def test_gradients_are_finite_even_of_nothing(self, memory, address):
        """Codes of zero length, into an empty memory."""
        address, codes = address.requires_grad_(), torch.zeros(B, T, C, requires_grad=True)
        mean = memory.read(self.written(memory, address, codes), address).mean
        (mean - 1).square().sum().backward()
        for gradient in (address.grad, codes.grad, *(p.grad for p in memory.parameters())):
            assert gradient is None or gradient.isfinite().all()

    def test_the_model_around_it_learns(self, tmp_path):
        """A few dozen steps on letterforms; then it is saved, loaded, and reads its own writing."""
        data = load_dataset("glyphs", "fit", show_progress=False)
        torch.manual_seed(0)
        model = build_model(self.config)
        sampler = EpisodeSampler(data, num_items=T)
        generator = torch.Generator().manual_seed(0)
        initialise_model(model, sampler.sample(20, generator=generator))
        training = TrainingConfig(steps=60, batch=4, warmup=10, kl_warmup=20, precision="float32")
        step = TrainingStep(model, sampler, training, device=torch.device("cpu"))
        step.run(6)
        before = step.progress().bound
        step.run(48)
        step.progress()
        step.run(6)
        after = step.progress()
        assert after.bound < before - 5
        assert after.skipped == 0
        save_model(tmp_path / "model.safetensors", model, {})
        again = load(tmp_path / "model.safetensors", kind=MemoryModel)
        images = sampler.sample(2, generator=generator)
        read = again.read(images, again.write(images), num_readings=2)
        assert read.images.shape == images.shape
        assert read.weights.shape == (2, T, K)
        samples = again.generate(again.write(images), 3, num_readings=1, generator=generator)
        assert samples.shape == (2, 3, 1, 28, 28)
        line = again.interpolate(images[0, 0], images[0, 1], again.write(images[0]), steps=4)
        assert line.shape == (4, 1, 28, 28)
        weights = again.log_importance_weights(images, num_samples=3, generator=generator)
        assert weights.isfinite().all()


class TestBayesian(MemorySuite):
    config = ModelConfig(**CODER, **NETS, key_size=7)
    order_matters = False


class TestWithoutBottomUp(MemorySuite):
    config = ModelConfig(**CODER, **NETS, key_size=7, bottom_up=False)
    order_matters = False


class TestDynamic(MemorySuite):
    config = DYNAMIC_SIZES
    order_matters = False  # of the memory, given weights; the machine finds them in order


class TestDNC(MemorySuite):
    config = DNC_SIZES
    order_matters = True

    def some_state(self, memory):
        """A state whose rows are used to different degrees.

        In an empty memory all rows are alike, and rounding decides which of them is written next.
        """
        state = memory.initial_state(torch.Size([B]))
        usage = torch.linspace(0.1, 0.9, K)[torch.randperm(K)].expand(B, K)
        return state._replace(memory=torch.randn(B, K, C), usage=usage)


class TestLRUA(MemorySuite):
    config = LRUA_SIZES
    order_matters = True


CONTROLLED: dict[str, Callable[[], ControlledMemory]] = {
    "dnc": partial(DNC, DNC_SIZES),
    "lrua": partial(LRUA, LRUA_SIZES),
}


def long_dnc() -> tuple[DNC, DNCState]:
    """A DNC with strong, random opinions after more items than it has rows."""
    torch.manual_seed(0)
    memory = DNC(DNC_SIZES)
    for parameter in memory.controller.parameters():
        torch.nn.init.normal_(parameter, std=1.0)
    address, codes = torch.randn(B, 3 * K, Y), torch.randn(B, 3 * K, C)
    return memory, memory.write(memory.initial_state(torch.Size([B])), address, codes)


def test_dnc_invariants():
    memory, state = long_dnc()
    diagonal = state.links.diagonal(dim1=-2, dim2=-1)
    assert diagonal.abs().max() == 0
    assert state.links.min() >= -1e-6
    assert state.links.sum(-1).max() <= 1 + 1e-5
    assert state.links.sum(-2).max() <= 1 + 1e-5
    assert state.precedence.sum(-1).max() <= 1 + 1e-5
    for weights in (state.write_weights, state.read_weights, state.usage):
        assert weights.min() >= 0
    assert state.usage.max() <= 1 + 1e-5
    assert state.write_weights.sum(-1).max() <= 1 + 1e-5
    assert state.read_weights.sum(-1).max() <= 1 + 1e-5
    assert memory.read(state, torch.randn(B, 9, Y)).weights.sum(-1).max() <= 1 + 1e-5


def test_dnc_allocation():
    """The freest row takes most, rows in use nothing, and never more than everything."""
    usage = torch.tensor([[1.0, 0.2, 0.9, 0.2], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    share = dnc.allocation(usage)
    torch.testing.assert_close(share[0], torch.tensor([0.0, 0.8, 0.004, 0.16]), atol=1e-4, rtol=0)
    assert share[1].abs().max() < 1e-5
    torch.testing.assert_close(share[2], torch.tensor([1.0, 0, 0, 0]), atol=1e-4, rtol=0)
    assert dnc.allocation(torch.rand(100, 12)).sum(-1).max() <= 1 + 1e-5


def test_dnc_allocation_without_sorting_equals_the_sorted_one():
    """In value and gradient, with ties, empty and full rows."""
    usage = torch.rand(40, 64, dtype=torch.float64)
    usage[:5], usage[5:10, :30] = 0, 1
    usage[10:20] = (4 * usage[10:20]).round() / 4
    usage.requires_grad_()
    floored = 1e-6 + (1 - 1e-6) * usage
    order = floored.argsort(dim=-1, stable=True)
    freest_first = floored.gather(-1, order)
    left = torch.cat([torch.ones(40, 1), freest_first.cumprod(-1)[:, :-1]], dim=-1)
    expected = torch.zeros_like(usage).scatter(-1, order, (1 - freest_first) * left)
    weights = torch.randn_like(expected)
    share = dnc.allocation(usage)
    torch.testing.assert_close(share, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad((found * weights).sum(), usage) for found in (share, expected))
    )


def test_dnc_links_follow_the_order_of_writing():
    rows = torch.eye(4)
    links, precedence = torch.zeros(4, 4), torch.zeros(4)
    for row in (2, 0, 3):
        links = dnc.updated_links(links, precedence, rows[row])
        precedence = rows[row]
    expected = torch.zeros(4, 4)
    expected[0, 2] = expected[3, 0] = 1
    assert torch.equal(links, expected)


def test_dnc_one_step_by_hand():
    """The equations of Graves et al., entry by entry, for one head of each kind."""
    torch.manual_seed(3)
    memory, state = long_dnc()
    word = torch.randn(B, 1, sum(memory.sizes))
    write, read = memory.commands(word)
    after = dnc.step(state, write, read)
    for b in range(B):
        M, u, p, L, w_w, w_r = (part[b] for part in state)
        key, strength, erase, vector, free, allocate, gate = (part[b, 0] for part in write)
        psi = 1 - free * w_r
        u = (u + w_w - u * w_w) * psi
        cosine = torch.nn.functional.cosine_similarity(M, key[None], dim=-1)
        c = torch.softmax(strength * cosine, 0)
        a = torch.zeros(K)
        left = torch.tensor(1.0)
        for k in u.argsort():
            a[k] = (1 - u[k]) * left
            left = left * u[k]
        w = gate * (allocate * a + (1 - allocate) * c)
        M = M * (1 - torch.outer(w, erase)) + torch.outer(w, vector)
        link = torch.zeros(K, K)
        for i in range(K):
            for j in range(K):
                if i != j:
                    link[i, j] = (1 - w[i] - w[j]) * L[i, j] + w[i] * p[j]
        key, strength, modes = (part[b, 0] for part in read)
        cosine = torch.nn.functional.cosine_similarity(M, key[None], dim=-1)
        c = torch.softmax(strength * cosine, 0)
        w_r = modes[0] * (link.T @ w_r) + modes[1] * c + modes[2] * (link @ w_r)
        for mine, theirs in (
            (after.memory[b], M),
            (after.usage[b], u),
            (after.links[b], link),
            (after.precedence[b], (1 - w.sum()) * p + w),
            (after.write_weights[b], w),
            (after.read_weights[b], w_r),
        ):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)


def test_dnc_commands_are_the_parts_of_a_word():
    memory = DNC(DNC_SIZES)
    word = torch.randn(2, 1, sum(memory.sizes))
    write, read = memory.commands(word)
    key, erase, vector = (
        word[..., :C],
        word[..., C + 1 : 2 * C + 1],
        word[..., 2 * C + 1 : 3 * C + 1],
    )
    torch.testing.assert_close(write.key, key)
    torch.testing.assert_close(write.erase, erase.sigmoid())
    torch.testing.assert_close(write.vector, vector)
    assert write.strength.min() >= 1
    assert read.strength.min() >= 1
    torch.testing.assert_close(read.modes, word[..., -3:].softmax(-1))


def test_dnc_reads_on_in_time():
    """Where the next row was written, and where the one before, from where was read last."""
    memory = DNC(DNC_SIZES)
    empty = memory.initial_state(torch.Size([1]))
    links = torch.zeros(1, K, K)
    links[0, 5, 3] = links[0, 3, 8] = 1.0  # 8, then 3, then 5
    last = torch.zeros(1, K)
    last[0, 3] = 1.0
    state = empty._replace(links=links, read_weights=last)
    word = torch.zeros(1, 1, sum(memory.sizes))
    for mode, row in ((0, 8), (2, 5)):
        word[..., -3:] = -100.0
        word[..., mode - 3] = 100.0
        assert memory.read_weights(state, word)[0, 0].argmax() == row
        assert memory.read_weights(state, word)[0, 0, row] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kind", ["dnc", "lrua"])
def test_what_is_read_comes_from_the_memory_alone(kind):
    """Appendix D: the controller, an MLP of 200 units, may not hand anything past the memory."""
    torch.manual_seed(0)
    memory = CONTROLLED[kind]()
    torch.nn.init.normal_(memory.read_out.weight)
    assert memory.controller[0].weight.shape == (200, Y + C)
    address, codes = torch.randn(B, T, Y), torch.randn(B, T, C)
    state = memory.write(memory.initial_state(torch.Size([B])), address, codes)
    read = memory.read(state, torch.randn(B, 9, Y))
    torch.testing.assert_close(read.mean, memory.read_out(read.weights @ state.memory))
    nothing = memory.read(memory.initial_state(torch.Size([B])), torch.randn(B, 9, Y)).mean
    torch.testing.assert_close(nothing, memory.read_out.bias.expand_as(nothing))


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # the compiler looks at it
@pytest.mark.parametrize("kind", ["dnc", "lrua"])
def test_compiled_steps_are_for_training_alone(kind, monkeypatch):
    """And the same: traced by the compiler here, without the code it would make of it."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    torch.manual_seed(0)
    memory = CONTROLLED[kind]()
    address, codes = torch.randn(B, T, Y), torch.randn(B, T, C)
    plain = memory.write(memory.initial_state(torch.Size([B])), address, codes)
    memory.prepare_to_compile()
    compiled, calls = memory.compiled_step, []
    assert compiled is not None
    monkeypatch.setattr(memory, "compiled_step", lambda *args: calls.append(1) or compiled(*args))
    for training, times in ((True, T), (False, T)):
        memory.train(training)
        again = memory.write(memory.initial_state(torch.Size([B])), address, codes)
        assert_alike(again, plain)
        assert len(calls) == times


def test_content_finds_a_row_by_direction():
    memory = torch.eye(4)[None] * torch.tensor([1.0, 5.0, 0.1, 0.0])[:, None]
    keys = 3 * torch.eye(4)[None, :3]
    weights = content.similarity(memory, keys, torch.full((1, 3, 1), 50.0))
    torch.testing.assert_close(weights[0], torch.eye(4)[:3], atol=1e-2, rtol=0)


def test_lrua_writes_to_the_least_used_row():
    memory = LRUA(LRUA_SIZES)
    state = memory.initial_state(torch.Size([1]))
    keys = 3 * torch.randn(1, K, C, generator=torch.Generator().manual_seed(0))
    for key in keys.split(1, dim=1):
        state = lrua.step(state, key, torch.full((1, 1, 1), 100.0), torch.tensor(0.0))
    torch.testing.assert_close(state.memory, keys)  # one row each, none twice


def test_lrua_one_step_by_hand():
    """The equations of Santoro et al. for one head: w_w, the row that is cleared, w_r, w_u."""
    torch.manual_seed(0)
    state = lrua.LRUAState(torch.randn(1, K, C), torch.rand(1, K), torch.rand(1, K).softmax(-1))
    key, strength, gate = torch.randn(1, 1, C), torch.tensor([[[7.0]]]), torch.tensor(0.3)
    after = lrua.step(state, key, strength, gate)
    M, w_u, w_r = (part[0] for part in state)
    least = int(w_u.argmin())
    w_w = 0.3 * w_r
    w_w[least] += 0.7
    M = M.clone()
    M[least] = 0
    M = M + torch.outer(w_w, key[0, 0])
    w_r = torch.softmax(7.0 * torch.nn.functional.cosine_similarity(M, key[0], dim=-1), 0)
    torch.testing.assert_close(after.memory[0], M)
    torch.testing.assert_close(after.read_weights[0], w_r, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(after.usage[0], lrua.DECAY * w_u + w_r + w_w, rtol=1e-4, atol=1e-5)


def test_least_squares_finds_the_weights_of_least_energy():
    """Against the dense solution, and against every direction around it."""
    from kanerva import energy, infer_weights

    torch.manual_seed(0)
    state = MemoryState(torch.randn(K, C, dtype=torch.float64), torch.eye(K, dtype=torch.float64))
    codes = torch.randn(2, T, C, dtype=torch.float64)
    weights = infer_weights(state, codes, noise_var=0.3)
    system = state.mean @ state.mean.mT + 0.3 * torch.eye(K, dtype=torch.float64)
    dense = (torch.linalg.inv(system) @ state.mean @ codes.mT).mT
    torch.testing.assert_close(weights, dense)
    least = energy(state, weights, codes, noise_var=0.3)
    error = codes - weights @ state.mean
    by_hand = error.square().sum(-1) / 0.6 + weights.square().sum(-1) / 2
    torch.testing.assert_close(least, by_hand)
    for _ in range(20):
        aside = weights + 0.1 * torch.randn_like(weights)
        assert (energy(state, aside, codes, noise_var=0.3) > least).all()


def test_least_squares_gradients():
    from kanerva import infer_weights

    torch.manual_seed(0)
    codes = torch.randn(T, 3, dtype=torch.float64, requires_grad=True)
    mean = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)

    def function(mean, codes):
        state = MemoryState(mean, torch.eye(4, dtype=torch.float64))
        return infer_weights(state, codes, noise_var=0.5)

    assert torch.autograd.gradcheck(function, (mean, codes))


def test_energy_does_not_rise():
    """Over retrieval from damaged cues."""
    torch.manual_seed(0)
    machine = DynamicKanervaMachine(DYNAMIC_SIZES).eval()
    data = load_dataset("glyphs", "fit", show_progress=False)
    sampler = EpisodeSampler(data, num_items=T)
    images = sampler.sample(4, generator=torch.Generator().manual_seed(0))
    initialise_model(machine, images)
    memory = machine.write(images)
    cues = (images + 0.3 * torch.rand_like(images)).clamp(0, 1)
    found = machine.retrieve(cues, memory, num_readings=12)
    assert found.images.shape == images.shape
    assert found.energies.shape == (12, 4, T)
    assert (found.energies.diff(dim=0) <= 1e-3).all()
    assert (found.energies[0] - found.energies[-1]).max() > 1e-2  # it does move


def test_a_dynamic_machine_writes_where_it_looks():
    """The second item's weights are least squares against the memory that holds the first."""
    from kanerva import condition, infer_weights

    torch.manual_seed(0)
    machine = DynamicKanervaMachine(DYNAMIC_SIZES).eval()
    embeddings = torch.randn(2, 2 * C)
    nothing = {"address_noise": torch.zeros(2, K), "code_noise": torch.zeros(2, C)}
    with torch.no_grad():
        state = machine.access.write(embeddings, embeddings, machine.prior_memory(), **nothing)
        by_hand = machine.prior_memory()
        for code in embeddings[:, None, :C]:
            by_hand = condition(by_hand, infer_weights(by_hand, code), code)
    torch.testing.assert_close(state.mean, by_hand.mean)
    torch.testing.assert_close(state.cov, by_hand.cov)


def test_a_dynamic_machine_reads_where_all_is_written():
    """q(w|x, M) of the reader sees the whole memory, and draws its own sample."""
    from kanerva import infer_weights

    torch.manual_seed(0)
    machine = DynamicKanervaMachine(DYNAMIC_SIZES).eval()
    assert isinstance(machine.addressing, LeastSquaresAddressing)
    log_var = machine.addressing.log_var
    embeddings = torch.randn(B, T, 2 * C)
    both = torch.stack([embeddings, embeddings])
    noise = machine.draw_noise(
        torch.zeros(B, T, 1, 28, 28), generator=torch.Generator().manual_seed(0)
    )
    assert noise.address is not None
    with torch.no_grad():
        prior = machine.prior_memory()
        first = machine.access.write_then_address(embeddings, both, prior, noise)
        state, posterior, address = first
        least = infer_weights(state, embeddings[..., :C])
        torch.testing.assert_close(posterior.mean, least)
        assert (posterior.mean - infer_weights(prior, embeddings[..., :C])).abs().max() > 0.1
        torch.testing.assert_close(
            address, least + (log_var / 2).exp() * noise.address[1], rtol=1e-4, atol=1e-4
        )
        for part, written, read in ((0, False, False), (1, True, False)):
            other = noise.address.clone()
            other[part] += 1
            again_state, _, again_address = machine.access.write_then_address(
                embeddings, both, prior, noise._replace(address=other)
            )
            assert torch.equal(again_state.mean, state.mean) is written
            assert torch.equal(again_address, address) is read


@pytest.mark.parametrize("kind", ["dnc", "lrua"])
def test_a_memory_that_cannot_use_the_variance_of_codes_refuses_it(kind):
    memory = CONTROLLED[kind]()
    address, codes = torch.randn(B, T, Y), torch.randn(B, T, C)
    with pytest.raises(KanervaError, match="code_var"):
        memory.write(memory.initial_state(torch.Size([B])), address, codes, code_var=codes.exp())


def test_abstract_parts_cannot_be_made():
    for abstract in (Memory, Addressing, Model):
        with pytest.raises(TypeError, match="abstract"):
            abstract()  # pyright: ignore
