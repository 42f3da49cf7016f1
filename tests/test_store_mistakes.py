"""Bad input to a store: one clear error each, and the store is unchanged."""

import contextlib
import copy
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.data import render_glyphs
from kanerva.models.checkpoint import save_model
from kanerva.store import MemoryStore, plan_vectors
from store_cases import SIZE, many_blocks, small_plan, state_of, vectors


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    """A store with a memory "a" of ten vectors, with a ledger."""
    made = kanerva.open(tmp_path / "memories", timeout=0.1)
    made.create("a", plan=small_plan(), ledger=True)
    made.write("a", vectors(10), ids=[f"id{number}" for number in range(10)])
    return made


@contextlib.contextmanager
def refused(store: MemoryStore, *words: str) -> Iterator[None]:
    """An error that contains the words in one line, and memory "a" as it was before."""
    before, size = state_of(store, "a"), len(vectors(10))
    with pytest.raises(KanervaError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    again = kanerva.open(store.path)
    assert state_of(again, "a") == before
    assert again.info("a", verify=True).num_items == size
    assert state_of(store, "a") == before


def bad_row(value: float) -> torch.Tensor:
    rows = vectors(5)
    rows[3, 2] = value
    return rows


def test_wrong_items(store):
    with refused(store, "vectors", "NaN", "row 3"):
        store.write("a", bad_row(float("nan")))
    with refused(store, "vectors", "Inf"):
        store.write("a", bad_row(float("inf")).numpy())
    with refused(store, "vectors", "between", "1e+06 in row 3"):
        store.write("a", bad_row(1e6))
    with refused(store, "vectors", f"(T, {SIZE})", f"({5}, {SIZE + 1})"):
        store.write("a", torch.zeros(5, SIZE + 1))
    with refused(store, "vectors", "shape"):
        store.write("a", torch.zeros(SIZE))
    with refused(store, "items", "real numbers"):
        store.write("a", torch.zeros(2, SIZE, dtype=torch.complex64))
    with refused(store, "items", "tensor, an array"):
        store.write("a", 3)  # pyright: ignore
    with refused(store, "items", "str"):
        store.write("a", iter(["x"]))  # pyright: ignore
    with refused(store, "values", "by themselves"):
        store.write("a", vectors(2), values=vectors(2))
    with refused(store, "cues", "NaN"):
        store.read("a", bad_row(float("nan")))
    with refused(store, "cues", "shape"):
        store.read("a", torch.zeros(5, SIZE + 1))


def test_wrong_facts(store):
    with refused(store, "ids", "'id3'"):
        store.write("a", vectors(2, seed=5), ids=["new", "id3"])
    with refused(store, "ids", "'new'"):
        store.write("a", vectors(2, seed=5), ids=["new", "new"])
    with refused(store, "ids", "1 for 2"):
        store.write("a", vectors(2, seed=5), ids=["new"])
    with refused(store, "labels", "text"):
        store.write("a", vectors(1, seed=5), labels=[3])  # pyright: ignore
    with refused(store, "payloads"):
        store.write("a", vectors(1, seed=5), payloads=[3])  # pyright: ignore
    with refused(store, "time"):
        store.write("a", vectors(1), time=float("nan"))
    with refused(store, "skip_below"):
        store.write("a", vectors(1), skip_below=-1.0)


def test_wrong_deletions(store):
    with refused(store, "'nobody'", "never written"):
        store.forget("a", ["id1", "nobody"])
    with refused(store, "'id1' twice"):
        store.forget("a", ["id1", "id1"])
    with refused(store, "ids", "neither"):
        store.forget("a")
    with refused(store, "ids", "both"):
        store.forget("a", ["id1"], items=vectors(1))
    with refused(store, "items", "ledger"):
        store.forget("a", items=vectors(1))
    with refused(store, "time"):
        store.forget("a", ["id1"], time=3.0)
    with refused(store, "ids", "text"):
        store.forget("a", [7])  # pyright: ignore


def test_deleting_twice_says_when(store):
    store.forget("a", ["id7"])
    with pytest.raises(KanervaError, match=r"'id7', which was deleted on \d{4}-"):
        store.forget("a", ["id7"])
    assert store.info("a", verify=True).num_items == 9


def test_deleting_from_a_memory_without_ledger(store):
    store.create("b", plan=small_plan())
    store.write("b", vectors(10))
    before = state_of(store, "b")
    for wrong in ({"ids": ["x"]}, {"items": vectors(1, seed=8)}, {"items": vectors(12)}):
        with pytest.raises(KanervaError):
            store.forget("b", **wrong)
        assert state_of(store, "b") == before
    with pytest.raises(KanervaError, match="verify"):
        store.forget("b", items=vectors(1), verify=True)
    with pytest.raises(KanervaError, match="ledger"):
        store.attribute("b", vectors(1))
    with pytest.raises(KanervaError, match="labels: expected a memory with a ledger"):
        store.write("b", vectors(1), labels=["x"])


def test_wrong_merges(store, tmp_path):
    store.create("other", plan=small_plan(seed=1), ledger=True)
    with refused(store, "sources", "fingerprint"):
        store.merge("a", ["other"])
    with refused(store, "sources", "fingerprint", "'other'"):
        store.create_like("both", ["a", "other"])
    assert "both" not in store.names()
    with refused(store, "sources", "itself"):
        store.merge("a", ["a"])
    store.create("sums", plan=small_plan())
    with refused(store, "sources", "ledger"):
        store.merge("a", ["sums"])
    store.create("same", plan=small_plan(), ledger=True)
    store.write("same", vectors(3, seed=2), ids=["x", "id2", "y"])
    with refused(store, "ids", "'id2'"):
        store.merge("a", ["same"])
    with refused(store, "nothing", "name"):
        store.merge("a", ["nothing"])
    with refused(store, "file that can be read"):
        store.merge("a", [tmp_path / "nothing.safetensors"])


def test_wrong_names_and_options(store, tmp_path):
    for name in ("", "a/b", "../x", "x" * 200, 3, ".hidden"):
        with refused(store, "name"):
            store.create(name, plan=small_plan())  # pyright: ignore
    with refused(store, "'a'", "which is there"):
        store.create("a", plan=small_plan())
    with refused(store, "'missing'", "It has a."):
        store.write("missing", vectors(1))
    with refused(store, "model", "neither"):
        store.create("b")
    with refused(store, "model", "both"):
        store.create("b", plan=small_plan(), model="omniglot")
    with refused(store, "half_life"):
        store.create("b", plan=small_plan(), half_life=-1.0)
    with refused(store, "dtype"):
        store.create("b", plan=small_plan(), dtype=torch.float16)
    with refused(store, "plan"):
        store.create("b", plan="big")  # pyright: ignore
    with refused(store, ".safetensors"):
        store.export("a", tmp_path / "a.bin")
    with refused(store, "num_readings"):
        store.read("a", vectors(1), num_readings=2)
    with refused(store, "threshold"):
        store.read("a", vectors(1), threshold=2.0)
    (tmp_path / "file").write_text("x")
    with refused(store, "path", "a file"):
        kanerva.open(tmp_path / "file")
    with refused(store, "model", "3"):
        kanerva.open(tmp_path, model=3)  # pyright: ignore


def test_names_are_those_of_files_that_can_be_opened(store, tmp_path):
    (store.path / "folder.memory").mkdir()
    (store.path / "nowhere.memory").symlink_to(tmp_path / "nothing")
    shutil.copy(store.path / "a.memory", store.path / "two words.memory")
    assert store.names() == ["a"]
    for name in ("folder", "nowhere"):
        with refused(store, "which is not in"):
            store.info(name)


def test_exported_files_are_no_names(store):
    with refused(store, "name", "does not end in .safetensors", "store.export(name, path)"):
        store.create("e.safetensors", plan=small_plan())
    with refused(store, "store.export(name, path)"):
        store.create_like("e.safetensors", ["a"])
    for action in (store.info, store.delete, lambda name: store.create(name, plan=small_plan())):
        with refused(store, "name", "without .memory", "'a'"):  # it would be the file of "a"
            action("a.memory")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"num_items": 0}, "num_items"),
        ({"size": 0}, "size"),
        ({"error": 0.0}, "error"),
        ({"error": 0.001}, "error"),
        ({"error": 0.5, "rows_per_item": 1.0}, "rows_per_item"),
        ({"rows_per_item": 1e9}, "rows_per_item"),
        ({"cue_noise": -1}, "cue_noise"),
        ({"largest": 0.0}, "largest"),
        ({"sample": torch.zeros(1, 4)}, "sample"),
        ({"sample": "x"}, "sample"),
        ({"seed": -1}, "seed"),
        ({"num_items": 10**9, "size": 384}, "num_items"),
        ({"num_items": 10**6, "size": 10**6}, "num_items"),
    ],
)
def test_wrong_plans(options, word):
    arguments = {"num_items": 10, "size": 4, **options}
    with pytest.raises(KanervaError, match=word):
        plan_vectors(arguments.pop("num_items"), arguments.pop("size"), **arguments)


# -- trouble with the file -------------------------------------------------------------------------


def test_the_writers_lock_is_held(store):
    other = sqlite3.connect(store.path / "a.memory", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refused(store, "another process has been writing for 0.1 seconds"):
        store.write("a", vectors(1, seed=3))
    with refused(store, "another process"):
        store.forget("a", ["id1"])
    assert store.read("a", vectors(10)).known.all()  # reading goes on
    other.execute("ROLLBACK")
    other.close()


def test_the_disk_is_full(store):
    """A limit on the size of files, as a full disk gives."""
    import signal

    old, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    largest = max(os.path.getsize(file) for file in store.path.iterdir())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = state_of(store, "a")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 4096, old[1]))
        with pytest.raises(KanervaError, match="space on the disk") as caught:
            store.write("a", vectors(4000, seed=3))
        assert "\n" not in str(caught.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert state_of(store, "a") == before
    assert state_of(kanerva.open(store.path), "a") == before
    store.write("a", vectors(4, seed=3))


def test_a_file_that_is_no_memory(store):
    (store.path / "b.memory").write_text("not a database, but long enough to be looked at" * 30)
    with refused(store, "b.memory", "cut short or changed"):
        store.info("b")
    (store.path / "c.memory").write_bytes(b"")
    with refused(store, "c.memory"):
        store.info("c")


def test_a_truncated_file(store, tmp_path):
    store.write("a", vectors(300, seed=7))
    store.close()
    whole = (store.path / "a.memory").read_bytes()
    for share in (0.2, 0.5, 0.9):
        path = tmp_path / f"cut{share}" / "a.memory"
        path.parent.mkdir()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(KanervaError) as caught:
            kanerva.open(path.parent).info("a", verify=True)
        assert "\n" not in str(caught.value)


def test_flipped_bits_are_noticed_or_harmless(store, tmp_path):
    """Bits anywhere in the file: an error, or everything is still right."""
    store.create("b", plan=many_blocks(), ledger=True)
    store.write("b", vectors(400), labels=[f"label {number}" for number in range(400)])
    expected = state_of(store, "b")
    store.close()
    whole = (store.path / "b.memory").read_bytes()
    random = np.random.default_rng(0)
    noticed = 0
    for number, position in enumerate(random.integers(0, len(whole), 60).tolist()):
        path = tmp_path / f"flip{number}" / "b.memory"
        path.parent.mkdir()
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        with kanerva.open(path.parent) as other:
            try:
                found = other.info("b", verify=True)
            except KanervaError:
                noticed += 1
            else:
                assert (found.state, found.num_items, found.distance) == (expected, 400, 0.0)
        shutil.rmtree(path.parent)
    assert noticed >= 30


def test_a_damaged_snapshot(store, tmp_path):
    path = tmp_path / "a.safetensors"
    store.export("a", path)
    whole = path.read_bytes()
    store.create("b", plan=small_plan())
    before = state_of(store, "b")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for contents in (whole[: len(whole) // 2], bytes(flipped), b"", b"PK\x03\x04"):
        path.write_bytes(contents)
        with pytest.raises(KanervaError) as caught:
            store.merge("b", [path])
        assert "\n" not in str(caught.value)
        assert state_of(store, "b") == before
    path.write_bytes(whole)
    assert store.merge("b", [path]) == state_of(store, "a")


def test_no_permission(store, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    with pytest.raises(KanervaError, match="folder that can be written"):
        kanerva.open(closed / "x").create("a", plan=small_plan())


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(KanervaError, match="folder"):
        kanerva.open(Path(tmp_path / "file" / "below")).create("a", plan=small_plan())


@pytest.mark.parametrize("argument", ["ids", "labels", "payloads"])
def test_facts_have_an_order(store, argument):
    """A set would pair them with the items as it likes."""
    for facts in ({"x", "y"}, frozenset("xy"), {"x": 1, "y": 2}, "xy"):
        with refused(store, argument, "in order"):
            store.write("a", vectors(2, seed=5), **{argument: facts})


def test_a_damaged_memory_can_be_deleted(store):
    file = store.path / "a.memory"
    store.close()
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(KanervaError):
        kanerva.open(store.path).info("a", verify=True)
    again = kanerva.open(store.path)
    again.delete("a")
    assert again.names() == []
    assert not list(store.path.glob("a.memory*"))


def test_a_store_stays_in_its_folder(store, tmp_path, monkeypatch):
    """Also if the process goes to another one."""
    monkeypatch.chdir(tmp_path)
    relative = kanerva.open("memories")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert relative.names() == ["a"]
    assert relative.info("a").num_items == 10
    relative.create("b", plan=small_plan())
    assert sorted(store.names()) == ["a", "b"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_damaged_index_is_noticed(store):
    """One byte of an index can bring an item twice and leave out another."""
    right = store.attribute("a", vectors(1))[0]
    store.close()
    file = store.path / "a.memory"
    whole = file.read_bytes()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'items_of_block'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    num_noticed = 0
    for place in range(page * size - 45, page * size):
        file.write_bytes(whole[:place] + bytes([(whole[place] + 3) % 256]) + whole[place + 1 :])
        damaged = kanerva.open(store.path)
        try:
            found = damaged.attribute("a", vectors(1))[0]
        except KanervaError:
            num_noticed += 1
        else:
            assert found.ids == right.ids
            assert torch.equal(found.contributions, right.contributions)
        damaged.close()
    assert num_noticed > 5


def test_a_model_that_changes_under_its_store(tmp_path):
    """Its memory would hold the codes of two models."""
    model = kanerva.load("omniglot")
    store = kanerva.open(tmp_path, model=model)
    store.create("a")
    images = (torch.rand(3, 1, 28, 28) > 0.8).float()
    store.write("a", images)
    same = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        next(model.parameters()).mul_(2)
    for call in (store.write, store.read):
        with pytest.raises(KanervaError, match="the model was changed"):
            call("a", images)
    model.load_state_dict(same)
    store.write("a", images)
    assert store.info("a", verify=True).num_items == 6


def test_a_model_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    save_model(Path("own.safetensors"), kanerva.load("omniglot"), {})
    images = (torch.rand(3, 1, 28, 28) > 0.8).float()
    with kanerva.open("store") as store:
        store.create("a", model="own.safetensors")
        store.write("a", images)
    monkeypatch.chdir(tmp_path / "elsewhere")
    with kanerva.open(tmp_path / "store") as store:
        assert store.read("a", images).confidence.shape == (3,)


def test_a_model_in_float64(tmp_path):
    model = kanerva.load("omniglot").double()
    store = kanerva.open(tmp_path, model=model)
    store.create("a")
    images = (render_glyphs(range(3), seed=0) > 20).float()
    store.write("a", images)
    found = store.read("a", images.double())
    assert found.confidence.min() > 0.5
    assert (found.items - images).abs().mean() < 0.05


def test_now_is_called_now(store):
    with refused(store, "now: expected a finite number"):
        store.read("a", vectors(1), now="x")
