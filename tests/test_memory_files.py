"""Memories on disk: what is saved comes back bit for bit, and mistakes get an answer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import kanerva
from cases import BATCHES, C, K, random_case, random_var
from kanerva import (
    DiagonalCovariance,
    KanervaError,
    LowRankCovariance,
    MemoryState,
    condition,
    load_memory,
    predict,
)
from kanerva.tensor_file import read_tensor_file, write_tensor_file

case = random_case()


def memories(batch: tuple[int, ...] = (), dtype: torch.dtype = torch.float64):
    """A memory of each kind, written and not."""
    many = random_case(batch, dtype=dtype)
    variances = random_var(*batch, K, dtype=dtype)
    priors = [
        many.prior,
        MemoryState(many.mean, DiagonalCovariance(variances)),
        MemoryState(many.mean, LowRankCovariance(variances, rank=3)),
    ]
    code_var = random_var(*batch, 4, C, dtype=dtype)
    for prior in priors:
        yield prior
        yield condition(prior, *many.episode)
        yield condition(prior, *many.episode, code_var=code_var, per_column=True)


def assert_identical(left: MemoryState, right: MemoryState) -> None:
    assert repr(left) == repr(right)
    assert torch.equal(left._mean, right._mean)
    assert torch.equal(left.row_cov.dense(), right.row_cov.dense())
    assert torch.equal(left.cov, right.cov)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("batch", [*BATCHES, (0,)])
def test_memories_come_back_bit_for_bit(batch, dtype, tmp_path):
    path = tmp_path / "memory.safetensors"
    for memory in memories(batch, dtype):
        memory.save(path)
        loaded = load_memory(path)
        assert_identical(loaded, memory)
        assert loaded.per_column == memory.per_column
        if isinstance(memory.row_cov, LowRankCovariance):
            assert isinstance(loaded.row_cov, LowRankCovariance)
            assert loaded.row_cov.rank == 3
        weights = random_case(batch, seed=5, dtype=dtype).weights
        again = random_case(batch, seed=5, dtype=dtype).episode
        assert torch.equal(predict(loaded, weights).var, predict(memory, weights).var)
        assert torch.equal(condition(loaded, *again).mean, condition(memory, *again).mean)


def test_episodes_that_share_a_covariance(tmp_path):
    many = random_case((3, 2))
    shared = condition(case.prior, case.weights, many.codes)
    shared.save(tmp_path / "shared")
    assert_identical(load_memory(tmp_path / "shared"), shared)
    expanded = MemoryState(case.mean.expand(5, K, C), case.cov)
    expanded.save(tmp_path / "expanded")
    assert_identical(load_memory(tmp_path / "expanded"), expanded)


def test_memories_with_a_gradient_are_saved_without_it(tmp_path):
    memory = MemoryState(case.mean.clone().requires_grad_(), case.cov)
    memory.save(tmp_path / "memory")
    assert not load_memory(tmp_path / "memory").mean.requires_grad


def test_paths_may_be_strings_and_folders_are_made(tmp_path):
    path = tmp_path / "new" / "deeper" / "memory.safetensors"
    case.prior.save(str(path))
    assert_identical(load_memory(str(path)), case.prior)
    assert list(path.parent.iterdir()) == [path]  # no temporary files


def test_an_older_memory_is_replaced_and_survives_a_failed_write(tmp_path, monkeypatch):
    path = tmp_path / "memory"
    case.prior.save(path)
    condition(case.prior, *case.episode).save(path)
    written = condition(case.prior, *case.episode)
    assert_identical(load_memory(path), written)

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(KanervaError, match="no space left"):
        case.prior.save(path)
    assert_identical(load_memory(path), written)


def test_a_link_remains_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    case.prior.save(link)
    assert link.is_symlink()
    assert_identical(load_memory(target), case.prior)
    condition(case.prior, *case.episode).save(link)
    assert link.is_symlink()
    assert_identical(load_memory(link), condition(case.prior, *case.episode))


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "memory"
    memory = MemoryState(torch.zeros(2, 1), torch.eye(2))
    memory.save(path)
    contents = bytearray(path.read_bytes())
    for position in range(len(contents)):
        for bit in (0, 5):
            contents[position] ^= 1 << bit
            path.write_bytes(contents)
            with pytest.raises(KanervaError) as caught:
                load_memory(path)
            assert caught.value.argument == "memory"
            contents[position] ^= 1 << bit
    path.write_bytes(contents)
    assert_identical(load_memory(path), memory)


def test_every_length_is_noticed(tmp_path):
    path = tmp_path / "memory"
    MemoryState(torch.zeros(2, 1), torch.eye(2)).save(path)
    contents = path.read_bytes()
    for length in range(0, len(contents), 7):
        path.write_bytes(contents[:length])
        with pytest.raises(KanervaError, match="memory: expected"):
            load_memory(path)
    path.write_bytes(contents + b"more")
    with pytest.raises(KanervaError, match="memory: expected"):
        load_memory(path)


def loose(value: object) -> Any:
    return value


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with a memory and with files that are none."""
    case.prior.save(tmp_path / "whole")
    (tmp_path / "text").write_text("not a memory")
    (tmp_path / "empty").write_bytes(b"")
    save_file({"weight": torch.zeros(2)}, tmp_path / "foreign")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


SHIPPED = Path(kanerva.__file__).parent / "shipped" / "omniglot.safetensors"
WRONG_FILES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    # name: (call, argument, words of the message)
    "no such file": (lambda f: load_memory(f / "nosuch"), "memory", "does not exist"),
    "no such folder": (lambda f: load_memory(f / "no" / "such"), "memory", "does not exist"),
    "a folder": (lambda f: load_memory(f), "memory", "a folder"),
    "a text file": (lambda f: load_memory(f / "text"), "memory", "copy it again"),
    "an empty file": (lambda f: load_memory(f / "empty"), "memory", "copy it again"),
    "another safetensors file": (lambda f: load_memory(f / "foreign"), "memory", "another program"),
    "a model": (lambda f: load_memory(SHIPPED), "memory", "kanerva.load("),
    "a loop of links": (lambda f: load_memory(f / "loop"), "memory", "symbolic links"),
    "a pipe": (lambda f: load_memory(f / "pipe"), "memory", "not a plain file"),
    "through a file": (lambda f: load_memory(f / "text" / "m"), "memory", "does not exist"),
    "nothing": (lambda f: load_memory(loose(None)), "path", "NoneType"),
    "a number": (lambda f: load_memory(loose(3)), "path", "int"),
    "no name": (lambda f: load_memory(""), "path", "empty"),
    "a zero byte": (lambda f: load_memory("a\0b"), "path", "zero byte"),
    "a long name": (lambda f: load_memory(f / ("m" * 300)), "memory", "too long"),
    "no such device": (lambda f: load_memory(f / "whole", device="gpu"), "device", "'gpu'"),
    "save without a name": (lambda f: case.prior.save(""), "path", "empty"),
    "save to nothing": (lambda f: case.prior.save(loose(None)), "path", "NoneType"),
    "save to a zero byte": (lambda f: case.prior.save("a\0b"), "path", "zero byte"),
    "save to a folder": (lambda f: case.prior.save(f), "{}", "a folder"),
    "save below a file": (lambda f: case.prior.save(f / "text" / "m"), "{}/text/m", "a file where"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_files(name, folder):
    call, argument, words = WRONG_FILES[name]
    with pytest.raises(KanervaError) as caught:
        call(folder)
    assert caught.value.argument == argument.format(folder)
    assert words in str(caught.value)
    assert "checkpoint" not in str(caught.value)


def changed(path: Path, **changes: object) -> None:
    """Write the file again, with a right checksum and wrong contents."""
    tensors, metadata, _ = read_tensor_file(path)
    for name, value in changes.items():
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        elif value is None:
            tensors.pop(name, None)
            metadata.pop(name, None)
        else:
            metadata[name] = value
    write_tensor_file(path, tensors, metadata)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": None},
        {"kind": "model"},
        {"mean": None},
        {"mean": torch.zeros(K, C)},  # float32
        {"mean": torch.zeros(K, dtype=torch.float64)},
        {"mean": torch.zeros(K - 1, C, dtype=torch.float64)},
        {"mean": torch.full((K, C), torch.nan, dtype=torch.float64)},
        {"cov.matrix": None},
        {"cov.matrix": torch.zeros(K, K - 1, dtype=torch.float64)},
        {"cov.matrix": torch.zeros(3, K, K, dtype=torch.float64)},
        {"covariance": "diagonal"},
        {"covariance": "no such"},
        {"covariance": ["full"]},
        {"dtype": "int64"},
        {"dtype": "nn"},
        {"dtype": 5},
        {"per_column": "yes"},
    ],
    ids=str,
)
def test_whole_files_with_other_contents(changes, tmp_path):
    path = tmp_path / "memory"
    case.prior.save(path)
    changed(path, **changes)
    with pytest.raises(KanervaError) as caught:
        load_memory(path)
    assert caught.value.argument == "memory"
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("rank", [0, 1, "3", None, True])
def test_a_wrong_rank(rank, tmp_path):
    path = tmp_path / "memory"
    prior = MemoryState(case.mean, LowRankCovariance(random_var(K), rank=3))
    condition(prior, *case.episode).save(path)
    changed(path, rank=rank)
    with pytest.raises(KanervaError) as caught:
        load_memory(path)
    assert caught.value.argument == "memory"


def test_deeply_nested_metadata_is_refused(tmp_path):
    """Schema 1 has no checksum, so anybody can write it."""
    path = tmp_path / "memory"
    words = {"schema": "1", "model": "[" * 100_000}
    save_file({"mean": torch.zeros(2)}, path, words)
    with pytest.raises(KanervaError, match="metadata"):
        read_tensor_file(path)
    save_file({"mean": torch.zeros(2)}, path, {"schema": "1", "model": "1" * 10_000})
    with pytest.raises(KanervaError, match="metadata"):
        read_tensor_file(path)
