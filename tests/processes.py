"""Real `kanerva` processes for tests, none of which outlives its test."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from small_runs import KANERVA

Process = subprocess.Popen[str]
Start = Callable[..., Process]


def starting() -> Iterator[Start]:
    """The body of a fixture: a function that starts `kanerva WORDS`."""
    processes: list[Process] = []

    def start(*words: str, **options) -> Process:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [*KANERVA, *last_of_each_flag(words)]
        processes.append(subprocess.Popen(command, **{**pipes, **options}))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def last_of_each_flag(words: tuple[str, ...]) -> list[str]:
    """The words, where a later `--flag value` replaces an earlier one: kanerva takes each once."""
    kept = list(words)
    for index in range(len(words) - 1, -1, -1):
        flag = words[index]
        if flag.startswith("--") and flag in words[index + 1 :]:
            del kept[index : index + 2]
    return kept


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def wait_for(folder: Path, pattern: str) -> None:
    """Wait for a file."""
    wait_until(lambda: list(folder.glob(pattern)))


def newest(folder: Path) -> Path:
    """The newest checkpoint of a run folder."""
    return max(folder.glob("checkpoint-*.safetensors"))


def wait_for_progress(folder: Path, process: Process) -> None:
    """Wait for a newer checkpoint than the present one."""
    before = newest(folder)
    wait_until(lambda: process.poll() is not None or newest(folder) != before)
    assert process.poll() is None, process.communicate()
