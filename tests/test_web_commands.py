"""`kanerva play` and `kanerva serve` as a user starts and ends them."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import kanerva
from web_cases import ask, command, drawings


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "kanerva", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_it_and_keeps_what_is_stored(tmp_path: Path, number: int, code: int):
    with command("serve", "--port", "0", "--json", "--store", tmp_path) as (process, url):
        client = kanerva.Client(url)
        client.create("notes")
        client.write("notes", drawings(3))
        process.send_signal(number)
        _, complaint = process.communicate(timeout=20)
        assert process.returncode == code
        assert complaint == "kanerva: stopped; stored memories are kept\n"
    with kanerva.open(tmp_path) as store:
        assert store.info("notes", verify=True).num_items == 3
    assert [path.name for path in tmp_path.iterdir()] == ["notes.memory"]


def test_kill_9_loses_nothing_that_was_written(tmp_path: Path):
    with command("serve", "--port", "0", "--json", "--store", tmp_path) as (process, url):
        client = kanerva.Client(url)
        client.create("notes")
        client.write("notes", drawings(3))
        process.kill()
        process.wait()
        with pytest.raises(kanerva.KanervaError, match="answers"):
            client.names()
    with command("serve", "--port", "0", "--json", "--store", tmp_path) as (_, url):
        assert kanerva.Client(url).info("notes").num_items == 3
        assert (kanerva.Client(url).images("notes") == drawings(3)).all()


def test_sessions_of_a_killed_server_are_removed(tmp_path: Path):
    environment = {"TMPDIR": str(tmp_path)}
    with command("serve", "--port", "0", "--json", **environment) as (process, url):
        kanerva.Client(url).create("mine")
        assert len(list(tmp_path.glob("kanerva-sessions-*/*.memory"))) == 1
        process.kill()
        process.wait()
    assert list(tmp_path.glob("kanerva-sessions-*"))
    with command("serve", "--port", "0", "--json", **environment) as (process, url):
        assert len(list(tmp_path.glob("kanerva-sessions-*"))) == 1
    assert not list(tmp_path.glob("kanerva-sessions-*"))


def test_play_opens_the_browser_and_serves_a_stored_memory(tmp_path: Path):
    """The browser here is a script that writes down the address."""
    with kanerva.open(tmp_path / "memories") as store:
        store.create("notes", model="omniglot", ledger=True)
        store.write("notes", drawings(2), labels=["a", "b"])
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    words = ("play", "--port", "0", "--memory", tmp_path / "memories" / "notes")
    with command(*words, BROWSER=f"{browser} %s") as (_, url):
        about = ask(url, "GET", "/api/about").json
        assert about["page_memory"] == "notes"
        items = ask(url, "GET", "/api/memories/notes/items?format=array").json["items"]
        assert [one["label"] for one in items] == ["a", "b"]
        found = drawings(2)[0].flatten() @ kanerva_image(items[0]).flatten()
        assert found > 0.5 * drawings(2)[0].sum()  # without its picture: what its code looks like
        for _ in range(100):
            if seen.exists():
                break
            signal.sigtimedwait([], 0.1)
        assert seen.read_text().strip() == url


def test_a_memory_without_a_ledger_cannot_be_shown(tmp_path: Path):
    with kanerva.open(tmp_path) as store:
        store.create("sums", model="omniglot")
    done = run("serve", "--port", "0", "--memory", tmp_path / "sums")
    assert done.returncode == 2
    assert "ledger" in done.stderr


def test_another_model_cannot_show_a_memory(tmp_path: Path):
    with kanerva.open(tmp_path) as store:
        store.create("notes", model="handwriting", ledger=True)
    words = ("--memory", tmp_path / "notes", "--model", "omniglot")
    done = run("serve", "--port", "0", *words)
    assert done.returncode == 2
    assert "--model: expected the model of 'notes': handwriting, got 'omniglot'" in done.stderr


def kanerva_image(item: dict):
    import torch

    return torch.tensor(item["image"])


def test_a_taken_port_is_an_error_or_another_one_is_found(monkeypatch: pytest.MonkeyPatch):
    from kanerva.web import server

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run("serve", "--port", str(port))
        assert done.returncode == 2
        assert "--port" in done.stderr
        assert done.stderr.count("\n") == 1
        monkeypatch.setattr(server, "PORT", port)
        with server.bound_socket("127.0.0.1", None) as found:
            assert found.getsockname()[1] != port


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "nothing"), "nothing there"),
        (("--model", "omniglot-vae"), "Kanerva Machine"),
        (("--samples", "nothing"), "nothing there"),
        (("--host", "192.0.2.7"), "--host"),
        (("--port", "70000"), "--port"),
        (("--allow-host", "http://x/"), "name of a host"),
        (("--memory", "a/b", "--store", "a"), "--store"),
        (("--memory", "missing/b"), "name"),
        (("--store", "pyproject.toml"), "a file"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str):
    done = run("serve", *words, *([] if "--port" in words else ["--port", "0"]))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_token_that_no_client_can_send(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KANERVA_TOKEN", "ключ")
    done = run("serve", "--port", "0")
    assert done.returncode == 2
    assert "KANERVA_TOKEN: expected a token of ASCII" in done.stderr
    assert "ключ" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_beyond_this_computer_it_prints_a_token():
    with command("serve", "--host", "0.0.0.0", "--port", "0") as (_, url):
        token = re.search(r"\?token=([\w-]{20,})$", url)
        assert token is not None
        assert ask(url, "GET", "/api/about").status == 401
        headers = {"authorization": f"Bearer {token[1]}"}
        assert ask(url, "GET", "/api/about", headers=headers).status == 200
        assert (
            ask(url, "GET", "/api/about", headers={**headers, "host": "evil.example"}).status == 421
        )


def test_without_its_packages_the_command_says_what_to_install(tmp_path: Path):
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('no', name='fastapi')\n")
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no', name='uvicorn')\n")
    done = run("play", "--port", "0", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "kanerva[web]" in done.stderr


def test_the_client_needs_no_server_packages():
    code = (
        "import sys, kanerva; kanerva.Client('http://127.0.0.1:9'); "
        "assert not {'fastapi', 'uvicorn', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_help_needs_no_torch():
    code = (
        "import sys\nfrom kanerva.cli.commands import parse\n"
        "try: parse(['play', '--help'])\nexcept SystemExit: pass\n"
        "assert not {'torch', 'fastapi', 'uvicorn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
