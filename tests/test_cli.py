"""The command line as a user meets it: real processes."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva.cli import main
from kanerva.errors import KanervaError

KANERVA = [sys.executable, "-m", "kanerva.cli.main"]


def run(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KANERVA, *args], capture_output=True, text=True, **options)


def test_help_does_not_load_torch():
    code = (
        "import sys; from kanerva.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.rstrip().endswith("[]"), done.stdout + done.stderr


def test_help_is_quick():
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert run("demo", "--help").returncode == 0
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5


def test_demo(tmp_path):
    picture = tmp_path / "new" / "demo.png"
    done = run("demo", "--picture", str(picture))
    assert done.returncode == 0, done.stderr
    assert "recognised:" in done.stdout
    assert "by the nearest of the images" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_that_cannot_save(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("demo", "--picture", str(tmp_path / "file" / "demo.png"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_bench_writes_json(tmp_path):
    out = tmp_path / "bench.json"
    done = run("bench", "--quick", "--json", "--out", str(out))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads(out.read_text())
    assert len(result["ratios"]) == 8
    assert all(row["ratio"] > 0 for row in result["ratios"])
    for numbers in result["online_writes_float32"].values():
        assert numbers["mean_relative_error"] < 1e-6
        assert numbers["positive_definite"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "expected one of"),
        (["dmeo"], "demo"),
        (["demo", "--sed", "1"], "--seed"),
        (["demo", "--seed", "one"], "--seed"),
        (["demo", "--seed", "99999999999999999999"], "2^63"),
        (["demo", "--picture", "letters.xyz"], ".png"),
        (["demo", "--picture", "/"], ".png"),
        (["bench", "--quick", "--out", "/proc/none/bench.json"], "/proc/none"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(args, words):
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("seconds", [0.3, 0.7, 6])
def test_ctrl_c(tmp_path, seconds):
    """While Python starts, while torch loads, while it works: always one line and 130."""
    process = subprocess.Popen(
        [*KANERVA, "bench", "--out", str(tmp_path / "bench.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "kanerva: stopped\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("eval", "omniglot", "--device", "foo"), ("--device",)),
        (("denoise", "omniglot", "--device", "foo"), ("--device",)),
        (("train", "tiny", "--device", "foo"), ("--device",)),
        (("train", "tiny", "--training.lr", "-1"), ("--training.lr", "above 0", "-1")),
        (("train", "tiny", "--training.lr", "inf"), ("--training.lr", "above 0", "inf")),
        (("train", "tiny", "--training.seed", "-1"), ("--training.seed", "from 0 to")),
        (("train", "tiny", "--training.seed", str(2**62)), ("--training.seed", "from 0 to")),
        (("train", "tiny", "--training.damaged", "nan"), ("--training.damaged", "at least 0")),
        (("train", "tiny", "--training.damaged", "1.1"), ("--training.damaged", "at most 1")),
        (("train", "tiny", "--training.decay", "2"), ("--training.decay", "at most 1")),
        (("train", "omnigloth"), ("recipe", "Did you mean 'omniglot'?")),
        (("train",), ("recipe", "omniglot-vae")),
        (("train", "glyphs", "--training.learning", "1"), ("--training.lr",)),
        (("train", "glyphs", "--model.nun-rows", "1"), ("--model.num-rows",)),
        (("train", "omniglot-vae", "--model.num-rows", "128"), ("--model.num-rows", "a VAE")),
        (("train", "omniglot-vae", "--model.num_rows=128"), ("--model.num_rows", "a VAE")),
        (
            ("train", "omniglot-dnc", "--model.covariance", "diagonal"),
            ("--model.covariance", "a DNC", "bottom_up"),
        ),
        (
            ("train", "omniglot-dynamic", "--model.no-bottom-up"),
            ("--model.no-bottom-up", "the Dynamic Kanerva Machine"),
        ),
        (
            ("train", "omniglot-vae", "--training.damaged", "0.25"),
            ("--training.damaged", "no memory"),
        ),
        (
            ("train", "glyphs", "--model.image-shape", "3", "28", "28"),
            ("--model.image-shape", "Pass --model.image-shape 1 28 28"),
        ),
        (("train", "glyphs", "--resume", "--out", "nowhere"), ("--resume", "nowhere")),
        (("train", "omniglot", "--data-folder", "nowhere"), ("nowhere",)),
        (("eval", "nowhere.safetensors"), ("nowhere.safetensors",)),
        (("eval", "--episodes", "0", "nowhere"), ("--episodes",)),
        (("eval", "omniglot", "--episode-length", "100000000"), ("--episode-length", "10000")),
        (("sweep", "nowhere.json"), ("plan", "nowhere.json", "experiments/plans")),
        (("train", "tiny", "--training.warmup", "-1"), ("--training.warmup", "at least 0")),
        (("train", "tiny", "--model.noise-var", "nan"), ("noise_var", "above 0")),
        (("eval", "omniglot", "--device", "meta"), ("--device", "meta")),
        (("eval", "omniglot", "--importance", "-1"), ("--importance", "0 for none")),
        (("train", "tiny", "--model.num-rows", "0"), ("num_rows", "from 1 to")),
        (("train", "tiny", "--model.num-rows", "1000000", "--out", "x"), ("num_rows", "100000")),
        (
            ("interpolate", "omniglot", "--memory", "--start", "a.png", "--end", "a.png"),
            ("--memory", "at least one"),
        ),
    ],
)
def test_mistakes_in_options_say_what_was_expected(args, words, tmp_path):
    Image.new("L", (28, 28)).save(tmp_path / "a.png")
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("--help > /dev/full", "no space left on device"),
        ("data list > /dev/full", "no space left on device"),
        ("data list >&-", "it is closed"),
        ("--help >&-", "it is closed"),
    ],
)
def test_nowhere_to_print_to(command, reason):
    words = " ".join(KANERVA)
    done = subprocess.run(["bash", "-c", f"{words} {command}"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"kanerva: standard output: {reason};")
    assert len(done.stderr.splitlines()) == 1


def test_a_present_folder_that_was_deleted(tmp_path):
    """A library that torch loads would end the process with a message of its own."""
    words = " ".join(KANERVA)
    for command, code in (("data list", 2), ("--version", 0), ("data --help", 0)):
        gone = tmp_path / "gone"
        script = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec {words} {command}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert len(done.stderr.splitlines()) == (code != 0)
        assert code == 0 or "present folder" in done.stderr


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (lambda: torch.empty(10**13), "torch asked for 40 TB"),
        (lambda: torch.empty(2**60, 2**60), "not enough memory"),
        (lambda: np.zeros((10**7, 10**7)), "NumPy asked for 728. TiB"),
        (lambda: _out_of_gpu_memory(), "torch asked for 20.00 GiB"),
    ],
)
def test_too_little_memory_is_one_line(error, words, capsys):
    assert main._run(error, KanervaError) == 2
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1
    assert "smaller sizes" in line


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="mat1"):
        main._run(lambda: torch.zeros(2, 3) @ torch.zeros(2, 3), KanervaError)  # type: ignore


def _out_of_gpu_memory():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has")


def test_numbers_that_json_has_no_word_for(tmp_path):
    done = run("eval", "omniglot", "--dataset", "glyphs", "--episodes", "1", "--json")
    assert done.returncode == 0, done.stderr

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert json.loads(done.stdout, parse_constant=refuse)["stderr"] is None


def test_python_dash_m(tmp_path):
    done = subprocess.run([sys.executable, "-m", "kanerva", "--help"], capture_output=True)
    assert done.returncode == 0
    assert b"compare" in done.stdout
