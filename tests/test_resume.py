"""`kanerva train --resume RUN`: nothing else is needed, and it says what it does."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kanerva.tensor_file import read_tensor_file
from processes import Process, Start, newest, starting, wait_for
from small_runs import SMALL_FLAGS, without_time

SHORT = ("--training.steps", "24", "--training.eval-every", "6", "--training.checkpoint-every", "6")
OTHERS = ("--training.lr", "0.002", "--model.input-noise", "0.1", "--training.seed", "3")
"""Settings that differ from the recipe and are not given again."""
Kanerva = Callable[..., tuple[int, str, str]]


@pytest.fixture
def start() -> Iterator[Start]:
    yield from starting()


@pytest.fixture
def kanerva(start) -> Kanerva:
    """Runs a command; gives its exit code, stdout and stderr."""

    def kanerva(*words: str, **options) -> tuple[int, str, str]:
        process: Process = start(*words, **options)
        stdout, stderr = process.communicate(timeout=120)
        assert "Traceback" not in stderr, stderr
        return process.returncode, stdout, stderr

    return kanerva


def begin(folder: Path, *more: str) -> tuple[str, ...]:
    flags = (*SMALL_FLAGS, *SHORT, *OTHERS, "--device", "cpu", *more)
    return ("train", "glyphs", "--out", str(folder), *flags)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    processes = starting()
    process = next(processes)(*begin(folder))
    process.communicate(timeout=120)
    assert process.returncode == 0
    return folder


@pytest.fixture
def stopped(start, tmp_path) -> Path:
    """The same run, killed after some checkpoint."""
    folder = tmp_path / "run"
    process = start(*begin(folder))
    wait_for(folder, "checkpoint-00000012.safetensors")
    process.kill()
    process.communicate()
    for path in folder.glob("checkpoint-*"):  # as if it had been killed there
        if path.name > "checkpoint-00000012.safetensors":
            path.unlink()
    return folder


def rows(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [without_time(json.loads(line)) for line in lines]


def assert_same_numbers(one: Path, other: Path) -> None:
    tensors = [read_tensor_file(newest(folder))[0] for folder in (one, other)]
    assert newest(one).name == newest(other).name
    for name, value in tensors[0].items():
        assert value.equal(tensors[1][name]), name
    assert rows(one) == rows(other)


# -- resuming ------------------------------------------------------------------------------------


def test_the_folder_is_enough(kanerva, whole, stopped):
    code, _, stderr = kanerva("train", "--resume", str(stopped), "--device", "cpu")
    assert code == 0, stderr
    assert "step 12" in stderr
    assert_same_numbers(whole, stopped)


@pytest.mark.parametrize("form", ["recipe and folder", "--out", "no recipe", "="])
def test_other_ways_to_say_it(kanerva, whole, stopped, form):
    words = {
        "recipe and folder": ("train", "glyphs", "--resume", str(stopped)),
        "--out": ("train", "glyphs", "--out", str(stopped), "--resume", *SHORT),
        "no recipe": ("train", "--out", str(stopped), "--resume"),
        "=": ("train", f"--resume={stopped}", "--training.lr", "0.002"),
    }[form]
    code, _, stderr = kanerva(*words, "--device", "cpu")
    assert code == 0, stderr
    assert_same_numbers(whole, stopped)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--training.lr", "0.1"), ("training.lr", "0.002", "0.1", "--training.steps")),
        (("--training.steps", "18"), ("training.steps", "24", "18")),
        (("--out", "elsewhere"), ("--out", "elsewhere")),
        (("--training.lrr", "1"), ("--training.lr",)),
        (
            ("--data.name", "omniglot"),
            ("data.name glyphs there", "--data.name if the folder of images was moved"),
        ),
    ],
)
def test_other_settings_are_refused(kanerva, stopped, words, expected):
    before = sorted(path.name for path in stopped.iterdir())
    code, _, stderr = kanerva("train", "--resume", str(stopped), *words)
    assert code == 2
    assert len(stderr.splitlines()) == 1, stderr
    for word in expected:
        assert word in stderr
    assert sorted(path.name for path in stopped.iterdir() if path.name != "lock") == [
        name for name in before if name != "lock"
    ]


def test_another_recipe_is_refused(kanerva, stopped):
    code, _, stderr = kanerva("train", "tiny", "--resume", str(stopped))
    assert code == 2
    assert "glyphs" in stderr
    assert "tiny" in stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--resume",), ("--resume", "kanerva train --resume RUN")),
        (("--resume", "nowhere"), ("--resume", "nowhere", "checkpoint")),
        (("--device", "cpu"), ("recipe", "--resume RUN")),
        (("--resume", ""), ("--resume", "empty")),
        (("tiny", "--out", ""), ("--out", "empty")),
        (("tiny", "--out="), ("--out", "empty")),
    ],
)
def test_mistakes_are_one_line(kanerva, tmp_path, words, expected):
    code, stdout, stderr = kanerva("train", *words, cwd=tmp_path)
    assert (code, stdout) == (2, "")
    assert len(stderr.splitlines()) == 1, stderr
    for word in expected:
        assert word in stderr
    assert list(tmp_path.iterdir()) == []


def test_without_config_json_the_recipe_and_its_flags_do(kanerva, whole, stopped):
    (stopped / "config.json").write_text("{")
    code, _, stderr = kanerva("train", "--resume", str(stopped))
    assert code == 2
    assert "config.json" in stderr
    assert "kanerva train RECIPE" in stderr
    (stopped / "config.json").unlink()
    code, _, stderr = kanerva(*begin(stopped), "--resume")
    assert code == 0, stderr
    assert_same_numbers(whole, stopped)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_checkpoint_is_left_out(kanerva, whole, stopped, damage):
    assert len(list(stopped.glob("checkpoint-*"))) == 2
    path = newest(stopped)
    contents = bytearray(path.read_bytes())
    contents[-1000] ^= 1
    path.write_bytes(contents[:-100] if damage == "cut" else contents)
    code, _, stderr = kanerva("train", "--resume", str(stopped), "--device", "cpu")
    assert code == 0, stderr
    assert path.name in stderr
    assert "damaged" in stderr
    assert "checkpoint-00000006.safetensors" in stderr
    assert_same_numbers(whole, stopped)


def test_all_checkpoints_damaged(kanerva, stopped):
    for path in stopped.glob("checkpoint-*"):
        path.write_bytes(b"nothing")
    code, _, stderr = kanerva("train", "--resume", str(stopped))
    assert code == 2
    assert len(stderr.splitlines()) == 1
    assert "checkpoint" in stderr


def test_a_run_that_saved_nothing_starts_again(kanerva, start, whole, tmp_path):
    """Its settings are there and no checkpoint; the same command is enough."""
    folder = tmp_path / "run"
    process = start(*begin(folder, "--training.checkpoint-every", "1000"))
    wait_for(folder, "metrics.jsonl")
    process.kill()
    process.communicate()
    for path in folder.glob("checkpoint-*"):
        path.unlink()
    code, _, stderr = kanerva(*begin(folder, "--training.lr", "0.1"))
    assert code == 2
    assert "training.lr" in stderr
    settings = json.loads((folder / "config.json").read_text())
    settings["training"]["checkpoint_every"] = 6
    (folder / "config.json").write_text(json.dumps(settings))
    code, _, stderr = kanerva(*begin(folder))
    assert code == 0, stderr
    assert_same_numbers(whole, folder)


def test_a_run_that_measured_nothing_gives_its_folder_to_another(kanerva, whole, tmp_path):
    """One whose batch did not fit into memory, say: the next one has a smaller batch."""
    folder = tmp_path / "run"
    folder.mkdir()
    settings = json.loads((whole / "config.json").read_text())
    settings["training"]["batch"] = 1_000_000
    (folder / "config.json").write_text(json.dumps(settings))
    code, _, stderr = kanerva(*begin(folder))
    assert code == 0, stderr
    assert_same_numbers(whole, folder)


# -- extending -----------------------------------------------------------------------------------


def test_a_run_is_extended(kanerva, tmp_path):
    folder = tmp_path / "run"
    assert kanerva(*begin(folder))[0] == 0
    more = ("--training.steps", "36", "--device", "cpu")
    code, _, stderr = kanerva("train", "--resume", str(folder), *more)
    assert code == 0, stderr
    assert "learning rate" in stderr
    assert "from 24 to 36 steps" in stderr
    assert [row["step"] for row in rows(folder)] == [6, 12, 18, 24, 30, 36]
    settings = json.loads((folder / "config.json").read_text())
    assert settings["training"]["steps"] == 36
    assert settings["extended"] == [{"at_step": 24, "steps_before": 24, "steps": 36}]
    card = read_tensor_file(newest(folder))[1]["card"]
    assert isinstance(card, dict)
    assert card["extended"] == settings["extended"]
    assert "--training.steps 24" in card["command"]
    assert card["command"].endswith("kanerva train --resume RUN --training.steps 36")


def test_an_extended_run_can_be_stopped_like_any_other(kanerva, start, tmp_path):
    folders = [tmp_path / "whole", tmp_path / "parts"]
    for folder in folders:
        assert kanerva(*begin(folder))[0] == 0
    more = ("--training.steps", "36", "--device", "cpu")
    assert kanerva("train", "--resume", str(folders[0]), *more)[0] == 0
    process = start("train", "--resume", str(folders[1]), *more)
    wait_for(folders[1], "checkpoint-00000030.safetensors")
    process.kill()
    process.communicate()
    code, _, stderr = kanerva("train", "--resume", str(folders[1]), "--device", "cpu")
    assert code == 0, stderr
    assert_same_numbers(*folders)


# -- what it says --------------------------------------------------------------------------------


def test_it_says_where_it_saves(kanerva, tmp_path):
    _, _, stderr = kanerva(*begin(tmp_path / "run"))
    assert str(tmp_path / "run") in stderr.splitlines()[0]
    assert "every 6 steps" in stderr.splitlines()[0]


def test_the_command_that_it_names_continues(kanerva, start, tmp_path):
    folder = tmp_path / "a run"  # with a space
    words = (*begin(folder), "--training.steps", "100000", "--training.checkpoint-every", "100000")
    process = start(*words, "--data-folder", str(tmp_path))
    wait_for(folder, "metrics.jsonl")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    last = stderr.splitlines()[-1]
    assert "of 100,000" in last
    assert newest(folder).name in last
    command = f"kanerva train --resume '{folder}' --data-folder {tmp_path} --device cpu"
    assert last.endswith(command)
    again = start("train", "--resume", str(folder), "--data-folder", str(tmp_path))
    before = len(rows(folder))
    while len(rows(folder)) <= before:
        assert again.poll() is None
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=60)
    assert again.returncode == 143


def test_a_finished_run_says_so(kanerva, whole):
    before = [(path.name, path.stat().st_mtime_ns) for path in sorted(whole.glob("*.*"))]
    code, stdout, stderr = kanerva("train", "--resume", str(whole))
    assert code == 0
    assert "finished" in stderr
    assert f"kanerva train --resume {whole} --training.steps 48" in stderr
    code, stdout, stderr = kanerva("train", "--resume", str(whole), "--json")
    assert code == 0
    report = json.loads(stdout)
    assert (report["folder"], report["step"]) == (str(whole), 24)
    assert before == [(path.name, path.stat().st_mtime_ns) for path in sorted(whole.glob("*.*"))]


def test_cards_say_how_the_model_was_made(whole):
    card = read_tensor_file(newest(whole))[1]["card"]
    assert isinstance(card, dict)
    assert card["recipe"] == "glyphs"
    assert card["command"].startswith("kanerva train glyphs --model.num-filters 4")
    assert "--training.lr 0.002" in card["command"]
