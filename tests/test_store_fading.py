"""A memory that fades: what it still knows, and that it never knows strangers."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.store import MemoryStore, plan_vectors
from store_cases import vectors

SIZE, COUNT, HALF_LIFE = 64, 400, 10.0
AGES = (0, 1, 3, 5, 8, 10, 20, 40, 60, 61, 100, 500, 1000, 2000, 1e5)
"""In half-lives."""


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> MemoryStore:
    """Memories that were written at time 0: of vectors, and of keys with values."""
    made = kanerva.open(tmp_path_factory.mktemp("fading"))
    x = vectors(COUNT, size=SIZE)
    for name, value_size in (("vectors", 0), ("keys", 2)):
        plan = plan_vectors(COUNT, SIZE, value_size=value_size, error=0.4)
        made.create(name, plan=plan, half_life=HALF_LIFE, ledger=True)
        values = torch.ones(COUNT, value_size) if value_size else None
        made.write(name, x, values=values, time=0.0)
    return made


@pytest.mark.parametrize("name", ["vectors", "keys"])
def test_strangers_stay_strangers(store, name):
    """The older the memory, the fewer strangers it takes for its own, and the less it knows."""
    strangers = vectors(300, size=SIZE, seed=9)
    fresh = store.read(name, strangers, now=0.0).known.double().mean()
    confidences = []
    for age in AGES:
        reading = store.read(name, strangers, now=HALF_LIFE * age)
        assert reading.confidence.isfinite().all()
        assert reading.known.double().mean() <= fresh + 0.01, age
        own = store.read(name, vectors(COUNT, size=SIZE)[:100], now=HALF_LIFE * age)
        assert own.items.isfinite().all()
        confidences.append(own.confidence.mean().item())
    assert all(later <= before + 1e-6 for before, later in pairwise(confidences))
    assert confidences[:4] == pytest.approx([1, 1, 1, 1], abs=0.01)
    assert confidences[-1] == 0


def test_what_is_new_is_known_next_to_what_is_old(tmp_path):
    """Many faded items do not make the memory unsure of new ones."""
    with kanerva.open(tmp_path) as store:
        store.create("a", plan=plan_vectors(COUNT, SIZE, error=0.4), half_life=HALF_LIFE)
        old, new = vectors(300, size=SIZE), vectors(50, size=SIZE, seed=1)
        store.write("a", old, time=0.0)
        store.write("a", new, time=HALF_LIFE * 30)
        now = HALF_LIFE * 30
        assert store.read("a", new, now=now).known.all()
        assert store.read("a", old, now=now).known.double().mean() < 0.1
        assert store.read("a", vectors(300, size=SIZE, seed=2), now=now).known.sum() < 15


def test_everything_faded_is_an_empty_memory(store):
    (found,) = store.attribute("vectors", vectors(1, size=SIZE), now=HALF_LIFE * 5000)
    assert found.contributions.abs().max() == 0
    memory = store.memory("vectors", now=HALF_LIFE * 5000)
    torch.testing.assert_close(memory.cov, torch.eye(memory.num_rows))


def test_items_of_the_future_count_as_new(tmp_path):
    """Clocks differ between machines; a very wrong one is no reason for an overflow."""
    with kanerva.open(tmp_path) as store:
        store.create("a", plan=plan_vectors(20, SIZE), half_life=0.01, ledger=True)
        store.write("a", vectors(10, size=SIZE), time=1e9)
        reading = store.read("a", vectors(10, size=SIZE), now=0.0)
        assert reading.known.all()
        (found,) = store.attribute("a", vectors(1, size=SIZE), now=0.0)
        assert torch.allclose(found.contributions.sum(0) + found.prior, found.reading, atol=1e-9)


def test_images_fade_too(tmp_path):
    images = (torch.rand(5, 1, 28, 28, generator=torch.Generator().manual_seed(0)) > 0.8).float()
    with kanerva.open(tmp_path) as store:
        store.create("a", model="omniglot", half_life=HALF_LIFE)
        store.write("a", images, time=0.0)
        for age in (0, 5, 50, 500, 5000):
            reading = store.read("a", images, now=HALF_LIFE * age)
            assert reading.confidence.isfinite().all()
            assert reading.items.isfinite().all()
        assert not reading.known.any()  # an empty memory knows nothing
        assert (reading.confidence == 0).all()


def test_the_time_of_a_deletion(tmp_path):
    with kanerva.open(tmp_path) as store:
        store.create("fading", plan=plan_vectors(20, 8), half_life=HALF_LIFE)
        store.create("plain", plan=plan_vectors(20, 8))
        for name in ("fading", "plain"):
            store.write(name, np.eye(8), time=5.0)
        with pytest.raises(KanervaError, match="time: expected a finite number"):
            store.forget("fading", items=np.eye(8), time=float("nan"))
        with pytest.raises(KanervaError, match="time: expected a memory that fades"):
            store.forget("plain", items=np.eye(8), time=5.0)
        store.forget("fading", items=np.eye(8), time=5.0)
        assert store.info("fading").num_items == 0
