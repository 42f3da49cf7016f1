"""`SparseMemory`: several threads, other devices, files and copies."""

import copy
import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from kanerva import KanervaError, SparseMemory
from kanerva.tensor_file import read_tensor_file, write_tensor_file


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def patterns(count: int, num_bits: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, num_bits, generator=generator(seed)) < 0.5


def small(**options) -> SparseMemory:
    return SparseMemory.random(50, 32, radius=12, generator=generator(), **options)


@pytest.fixture
def _many_switches():
    """Threads take turns after nearly every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_many_switches")
def test_threads_that_write_lose_nothing():
    parts = patterns(8 * 400, 64).split(400)
    alone, shared = (
        SparseMemory.random(200, 64, radius=28, generator=generator()) for _ in range(2)
    )
    for part in parts:
        alone.write(part)
    threads = [threading.Thread(target=shared.write, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(shared.counters, alone.counters)
    assert shared.num_written == alone.num_written == 3200


@pytest.mark.usefixtures("_many_switches")
def test_a_reading_sees_whole_patterns():
    """All addresses take the same pattern again and again, so all its sums are equal."""
    memory = SparseMemory(torch.zeros(1, 4000), radius=4000)
    ones = torch.ones(4000, dtype=torch.bool)
    memory.write(ones)
    stop = threading.Event()
    torn = []

    def read():
        while not stop.is_set():
            sums = memory.read(ones).sums
            if sums.min() != sums.max():
                torn.append(sums)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(300):
        memory.write(ones.expand(20, -1))
    stop.set()
    reader.join()
    assert not torn


@pytest.mark.parametrize("num_data_bits", [None, 7])
def test_a_file_brings_it_back(tmp_path, num_data_bits):
    memory = small(num_data_bits=num_data_bits)
    data = patterns(9, num_data_bits or 32, 1)
    memory.write(data, at=patterns(9, 32, 2))
    path = tmp_path / "new folder" / "memory.safetensors"
    memory.save(path)
    again = SparseMemory.load(str(path))
    assert torch.equal(again.counters, memory.counters)
    assert torch.equal(again.addresses, memory.addresses)
    assert (again.sizes, again.num_data_bits) == (memory.sizes, memory.num_data_bits)
    assert again.num_written == 9
    cues = patterns(5, 32, 3)
    assert torch.equal(again.read(cues).sums, memory.read(cues).sums)
    assert path.stat().st_size < 50 * 32 / 8 + 50 * (num_data_bits or 32) * 4 + 1000  # packed


def test_copies_do_not_share_counters(tmp_path):
    memory = small()
    memory.write(patterns(3, 32))
    for twin in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory)), memory.to("cpu")):
        assert torch.equal(twin.counters, memory.counters)
        assert twin.num_written == 3
        twin.write(patterns(2, 32, 5))
        assert twin.num_written == 5
        assert memory.num_written == 3
        assert not torch.equal(twin.counters, memory.counters)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_and_back(tmp_path):
    memory = small()
    memory.write(patterns(9, 32))
    there = memory.to("cuda")
    there.write(patterns(4, 32, 1).cuda())
    there.save(tmp_path / "memory.safetensors")
    memory.write(patterns(4, 32, 1))
    for twin in (there.to("cpu"), SparseMemory.load(tmp_path / "memory.safetensors")):
        assert torch.equal(twin.counters, memory.counters)
    loaded = SparseMemory.load(tmp_path / "memory.safetensors", device="cuda")
    assert loaded.counters.device.type == "cuda"


def test_what_it_looks_like():
    memory = SparseMemory.random(1000, 256, radius=111)
    assert repr(memory) == (
        "SparseMemory(1,000 addresses of 256 bits, radius 111, 0 patterns written, cpu)"
    )
    memory = SparseMemory.random(10, 16, radius=8, num_data_bits=4)
    memory.write(torch.ones(4), at=torch.ones(16))
    assert repr(memory) == (
        "SparseMemory(10 addresses of 16 bits, data of 4 bits, radius 8, 1 pattern written, cpu)"
    )


@pytest.mark.parametrize("device", ["nowhere", None, "cuda:99", 3.5])
def test_devices_that_are_not_there(tmp_path, device):
    memory = small()
    memory.save(tmp_path / "memory")
    for call in (
        lambda: memory.to(device),
        lambda: SparseMemory.load(tmp_path / "memory", device=device),
        lambda: SparseMemory.random(5, 5, radius=1, device=device),
    ):
        with pytest.raises(KanervaError, match="device: expected"):
            call()


# Files that are not memories


def change(path: Path, name: str, value: object) -> None:
    """Save a file whose checksum is right and whose contents are not."""
    tensors, metadata, _ = read_tensor_file(path)
    if isinstance(value, torch.Tensor):
        tensors[name] = value
    elif value is None:
        tensors.pop(name, None)
        metadata.pop(name, None)
    else:
        metadata[name] = value
    write_tensor_file(path, tensors, metadata)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("addresses", None),
        ("counters", None),
        ("addresses", torch.zeros(50, 3, dtype=torch.uint8)),
        ("addresses", torch.zeros(50, 4)),
        ("addresses", torch.zeros(0, 4, dtype=torch.uint8)),
        ("addresses", torch.tensor(3, dtype=torch.uint8)),
        ("counters", torch.zeros(50, 32)),
        ("counters", torch.zeros(49, 32, dtype=torch.int32)),
        ("counters", torch.zeros(50, 0, dtype=torch.int32)),
        ("more", torch.zeros(1)),
        ("radius", None),
        ("radius", "12"),
        ("radius", 33),
        ("radius", True),
        ("num_bits", 10**12),
        ("num_bits", 31.0),
        ("num_bits", 24),
        ("num_written", -1),
        ("num_written", None),
        ("kind", "something else"),
        ("kind", None),
    ],
)
def test_contents_that_do_not_fit(tmp_path, name, value):
    small().save(tmp_path / "memory")
    change(tmp_path / "memory", name, value)
    with pytest.raises(KanervaError, match=r"memory.*expected") as caught:
        SparseMemory.load(tmp_path / "memory")
    assert str(tmp_path / "memory") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_damaged_or_not_there(tmp_path):
    path = tmp_path / "memory"
    small().save(path)
    whole = path.read_bytes()
    for place in range(9, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 16
        path.write_bytes(changed)
        with pytest.raises(KanervaError):
            SparseMemory.load(path)
    path.write_bytes(whole[:-1])
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for wrong in (path, tmp_path, tmp_path / "nothing", tmp_path / "loop", tmp_path / "pipe"):
        with pytest.raises(KanervaError, match=str(wrong)):
            SparseMemory.load(wrong)
    wrong: Any
    for wrong in ("", None, 3, b"memory", "a\0b", "n" * 300):
        with pytest.raises(KanervaError):
            SparseMemory.load(wrong)
        with pytest.raises(KanervaError):
            small().save(wrong)
