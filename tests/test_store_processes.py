"""Several processes make the memory of one: torchrun, and recipes for other schedulers."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import kanerva
from kanerva import Evidence, KanervaError
from kanerva.store import reduce_evidence, write_together
from pages import ROOT, blocks
from store_cases import many_blocks, small_plan, state_of, vectors

WORKER = Path(__file__).parent / "store_worker.py"
PAGE = ROOT / "docs" / "how-to" / "store.md"


def run_job(folder: Path, *, num_processes: int, backend: str) -> dict:
    with kanerva.open(folder) as store:
        store.create("a", plan=many_blocks())
        store.create("fading", plan=many_blocks(), half_life=10.0)
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc-per-node", str(num_processes), str(WORKER), str(folder), backend),
    ]
    paths = [str(WORKER.parent), *sys.path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(line)


def check_job(report: dict, folder: Path) -> None:
    items = vectors(300).double()
    expected = Evidence.of(items[:, :6], items[:, 6:])
    assert report["count"] == 300
    assert expected.squares is not None
    torch.testing.assert_close(
        torch.tensor(report["gram"], dtype=torch.float64), expected.gram, rtol=1e-12, atol=1e-12
    )
    assert report["squares"] == pytest.approx(expected.squares.item(), rel=1e-12)
    with kanerva.open(folder) as store:
        store.create("once", plan=many_blocks())
        store.write("once", vectors(300))
        store.create("once-fading", plan=many_blocks(), half_life=10.0)
        store.write("once-fading", vectors(300), time=7.0)
        assert report["state"] == state_of(store, "a") == state_of(store, "once")
        assert report["fading"] == state_of(store, "fading") == state_of(store, "once-fading")


def test_two_processes_with_gloo(tmp_path):
    report = run_job(tmp_path, num_processes=2, backend="gloo")
    assert report["world"] == 2
    check_job(report, tmp_path)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="nccl needs a GPU")
def test_one_process_with_nccl(tmp_path):
    check_job(run_job(tmp_path, num_processes=1, backend="nccl"), tmp_path)


def test_without_a_job_nothing_is_reduced(tmp_path):
    evidence = Evidence.of(torch.eye(3), torch.ones(3, 2))
    assert reduce_evidence(evidence) is evidence
    with kanerva.open(tmp_path) as store:
        for name in "ab":
            store.create(name, plan=small_plan())
        state = write_together(store, "a", iter([vectors(5), vectors(3, seed=1)]))
        store.write("b", vectors(3, seed=1))
        store.write("b", vectors(5))
        assert state == state_of(store, "b")


def test_a_ledger_cannot_travel(tmp_path):
    with kanerva.open(tmp_path) as store:
        store.create("a", plan=small_plan(), ledger=True)
        with pytest.raises(KanervaError, match="only sums travel"):
            write_together(store, "a", vectors(5))


def test_the_dask_recipe(tmp_path, monkeypatch):
    """The block of the documentation, as it is."""
    pytest.importorskip("dask")
    monkeypatch.chdir(tmp_path)
    (recipe,) = [block.body for block in blocks(PAGE) if "import dask" in block.body]
    names: dict = {"__name__": "__main__"}
    exec(compile(recipe, str(PAGE), "exec"), names)
    with kanerva.open("memories") as store:
        assert store.info("all").num_items == 4000
        store.create("once", plan=names["plan"])
        for number in range(4):
            store.write("once", names["vectors_of"](number))
        assert state_of(store, "once") == state_of(store, "all")


def test_a_pickled_store_opens_the_same_folder(tmp_path, monkeypatch):
    """The folder of a relative path stays the same one; a lock cannot travel."""
    monkeypatch.chdir(tmp_path)
    store = kanerva.open("memories", timeout=3.0)
    store.create("a", plan=small_plan())
    store.write("a", vectors(5))
    contents = pickle.dumps(store)
    monkeypatch.chdir("/")
    again = pickle.loads(contents)
    assert (again.path, again.timeout) == (tmp_path / "memories", 3.0)
    again.write("a", vectors(2, seed=1))
    monkeypatch.chdir(tmp_path)
    assert store.info("a", verify=True).num_items == 7
