"""Paths that a user may give by mistake or by malice: each one is one `KanervaError`."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kanerva
from data_cases import png
from kanerva import KanervaError
from kanerva.cli.data import fetch_data, info, list_data
from kanerva.data import fetch, load_dataset
from kanerva.data.paths import cache_folder


def drawing() -> bytes:
    """An image with ink."""
    return png(np.pad(np.zeros((20, 4), np.uint8), 10, constant_values=255))


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def loop(tmp_path) -> Path:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path / "loop"


def circle(tmp_path) -> Path:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    return tmp_path / "one"


def pipe(tmp_path) -> Path:
    os.mkfifo(tmp_path / "pipe.png")
    return tmp_path / "pipe.png"


def bound_socket(tmp_path) -> Path:
    os.chdir(tmp_path)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.png")
    return tmp_path / "socket.png"


def nowhere(tmp_path) -> Path:
    return tmp_path / "nowhere" / "at all.png"


def below_a_file(tmp_path) -> Path:
    (tmp_path / "file.png").write_bytes(png())
    return tmp_path / "file.png" / "a.png"


def broken_link(tmp_path) -> Path:
    (tmp_path / "link.png").symlink_to(tmp_path / "missing.png")
    return tmp_path / "link.png"


def empty_folder_named_as_an_image(tmp_path) -> Path:
    (tmp_path / "folder.png").mkdir()
    return tmp_path / "folder.png"


def chain(tmp_path) -> Path:
    for number in range(1500):
        (tmp_path / f"chain{number}").symlink_to(f"chain{number + 1}")
    return tmp_path / "chain0"


MISTAKES = {
    "chain": (chain, "a link that leads back to itself"),
    "loop": (loop, "a link that leads back to itself"),
    "circle": (circle, "a link that leads back to itself"),
    "below a loop": (lambda tmp_path: loop(tmp_path) / "x", "a link that leads back to itself"),
    "pipe": (pipe, "a pipe"),
    "socket": (bound_socket, "a socket"),
    "device": (lambda _: Path("/dev/zero"), "a device"),
    "nowhere": (nowhere, "nothing there"),
    "below a file": (below_a_file, "nothing there"),
    "broken link": (broken_link, "a link that leads to nothing"),
    "long name": (lambda tmp_path: tmp_path / ("n" * 300), "a name that is too long"),
    "long path": (lambda tmp_path: tmp_path / ("d/" * 3000), "a name that is too long"),
    "newline": (lambda tmp_path: tmp_path / "two\nlines.png", "nothing there"),
    "not UTF-8": (lambda tmp_path: tmp_path / os.fsdecode(b"\xff.png"), "nothing there"),
    "zero byte": (lambda tmp_path: tmp_path / "a\0b.png", "zero byte"),
    "empty": (lambda _: "", "an empty one"),
    "bytes": (lambda _: b"a.png", "bytes"),
    "number": (lambda _: 3, "int"),
    "nobody's home": (lambda _: "~no-such-user/a.png", "~no-such-user"),
    "folder": (empty_folder_named_as_an_image, "a folder without any"),
}


def one_line(error: KanervaError) -> str:
    text = str(error)
    assert len(text.splitlines()) == 1
    text.encode()  # it can be printed
    assert error.fix.endswith((".", "?"))
    return text


@pytest.mark.parametrize("mistake", MISTAKES)
def test_images_that_cannot_be_read(tmp_path, mistake):
    make, words = MISTAKES[mistake]
    path = make(tmp_path)
    with pytest.raises(KanervaError) as caught:
        kanerva.read_images(path)
    assert words in one_line(caught.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_folders_that_are_no_data_sets(tmp_path, mistake):
    make, words = MISTAKES[mistake]
    path = make(tmp_path)
    with pytest.raises(KanervaError) as caught:
        load_dataset(path, "train")
    words = "got none" if mistake == "folder" else words
    assert words in one_line(caught.value)
    assert caught.value.argument == "name"


NO_FOLDER = [name for name in MISTAKES if name != "folder"]


@pytest.mark.parametrize("mistake", NO_FOLDER)
@pytest.mark.parametrize("name", ["omniglot", "omniglot-burda", "cifar10"])
def test_data_folders(tmp_path, mistake, name):
    make, _ = MISTAKES[mistake]
    path = make(tmp_path)
    with pytest.raises(KanervaError) as caught:
        load_dataset(name, "train", data_folder=path)
    assert "data_folder" in one_line(caught.value)


@pytest.mark.parametrize("mistake", ["loop", "circle", "device", "long name", "nobody's home"])
def test_the_environment_variable(tmp_path, monkeypatch, mistake):
    make, words = MISTAKES[mistake]
    monkeypatch.setenv("KANERVA_DATA", str(make(tmp_path)))
    with pytest.raises(KanervaError) as caught:
        load_dataset("omniglot", "train")
    assert words in one_line(caught.value)
    assert "KANERVA_DATA" in str(caught.value)
    with pytest.raises(KanervaError):
        info("omniglot")
    if mistake == "nobody's home":
        with pytest.raises(KanervaError):
            list_data()
    else:
        list_data()


@pytest.mark.parametrize("mistake", ["loop", "pipe", "device", "below a file", "long name"])
def test_downloads_have_a_folder_to_go_to(tmp_path, mistake):
    make, _ = MISTAKES[mistake]
    path = make(tmp_path)
    for call in (fetch, fetch_data):
        with pytest.raises(KanervaError) as caught:
            call("omniglot", data_folder=path, mirror="http://127.0.0.1:9/")
        assert "data_folder" in one_line(caught.value)


def test_an_image_in_a_folder_that_leads_nowhere(tmp_path):
    """An image that is missing is not skipped; other things are."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.png").write_bytes(drawing())
    (folder / "b.png").symlink_to("b.png")
    for call in (kanerva.read_images, lambda path: load_dataset(path, "train")):
        with pytest.raises(KanervaError, match=r"b\.png: .*a link that leads back to itself"):
            call(folder)
    (folder / "b.png").unlink()
    (folder / "b.png").symlink_to("c.png")
    for call in (kanerva.read_images, lambda path: load_dataset(path, "train")):
        with pytest.raises(KanervaError, match=r"b\.png: .*a link that leads to nothing"):
            call(folder)


def test_links_in_a_circle_of_folders_are_entered_once(tmp_path):
    folder = tmp_path / "mine"
    (folder / "a").mkdir(parents=True)
    for number in range(5):
        (folder / "a" / f"{number}.png").write_bytes(drawing())
    (folder / "a" / "up").symlink_to(folder)
    assert len(load_dataset(folder, "train")) == 4


def test_names_that_cannot_be_printed(tmp_path):
    folder = tmp_path / "two\nlines"
    for kind in (b"\xff\xfe", b"\xf0\x9f\x8e\xa8", b"a\rb"):
        (folder / os.fsdecode(kind)).mkdir(parents=True)
        for number in range(5):
            (folder / os.fsdecode(kind) / f"{number}.png").write_bytes(drawing())
    first, second = (load_dataset(folder, "train") for _ in range(2))
    assert len(first) == 12
    assert first.class_names == second.class_names
    assert len(list((tmp_path / "cache").iterdir())) == 1
    repr(first)
    (folder / os.fsdecode(b"\xff\xfe") / "0.png").write_bytes(b"broken")
    with pytest.raises(KanervaError) as caught:
        load_dataset(folder, "train")
    assert "0.png" in one_line(caught.value)


def test_a_folder_with_the_longest_name_is_cached(tmp_path):
    folder = tmp_path / ("n" * 255)
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.png").write_bytes(drawing())
    assert load_dataset(folder, "train").name == "n" * 255  # a warning would be an error here
    assert len(list((tmp_path / "cache").iterdir())) == 1


AS_NOBODY = """
import os, sys
import rich.progress
from PIL import Image
from kanerva import KanervaError, read_images
from kanerva.data import load_dataset
Image.init()  # all modules are loaded: nobody may not read where Python is installed
os.setgid(65534); os.setuid(65534)
for call in (read_images, lambda path: load_dataset(path, "train")):
    try:
        print("read", call(sys.argv[1]))
    except KanervaError as error:
        print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("locked", ["", "a", "a/1.png"])
def test_files_without_permission(locked):
    """As root everything may be read, so another user tries."""
    import tempfile

    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o755)
        folder = Path(parent) / "mine"
        (folder / "a").mkdir(parents=True)
        for number in range(5):
            (folder / "a" / f"{number}.png").write_bytes(drawing())
        (folder / locked).chmod(0)
        environment = os.environ | {"KANERVA_CACHE": f"{parent}/cache"}
        command = [sys.executable, "-c", AS_NOBODY, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        lines = done.stdout.splitlines()
        assert len(lines) == 2, done.stderr
        for line in lines:
            assert str(folder / locked) in line
            assert "no permission to read it" in line


def test_where_the_cache_is(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("KANERVA_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "kanerva"
    for ignored in ("", "not/absolute"):  # as the XDG specification says
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache_folder() == home / ".cache" / "kanerva"
    monkeypatch.setenv("KANERVA_CACHE", "~/mine")
    assert cache_folder() == home / "mine"
    monkeypatch.setenv("KANERVA_CACHE", "")
    assert cache_folder() == home / ".cache" / "kanerva"


@pytest.mark.parametrize("name", [None, 3, ["omniglot"], b"omniglot"])
def test_names_of_data_sets_are_words(name):
    with pytest.raises(KanervaError, match="name"):
        load_dataset(name, "train")
