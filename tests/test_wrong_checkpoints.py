"""What is given to commands as a checkpoint and is none: one line that says what it is."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kanerva import MemoryState
from kanerva.errors import KanervaError
from kanerva.models.checkpoint import SHIPPED_FOLDER, find_checkpoint, load_with_card
from kanerva.sparse import SparseMemory


def mistake(name: object, cwd: Path) -> str:
    """The one line that a command gives."""
    done = subprocess.run(
        [sys.executable, "-m", "kanerva.cli.main", "generate", str(name), "--out", "new.png"],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=60,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr[-500:]
    assert not (cwd / "new.png").exists()
    return done.stderr


def foreign(path: Path, **metadata: object) -> None:
    words = {name: str(word) for name, word in metadata.items()}
    save_file({"weight": torch.zeros(3)}, path, words)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "an empty file"),
        (b"hello, this is text\n" * 9, "safetensors"),
        (pickle.dumps({"a": 1}), "a pickle, which could run code"),
        (b"PK\x03\x04" + b"\0" * 99, "torch.save or a zip archive, which could run code"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 99, "safetensors"),
        ((SHIPPED_FOLDER / "omniglot.safetensors").read_bytes()[:9999], "safetensors"),
    ],
)
def test_other_files(tmp_path, contents, words):
    (tmp_path / "model.safetensors").write_bytes(contents)
    with pytest.raises(KanervaError, match=words):
        load_with_card(tmp_path / "model.safetensors")


def test_safetensors_of_another_program(tmp_path):
    foreign(tmp_path / "bert.safetensors")
    assert "another program" in mistake("bert.safetensors", tmp_path)


@pytest.mark.parametrize(
    "metadata",
    [
        {"schema": 2},
        {"schema": 3},
        {"schema": "none"},
        {"schema": 1},
        {"schema": 1, "model": "{}"},
        {"schema": 1, "model": "["},
        {"schema": 1, "model": "[" * 100_000},
        {"schema": 1, "model": "9" * 5000},
        {"schema": 1, "model": json.dumps({"kind": "kanerva", "num_rows": 10**9})},
        {"schema": 1, "model": json.dumps({"kind": "kanerva", "image_shape": [1, 28]})},
        {"schema": 1, "model": json.dumps({"kind": "kanerva", "image_shape": 3})},
        {"schema": 1, "model": json.dumps({"kind": 3})},
        {"schema": 1, "model": json.dumps({"kind": "vae", "num_filters": "many"})},
    ],
)
def test_metadata_of_another_kind(tmp_path, metadata):
    foreign(tmp_path / "model.safetensors", **metadata)
    with pytest.raises(KanervaError):
        load_with_card(tmp_path / "model.safetensors")


def test_paths_that_are_no_checkpoint(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    assert "'loop', a link that leads back to itself" in mistake("loop", tmp_path)
    assert "checkpoint-*.safetensors" in mistake("folder", tmp_path)
    assert "too long" in mistake("x" * 300, tmp_path)
    for name in ("omniglott", "OMNIGLOT", "no/such"):
        with pytest.raises(KanervaError, match="nothing there"):
            find_checkpoint(name)
    with pytest.raises(KanervaError, match="device"):
        find_checkpoint("/dev/null")


@pytest.mark.parametrize("name", ["handwriting", "fewshot"])
def test_a_folder_of_that_name_does_not_hide_a_shipped_model(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / name / "drawing.png").touch()
    assert find_checkpoint(name).parent == SHIPPED_FOLDER
    run = tmp_path / name / "checkpoint-000001.safetensors"
    run.touch()
    assert find_checkpoint(name).samefile(run)  # one's own run comes first


@pytest.mark.parametrize("name", ["omniglot", "fewshot", "omniglot-vae"])
def test_loading_draws_no_random_numbers(name):
    before = torch.random.get_rng_state()
    load_with_card(name)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_model_that_was_loaded_in_inference_mode_can_be_trained():
    with torch.inference_mode():
        model, _ = load_with_card("omniglot")
    model.elbo(torch.zeros(1, 2, 1, 28, 28)).total.sum().backward()
    assert any(parameter.grad is not None for parameter in model.parameters())


def test_files_of_other_kinds(tmp_path):
    bits = torch.eye(8, dtype=torch.bool)
    memory = SparseMemory(bits, radius=2)
    memory.write(bits)
    memory.save(tmp_path / "sparse.safetensors")
    MemoryState(torch.zeros(3, 2), torch.eye(3)).save(tmp_path / "state.safetensors")
    with pytest.raises(KanervaError, match=r"a sparse memory in .*SparseMemory\.load"):
        load_with_card(tmp_path / "sparse.safetensors")
    with pytest.raises(KanervaError, match=r"a memory in .*kanerva\.load_memory"):
        load_with_card(tmp_path / "state.safetensors")
