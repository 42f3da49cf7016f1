"""Whether a training is compiled: decided once, saved, and said.

The compiler is switched off here (TORCHDYNAMO_DISABLE): it takes minutes on a CPU. Everything
around it is real.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from kanerva.cli.commands import parse
from kanerva.tensor_file import read_tensor_file, write_tensor_file
from kanerva.training.compiling import COMPILE_FROM, decide_to_compile
from kanerva.training.config import TrainingConfig
from kanerva.training.parallel import Parallel
from processes import Start, newest, starting, wait_for
from small_runs import SMALL_FLAGS, without_time

GPU, CPU = Parallel(torch.device("cuda")), Parallel(torch.device("cpu"))
TWO_GPUS = Parallel(torch.device("cuda"), world=2)


@pytest.mark.parametrize(
    ("chosen", "steps", "parallel", "decision"),
    [
        (None, 40_000, GPU, (True, COMPILE_FROM)),
        (None, 20_000, GPU, (False, 0)),
        (None, 40_000_000, CPU, (False, 0)),
        (None, 40_000, TWO_GPUS, (False, 0)),
        (True, 10, CPU, (True, 0)),
        (False, 40_000, GPU, (False, 0)),
    ],
)
def test_it_is_decided_where_it_pays_off(chosen, steps, parallel, decision):
    config = decide_to_compile(TrainingConfig(compile=chosen, steps=steps), parallel)
    assert (config.compile, config.compile_from) == decision


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ((), None),
        (("--training.compile",), True),
        (("--training.compile", "--json"), True),
        (("--training.compile", "True"), True),
        (("--training.no-compile",), False),
        (("--training.compile", "False"), False),
    ],
)
def test_flags(words, value):
    call = parse(["train", "tiny", *words])
    assert call.args[0].training.compile is value  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("chosen", [None, "elsewhere"])
def test_compiled_code_is_kept(tmp_path, chosen):
    code = (
        "import os; from kanerva.training.compiling import keep_compiled_code\n"
        "keep_compiled_code()\n"
        "from torch._inductor.runtime.cache_dir_utils import cache_dir\n"
        "from torch._inductor import config\n"
        "print(cache_dir(), config.fx_graph_cache)"
    )
    environment = {**os.environ, "KANERVA_CACHE": str(tmp_path)}
    environment.pop("TORCHINDUCTOR_CACHE_DIR", None)
    if chosen:
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / chosen)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split() == [str(tmp_path / (chosen or "compiled")), "True"], done.stderr


# -- runs ------------------------------------------------------------------------------------------

STEPS = ("--training.steps", "24", "--training.eval-every", "6", "--training.checkpoint-every")
NO_COMPILER = {**os.environ, "TORCHDYNAMO_DISABLE": "1"}
Kanerva = Callable[..., str]


@pytest.fixture
def start() -> Iterator[Start]:
    yield from starting()


@pytest.fixture
def kanerva(start) -> Kanerva:
    """Trains without a compiler; gives what is shown."""

    def kanerva(*words: str) -> str:
        process = start(*words, env=NO_COMPILER)
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        return stderr

    return kanerva


def begin(folder: Path, *more: str) -> tuple[str, ...]:
    flags = (*SMALL_FLAGS, *STEPS, "6", "--device", "cpu", *more)
    return ("train", "glyphs", "--out", str(folder), *flags)


def rows(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [without_time(json.loads(line)) for line in lines]


def test_the_decision_is_saved(kanerva, tmp_path):
    assert "compiling" not in kanerva(*begin(tmp_path / "run"))
    training = json.loads((tmp_path / "run" / "config.json").read_text())["training"]
    assert (training["compile"], training["compile_from"]) == (False, 0)


def test_it_says_what_it_does_meanwhile(kanerva, tmp_path):
    """And the numbers are those of a run that was not compiled."""
    kanerva(*begin(tmp_path / "plain"))
    shown = kanerva(*begin(tmp_path / "compiled", "--training.compile"))
    assert "compiling" in shown.splitlines()[1]
    assert "30 s" in shown.splitlines()[1]
    assert rows(tmp_path / "plain") == rows(tmp_path / "compiled")


@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_that_compiles_later(kanerva, start, tmp_path, resumed):
    """So that the first steps do not wait for the compiler."""
    words = begin(tmp_path / "run", "--training.compile", "--training.compile-from", "9")
    if resumed:
        process = start(*words, env=NO_COMPILER)
        wait_for(tmp_path / "run", "checkpoint-00000012.safetensors")
        process.kill()
        process.communicate()
        for path in (tmp_path / "run").glob("checkpoint-*"):  # as if it had been killed there
            if path.name > "checkpoint-00000012.safetensors":
                path.unlink()
        words = ("train", "--resume", str(tmp_path / "run"), "--device", "cpu")
    shown = [line.split()[0] for line in kanerva(*words).splitlines()]
    assert shown.count("compiling") == 1
    assert shown.index("compiling") == (1 if resumed else 2)  # or after the row of step 6
    kanerva(*begin(tmp_path / "plain"))
    assert rows(tmp_path / "plain") == rows(tmp_path / "run")
    one, other = (read_tensor_file(newest(tmp_path / name))[0] for name in ("plain", "run"))
    assert all(value.equal(other[name]) for name, value in one.items())


def test_a_run_of_a_gpu_is_not_compiled_on_a_cpu(kanerva, start, tmp_path):
    process = start(*begin(tmp_path, "--training.compile"), env=NO_COMPILER)
    wait_for(tmp_path, "checkpoint-00000006.safetensors")
    process.kill()
    process.communicate()
    for path in tmp_path.glob("checkpoint-*"):
        tensors, metadata, _ = read_tensor_file(path)
        card = metadata["card"]
        assert isinstance(card, dict)
        card["device"] = "NVIDIA H200"
        write_tensor_file(path, tensors, metadata)
    assert "compiling" not in kanerva("train", "--resume", str(tmp_path), "--device", "cpu")
    assert json.loads((tmp_path / "config.json").read_text())["training"]["compile"] is True
