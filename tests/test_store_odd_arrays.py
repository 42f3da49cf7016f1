"""Arrays of every kind in a store: taken as the numbers they are, or refused in one line."""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.store import MemoryStore, plan_vectors
from kanerva.store.arrays import unit_length
from store_cases import SIZE, small_plan, state_of, vectors

ROWS = vectors(6).double().numpy()
TENSOR = torch.from_numpy(ROWS)


class Own(np.ndarray):
    """An array class of a user."""


def masked(mask: bool | np.ndarray) -> np.ma.MaskedArray:
    return np.ma.array(ROWS, mask=mask)


def mapped() -> np.memmap:
    file = Path(tempfile.mkdtemp()) / "rows"
    array = np.memmap(file, mode="w+", shape=ROWS.shape, dtype=np.float64)
    array[:] = ROWS
    return array


def matrix() -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(ROWS)


SAME: dict[str, Callable[[], object]] = {
    "every second column": lambda: np.repeat(ROWS, 2, 1)[:, ::2],
    "backwards": lambda: ROWS[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran order": lambda: np.asfortranarray(ROWS),
    "the other byte order": lambda: ROWS.astype(">f8"),
    "long double": lambda: ROWS.astype(np.longdouble),
    "masked, but nothing is": lambda: masked(False),
    "mapped": mapped,
    "a matrix": matrix,
    "a class of a user": lambda: ROWS.view(Own),
    "a record array": lambda: ROWS.view(np.recarray),
    "read only": lambda: np.frombuffer(ROWS.tobytes()).reshape(ROWS.shape),
    "a transposed tensor": lambda: TENSOR.T.contiguous().T,
    "with a gradient": lambda: TENSOR.clone().requires_grad_(),
    "with a negative bit": lambda: (TENSOR * -1j).conj().imag,
    "a list of arrays": lambda: [ROWS[:4], ROWS[4:]],
}
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "objects": (lambda: ROWS.astype(object), "dtype object. Convert it"),
    "words": (lambda: ROWS.astype(str), "dtype <U32"),
    "complex": (lambda: ROWS + 1j, r"complex128. Convert it: \w+.real"),
    "structured": (lambda: np.zeros(3, [("a", "f4"), ("b", "f4")]), r"\['a'\]"),
    "dates": (lambda: np.zeros((6, SIZE), "M8[s]"), "datetime64"),
    "one number": (lambda: np.array(3.0), "single number|shape"),
    "one number, a tensor": (lambda: torch.tensor(3.0), "single number|shape"),
    "no dimension of items": (lambda: ROWS[0], "shape"),
    "masked": (lambda: masked(ROWS > 0), r"masked.*filled\(0.0\)"),
    "sparse": (lambda: TENSOR.to_sparse(), "to_dense"),
    "sparse rows": (lambda: TENSOR.to_sparse_csr(), "to_dense"),
    "meta": (lambda: TENSOR.to("meta"), "meta tensor"),
    "nested": (lambda: torch.nested.nested_tensor([TENSOR[:2], TENSOR[:1]]), "nested"),
    "complex tensor": (lambda: TENSOR + 0j, "real"),
    "too large": (lambda: ROWS * 1e300, "between"),
    "too large for float64": (lambda: ROWS.astype(np.longdouble) * np.longdouble("1e400"), "Inf"),
    "too small": (lambda: ROWS * 1e-300, "at least"),
    "subnormal": (lambda: ROWS * 5e-324, "at least|zeros"),
    "zeros": (lambda: np.zeros((6, SIZE)), "zeros only in row 0"),
    "a row of zeros": (lambda: np.concatenate([ROWS, 0 * ROWS[:1]]), "zeros only in row 6"),
}


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    made = kanerva.open(tmp_path / "memories")
    made.create("a", plan=small_plan(), ledger=True)
    made.write("a", vectors(4, seed=1))
    return made


@pytest.mark.parametrize("kind", SAME)
def test_the_same_numbers_in_another_form(store, kind):
    store.create("plain", plan=small_plan())
    store.create("odd", plan=small_plan())
    store.write("plain", ROWS)
    store.write("odd", SAME[kind]())
    assert state_of(store, "odd") == state_of(store, "plain")
    if kind != "a list of arrays":
        assert store.read("odd", SAME[kind]()).known.all()
        assert store.novelty("odd", SAME[kind]()).isfinite().all()
        store.forget("odd", items=SAME[kind]())
        assert store.info("odd").num_items == 0


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, np.bool_])
def test_numbers_of_other_precision(store, dtype):
    numbers = (10 * np.abs(ROWS)).astype(dtype)
    store.create("odd", plan=small_plan())
    store.create("plain", plan=small_plan())
    for name, form in (("odd", numbers), ("plain", numbers.astype(np.float64))):
        store.write(name, form)
    assert state_of(store, "odd") == state_of(store, "plain")


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:The PyTorch API of nested")
@pytest.mark.parametrize("kind", REFUSED)
def test_refused_in_one_line(store, kind):
    make, words = REFUSED[kind]
    before = state_of(store, "a")
    calls = [lambda: store.write("a", make()), lambda: store.novelty("a", make())]
    if kind not in ("too large", "too small", "subnormal", "zeros", "a row of zeros"):
        calls += [lambda: store.read("a", make()), lambda: store.attribute("a", make())]
    for call in calls:
        with pytest.raises(KanervaError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert state_of(store, "a") == before


@pytest.mark.parametrize("kind", [None, 3, "list", "tuple", b"x", object(), {"a": 1}, {1}])
def test_what_is_no_array(store, kind):
    given = {"list": ROWS.tolist(), "tuple": tuple(map(tuple, ROWS))}.get(str(kind), kind)
    for call in (store.write, store.read, store.novelty, store.attribute):
        with pytest.raises(KanervaError):
            call("a", given)


def test_cues_of_any_length_are_read(store):
    for scale in (1e300, 1e-300, 1e-30):
        assert store.read("a", scale * vectors(4, seed=1).double()).known.all(), scale
    assert not store.read("a", torch.zeros(2, SIZE)).known.any()
    assert (store.read("a", torch.zeros(2, SIZE)).confidence == 0).all()


def test_directions_of_very_long_and_very_short_vectors():
    for scale in (1.0, 1e300, 1e-300):
        np.testing.assert_allclose(unit_length(scale * ROWS), unit_length(ROWS), rtol=1e-12)
    assert not unit_length(np.zeros((1, 3))).any()


def test_keys_of_zeros_are_refused(tmp_path):
    store = kanerva.open(tmp_path)
    store.create("a", plan=plan_vectors(20, SIZE, value_size=2))
    with pytest.raises(KanervaError, match="zeros only in row 0"):
        store.write("a", np.zeros((3, SIZE)), values=np.ones((3, 2)))
    with pytest.raises(KanervaError, match="zeros only"):
        store.novelty("a", np.zeros((3, SIZE)))
    store.write("a", ROWS[:2], values=np.zeros((2, 2)))  # a value of zeros is a value
    assert store.read("a", ROWS[:2]).items.abs().max() == 0


def test_a_vector_as_large_as_planned(tmp_path):
    """Also at the end of a half-life, when codes are scaled most."""
    store = kanerva.open(tmp_path)
    for name, half_life in (("plain", None), ("fading", 10.0)):
        store.create(name, plan=plan_vectors(20, 4, largest=1.0), half_life=half_life)
        store.write(name, np.eye(4), time=9.99)
        assert store.info(name).num_items == 4
    store.create("keys", plan=plan_vectors(20, 4, value_size=1, largest=1e-3))
    store.write("keys", np.eye(4), values=np.full((4, 1), 1e-3))
    with pytest.raises(KanervaError, match=r"vectors: expected numbers between.*5 in row 2"):
        store.write("plain", np.diag([1.0, 1.0, 5.0, 1.0]))


def test_samples_that_say_nothing():
    for sample in (np.zeros((3, 4)), np.ones((3, 4)), np.full((3, 4), 1e308), np.eye(4) * 1e-320):
        with pytest.raises(KanervaError, match="sample"):
            plan_vectors(10, 4, sample=sample)


@pytest.mark.parametrize("kind", ["backwards", "the other byte order", "long double", "bool"])
def test_images_in_another_form(tmp_path, kind):
    images = (np.random.default_rng(0).random((2, 1, 28, 28)) > 0.8).astype(np.float32)
    odd = {
        "backwards": images[::-1].copy()[::-1],
        "the other byte order": images.astype(">f4"),
        "long double": images.astype(np.longdouble),
        "bool": images > 0,
    }[kind]
    store = kanerva.open(tmp_path)
    for name, form in (("plain", images), ("odd", odd)):
        store.create(name, model="omniglot")
        store.write(name, form)
    assert state_of(store, "odd") == state_of(store, "plain")
    with pytest.raises(KanervaError, match="to_dense"):
        store.write("odd", torch.from_numpy(images).to_sparse())
