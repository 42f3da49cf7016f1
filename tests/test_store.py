"""The store: write, read, forget, merge, fade, explain; each against a dense oracle."""

import math

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError, MemoryState, condition
from kanerva.data import render_glyphs
from kanerva.store import MemoryStore, plan_vectors
from kanerva.store.vectors import VectorCoder
from store_cases import SIZE, many_blocks, small_plan, state_of, vectors


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    return kanerva.open(tmp_path / "memories")


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return (render_glyphs(torch.arange(12), seed=0) > 20).float()


def written_oracle(plan, items) -> MemoryState:
    """`condition` on the weights and codes as they are written, in float64."""
    coder = VectorCoder(plan)
    encoded = coder.encode(items, None)
    rounded = plan.grid.rounded(encoded.weights, encoded.codes)
    W, Z = (
        torch.from_numpy(part) for part in (plan.grid.weights(rounded), plan.grid.codes(rounded))
    )
    return condition(coder.prior, W, Z, noise_var=plan.noise_var)


def test_a_memory_is_the_exact_posterior(store):
    store.create("a", plan=small_plan(), dtype=torch.float64)
    store.write("a", vectors(15))
    memory, expected = store.memory("a"), written_oracle(small_plan(), vectors(15))
    torch.testing.assert_close(memory.mean, expected.mean, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(memory.cov, expected.cov, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ledger", [False, True])
def test_forgetting_leaves_what_was_never_written(store, ledger):
    items = vectors(30)
    store.create("a", plan=small_plan(), ledger=ledger, dtype=torch.float64)
    ids = store.write("a", items).ids
    if ledger:
        receipt = store.forget("a", ids[:10], verify=True)
        assert receipt.ids == tuple(ids[:10])
        assert receipt.distance == 0
    else:
        receipt = store.forget("a", items=items[:10])
    store.create("never", plan=small_plan(), dtype=torch.float64)
    for item in items[10:].flip(0):
        store.write("never", item[None])
    assert receipt.after == state_of(store, "a") == state_of(store, "never")
    assert receipt.before != receipt.after
    assert torch.equal(store.memory("a").mean, store.memory("never").mean)
    expected = written_oracle(small_plan(), items[10:])
    assert (store.memory("a").mean - expected.mean).norm() <= 1e-9 * expected.mean.norm()


def test_forgetting_everything_gives_the_empty_memory(store):
    store.create("a", plan=many_blocks(), ledger=True)
    empty = state_of(store, "a")
    ids = store.write("a", vectors(50)).ids
    assert store.forget("a", ids).after == empty
    assert store.info("a").num_items == 0


@pytest.mark.parametrize("ledger", [False, True])
def test_many_writes_and_deletions_in_random_order(store, ledger):
    """The scaled version of the acceptance measurement with 500,000 of them."""
    random = np.random.default_rng(0)
    plan = many_blocks()
    pool = vectors(900).numpy()
    store.create("a", plan=plan, ledger=ledger)
    ids: dict[int, str] = {}
    for _ in range(40):
        new = random.choice([one for one in range(900) if one not in ids], 60, replace=False)
        written = store.write("a", pool[new])
        ids |= dict(zip(new.tolist(), written.ids or [""] * 60, strict=True))
        old = random.choice(list(ids), min(len(ids), 58), replace=False).tolist()
        if ledger:
            store.forget("a", [ids[one] for one in old], purge=False)
        else:
            store.forget("a", items=pool[old], purge=False)
        for one in old:
            del ids[one]
    store.purge("a")
    store.create("b", plan=plan, ledger=ledger)
    store.write("b", pool[list(ids)])
    assert state_of(store, "a") == state_of(store, "b")
    sizes = []
    for name in "ab":
        store.purge(name)
        sizes.append(store.info(name).num_bytes)
    assert abs(sizes[0] - sizes[1]) < 250_000  # receipts, and rows that are not summed up yet


@pytest.mark.parametrize("ledger", [False, True])
def test_merging_equals_one_pass(store, ledger, tmp_path):
    items = vectors(200)
    for number, part in enumerate(items.chunk(4)):
        store.create(f"part{number}", plan=many_blocks(), ledger=ledger)
        store.write(f"part{number}", part)
    store.create("once", plan=many_blocks(), ledger=ledger)
    store.write("once", items)
    store.create("all", plan=many_blocks(), ledger=ledger)
    state = store.merge("all", [f"part{number}" for number in range(4)])
    assert state == state_of(store, "once") == state_of(store, "all")
    assert store.info("all", verify=True).num_items == 200
    if ledger:
        (chosen,) = store.attribute("all", items[:1])
        assert store.forget("all", chosen.ids[:1], verify=True).distance == 0
    store.export("once", tmp_path / "once.safetensors")
    other = kanerva.open(tmp_path / "other")
    other.create("all", plan=many_blocks())
    assert other.merge("all", [tmp_path / "once.safetensors"]) == state


def test_it_is_there_after_closing(store):
    store.create("a", plan=small_plan(), ledger=True)
    store.write("a", vectors(10), labels=[f"item {number}" for number in range(10)])
    state = state_of(store, "a")
    store.close()
    again = kanerva.open(store.path)
    assert again.names() == ["a"]
    assert state_of(again, "a") == state
    assert again.read("a", vectors(10)).known.all()


def test_keys_bring_values(store):
    plan = small_plan(value_size=3, num_items=30, largest=500.0)
    values = 50 * torch.randn(30, 3, generator=torch.Generator().manual_seed(1))
    store.create("a", plan=plan, ledger=True)
    ids = store.write("a", vectors(30), values=values).ids
    reading = store.read("a", vectors(30) + 0.02 * vectors(30, seed=5))
    assert reading.known.all()
    assert (reading.items - values).norm() < 0.4 * values.norm()
    assert store.read("a", vectors(30, seed=9)).known.sum() <= 2  # 24 numbers are few
    store.forget("a", ids[:1])
    assert store.novelty("a", vectors(30)[:1]) > store.novelty("a", vectors(30)[1:2])


def test_arrays_files_and_iterators_are_the_same(store, tmp_path):
    items = vectors(9000).numpy()
    np.save(tmp_path / "items.npy", items)
    sources = (
        items,
        torch.from_numpy(items),
        str(tmp_path / "items.npy"),
        iter([items[:10], items[10:]]),
    )
    states = set()
    for number, source in enumerate(sources):
        store.create(f"m{number}", plan=many_blocks())
        assert store.write(f"m{number}", source).num_written == 9000
        states.add(state_of(store, f"m{number}"))
    assert len(states) == 1


# -- images ----------------------------------------------------------------------------------------


def test_images_with_a_shipped_model(store, images):
    km = kanerva.load("omniglot")
    store.create("glyphs", model="omniglot", ledger=True)
    written = store.write("glyphs", images[:8], labels=list("abcdefgh"))
    expected = km.write(images[:8])
    torch.testing.assert_close(store.memory("glyphs").mean, expected.mean, rtol=1e-3, atol=1e-3)
    reading = store.read("glyphs", images[:3], num_readings=2)
    result = km.read(images[:3], expected, num_readings=2)
    torch.testing.assert_close(reading.items, result.images, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(reading.confidence, result.confidence, rtol=1e-2, atol=1e-2)
    store.forget("glyphs", written.ids[4:])
    store.create("never", model=km)
    store.write("never", images[:4])
    assert state_of(store, "glyphs") == state_of(store, "never")


def test_evidence_of_images(images):
    km = kanerva.load("omniglot")
    both = km.evidence(images[:8])
    memory = (both - km.evidence(images[4:8])).posterior(km.prior_memory())
    torch.testing.assert_close(memory.mean, km.write(images[:4]).mean, rtol=1e-3, atol=1e-3)


def test_another_model_is_refused(store, images):
    store.create("glyphs", model="omniglot")
    torch.manual_seed(0)
    stranger = kanerva.KanervaMachine(kanerva.load("omniglot").config)
    other = kanerva.open(store.path, model=stranger)
    with pytest.raises(KanervaError, match="fingerprint"):
        other.write("glyphs", images)
    other.create("mine", model=stranger)
    with pytest.raises(KanervaError, match="given as an object"):
        kanerva.open(store.path).write("mine", images)


# -- attribution, novelty, fading ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vectors", "images", "fading"])
def test_contributions_add_up_to_the_reading(store, images, kind):
    items = images if kind == "images" else vectors(30)
    store.create(
        "a",
        model="omniglot" if kind == "images" else None,
        plan=None if kind == "images" else small_plan(),
        half_life=100.0 if kind == "fading" else None,
        ledger=True,
        dtype=torch.float64,
    )
    for number, part in enumerate(items.split(5)):
        store.write("a", part, time=70.0 * number)
    for found in store.attribute("a", items[:3], now=500.0):
        total = found.contributions.sum(0) + found.prior
        assert (total - found.reading).norm() <= 1e-9 * found.reading.norm()
        assert len(found.ids) == len(items)
        assert (found.contributions.norm(dim=1).diff() <= 1e-9).all()
    if kind != "images":
        reading = store.read("a", items[:1], now=500.0)
        found = store.attribute("a", items[:1], now=500.0)[0]
        torch.testing.assert_close(reading.codes[0], found.reading, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value_size", [0, 3])
def test_contributions_add_up_with_a_centre(store, value_size):
    """They add up to what `read` returns; the centre is in the part of the prior."""
    items = vectors(30).double() + 5
    values = vectors(30, size=3, seed=1).double() if value_size else None
    plan = small_plan(sample=items, value_size=value_size)
    store.create("a", plan=plan, ledger=True, dtype=torch.float64)
    store.write("a", items[:20], values=None if values is None else values[:20])
    reading = store.read("a", items[:3])
    for found, item in zip(store.attribute("a", items[:3]), reading.items, strict=True):
        total = found.contributions.sum(0) + found.prior
        torch.testing.assert_close(total, found.reading, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(total[-len(item) :], item, rtol=1e-9, atol=1e-9)
        expected = torch.zeros(SIZE + 3) if value_size else torch.tensor(plan.centre)
        torch.testing.assert_close(found.prior, expected.double(), rtol=1e-9, atol=1e-9)


def test_the_strongest_contribution_is_the_item_itself(store):
    store.create("a", plan=small_plan(), ledger=True)
    ids = store.write("a", vectors(10)).ids
    for own, found in zip(ids, store.attribute("a", vectors(10)), strict=True):
        assert found.ids[0] == own


def test_novelty_is_the_information_gain(store):
    """Against ln det(I + W U W' / s2) C / 2 of the dense matrices."""
    plan = small_plan()
    store.create("a", plan=plan)
    store.write("a", vectors(10))
    new = torch.cat([vectors(4, seed=3), vectors(10)[:2]])
    gains = store.novelty("a", new)
    W = torch.from_numpy(VectorCoder(plan).features.weights(new.double().numpy()))
    U = written_oracle(plan, vectors(10)).cov
    dense = torch.logdet(torch.eye(6, dtype=W.dtype) + W @ U @ W.T / plan.noise_var)
    assert gains.sum().item() == pytest.approx(SIZE / 2 * dense.item(), rel=1e-5)
    assert gains[:4].min() > 3 * gains[4:].max()


def test_duplicates_are_left_out(store):
    store.create("a", plan=small_plan())
    base = vectors(6)
    items = torch.cat([base[:5], base[:5], base])
    limit = SIZE / 2 * math.log(2)  # what was written before has no larger gain
    written = store.write("a", items, skip_below=limit)
    assert written.num_written == 6
    assert written.skipped == [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]


@pytest.mark.parametrize("ledger", [False, True])
def test_fading(store, ledger):
    """Evidence counts 2^(-age / half-life), against weighted statistics."""
    plan, items = small_plan(), vectors(12)
    store.create("a", plan=plan, half_life=10.0, ledger=ledger, dtype=torch.float64)
    times = [3.0, 25.0, 41.5]
    ids = []
    for when, part in zip(times, items.split(4), strict=True):
        ids += store.write("a", part, time=when).ids
    coder = VectorCoder(plan)

    def oracle(chosen: list[int], now: float) -> torch.Tensor:
        encoded = coder.encode(items, None)
        shares = np.array([2 ** ((times[t // 4] - now) / 10) for t in chosen]) ** 0.5
        W, Z = (torch.from_numpy(shares[:, None] * part[chosen]) for part in encoded[1:])
        return condition(coder.prior, W, Z, noise_var=plan.noise_var).mean

    for now in (41.5, 60.0):
        mean = store.memory("a", now=now).mean
        torch.testing.assert_close(mean, oracle(list(range(12)), now), rtol=1e-3, atol=1e-5)
    if ledger:
        store.forget("a", ids[4:8])
    else:
        with pytest.raises(KanervaError, match="time: expected the time"):
            store.forget("a", items=items[4:8])
        store.forget("a", items=items[4:8], time=25.0)
    kept = [*range(4), *range(8, 12)]
    torch.testing.assert_close(
        store.memory("a", now=60.0).mean, oracle(kept, 60.0), rtol=1e-3, atol=1e-5
    )
    store.create("b", plan=plan, half_life=10.0)
    for when, part in ((times[2], items[8:]), (times[0], items[:4])):
        store.write("b", part, time=when)
    assert state_of(store, "a") == state_of(store, "b")


def test_what_has_faded_away_is_dropped_without_a_ledger(store):
    store.create("a", plan=small_plan(), half_life=1.0)
    for number in range(100):
        store.write("a", vectors(20, seed=number).repeat(5, 1), time=float(number))
    assert store.info("a").num_items <= 62 * 100
    assert math.isfinite(store.memory("a", now=100.0).mean.sum().item())


# -- not in memory ---------------------------------------------------------------------------------


def test_strangers_are_not_in_memory(store):
    from store_cases import area_under_curve

    plan = plan_vectors(800, 96, rows_per_item=0.5)
    store.create("a", plan=plan)
    store.write("a", vectors(400, size=96))
    cues = vectors(400, size=96) + 0.1 * vectors(400, size=96, seed=1)
    known = store.read("a", cues).confidence.numpy()
    unknown = store.read("a", vectors(400, size=96, seed=2)).confidence.numpy()
    assert area_under_curve(known, unknown) > 0.99
    assert (known > 0.5).mean() > 0.95
    assert (unknown > 0.5).mean() < 0.05


def test_the_threshold_decides(store):
    store.create("a", plan=small_plan())
    store.write("a", vectors(10))
    assert not store.read("a", vectors(3, seed=4)).known.any()
    assert store.read("a", vectors(3, seed=4), threshold=0.0).known.all()


def test_an_empty_memory_knows_nothing(store):
    store.create("a", plan=many_blocks())
    assert not store.read("a", vectors(5)).known.any()
