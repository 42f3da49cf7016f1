"""What the tests of the playground share: a real server, plain HTTP, and a real browser."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from torch import Tensor

from kanerva.data import render_glyphs
from kanerva.data.pixels import THRESHOLD

REQUIRE = "KANERVA_REQUIRE_BROWSER"
"""Set to 1, a missing browser is a failure. CI sets it."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def drawings(num: int, *, first: int = 0) -> Tensor:
    """Different letterforms, (num, 1, 28, 28)."""
    classes = range(7 * first, 7 * (first + num), 7)
    return (render_glyphs(classes, seed=3) > THRESHOLD).float()


class Answer:
    """The answer to one request."""

    def __init__(self, found: http.client.HTTPResponse) -> None:
        self.status = found.status
        self.headers = found.headers
        self.body = found.read()

    @property
    def json(self) -> dict:
        return json.loads(self.body)


def ask(
    url: str,
    method: str,
    path: str,
    body: object = None,
    *,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request, with exactly these headers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    with contextlib.closing(connection):
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {} if body is None else {"content-type": "application/json"}
        connection.request(method, path, data, {**sent, **(headers or {})})
        return Answer(connection.getresponse())


def new_session(url: str, name: str = "mine") -> dict[str, str]:
    """The headers of a session with one empty memory."""
    made = ask(url, "POST", "/api/memories", {"name": name, "stored": False})
    assert made.status == 201, made.body
    return {"cookie": made.headers["set-cookie"].split(";")[0]}


def pixels(image: Tensor) -> list:
    """An image as the API takes it."""
    return image.tolist()


@contextlib.contextmanager
def command(*words: str | Path, **environment: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server as a user starts it; ends with the block. Gives the process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kanerva", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            assert process.stderr is not None
            raise RuntimeError(process.stderr.read())
        url = json.loads(line)["url"] if line.startswith("{") else line.split()[-1]
        yield process, url
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def need_browser() -> None:
    """Skip a test without a browser, or fail where one is required."""
    if CHROMIUM:
        return
    text = "no chromium here: the page itself was not tested (apt-get install chromium)"
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{text}, and {REQUIRE}=1 requires it")
    pytest.skip(text)


def state_of(url: str, session: dict[str, str], name: str = "mine") -> str:
    """The checksum of what a memory holds."""
    return ask(url, "GET", f"/api/memories/{name}/state", headers=session).json["state"]


def torch_images(images: list) -> Tensor:
    """Images of an answer in the form of arrays."""
    return torch.tensor(images)
