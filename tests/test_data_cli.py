"""`kanerva data list | info | fetch` as Python functions."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from data_cases import png
from kanerva import KanervaError
from kanerva.cli.data import DATA_COMMANDS, fetch_data, info, list_data


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KANERVA_DATA", raising=False)


def test_list(tmp_path, capsys):
    (tmp_path / "chardata.mat").write_bytes(b"")
    list_data(data_folder=tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert str(tmp_path) in lines[0]
    assert "omniglot           missing: kanerva data fetch omniglot" in lines[1]
    assert "omniglot-alphabets missing: kanerva data fetch omniglot-alphabets" in lines[2]
    assert "handwriting        missing: kanerva data fetch handwriting" in lines[3]
    assert "unseen-fonts       there: needs no files" in lines[4]
    assert f"there: {tmp_path / 'chardata.mat'}" in lines[5]
    assert "omniglot-gmn       missing: copy its files there" in lines[6]
    assert "glyphs             there: needs no files" in lines[8]
    list_data(data_folder=tmp_path, json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["data_folder"] == str(tmp_path)
    assert {name: entry["present"] for name, entry in report["datasets"].items()} == {
        "omniglot": False,
        "omniglot-alphabets": False,
        "handwriting": False,
        "unseen-fonts": True,
        "omniglot-burda": True,
        "omniglot-gmn": False,
        "cifar10": False,
        "glyphs": True,
    }


def test_info(tmp_path, capsys):
    folder = tmp_path / "mine"
    for kind in "ab":
        (folder / kind).mkdir(parents=True)
        for number in range(10):
            (folder / kind / f"{number}.png").write_bytes(png((128, 128, 128), 40, "RGB"))
    info(str(folder), json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["image_shape"] == [3, 32, 32]
    assert report["num_classes"] == 2
    assert report["encoding"] == "image files, Pillow resized to 32 x 32"
    assert {split: entry["images"] for split, entry in report["splits"].items()} == {
        "train": 16,
        "fit": 14,
        "valid": 2,
        "test": 4,
    }
    assert report["splits"]["test"]["mean_pixel"] == 0.5
    info(str(folder))
    text = capsys.readouterr().out
    assert "likelihood     gaussian" in text
    assert "test                 4 images of 2 classes, mean pixel 0.5000" in text


def test_info_of_a_folder_too_small_for_validation(tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.png").write_bytes(png(255, 40))
    info(str(folder), json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["splits"]["valid"]["images"] == 0
    assert report["splits"]["train"]["mean_pixel"] == 0  # light background without ink


def test_info_counts_what_was_skipped(tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.png").write_bytes(png(255, 40))
    (folder / "Thumbs.db").write_bytes(b"no image")
    info(str(folder), json=True)  # a warning would be an error here
    report = json.loads(capsys.readouterr().out)
    assert report["skipped_files"] == ["Thumbs.db"]
    assert report["source"] == str(folder)
    info(str(folder))
    assert "skipped files  1: Thumbs.db" in capsys.readouterr().out
    info("glyphs", json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["skipped_files"] == []
    assert report["source"] == "glyphs"
    info("glyphs")
    assert "skipped files  none" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path):
    for number in range(12):
        (tmp_path / f"{number}.png").write_bytes(png(255, 40))
    environment = os.environ | {"KANERVA_CACHE": str(tmp_path / "0.png" / "cache")}
    command = [sys.executable, "-m", "kanerva", "data", "info", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0
    assert done.stderr.count("set KANERVA_CACHE to a folder that can") == 1


def test_names_that_cannot_be_printed(tmp_path):
    """On a terminal that knows only ASCII, and with bytes that are no text at all."""
    folder = tmp_path / os.fsdecode(b"d\xff\xc3\xa4")
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.png").write_bytes(png(255, 40))
    (folder / "ä\n.db").write_bytes(b"no image")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "KANERVA_DATA": str(folder)}
    for args in (("info", folder), ("list",)):
        command = [sys.executable, "-m", "kanerva", "data", *args]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""


def test_mistakes_reach_the_user(tmp_path):
    with pytest.raises(KanervaError, match="no such folder"):
        info("omniglot", data_folder=tmp_path / "nowhere")
    with pytest.raises(KanervaError, match="name"):
        fetch_data("omnigot", data_folder=tmp_path)


def test_fetch_of_what_needs_no_file(tmp_path, capsys):
    fetch_data("glyphs", data_folder=tmp_path)
    assert capsys.readouterr().out == "glyphs needs no files\n"
    fetch_data("glyphs", data_folder=tmp_path, json=True)
    assert json.loads(capsys.readouterr().out) == {"dataset": "glyphs", "files": {}}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_mistake_in_the_middle_is_the_last_line_on_a_terminal(tmp_path):
    """The progress bar is removed and the cursor restored before the error is printed."""
    import pty

    for number in range(30):
        (tmp_path / f"{number:02d}.png").write_bytes(png(255, 40))
    (tmp_path / "20.png").write_bytes(b"broken")
    code = (
        "import sys; from kanerva.data import load_dataset\n"
        "try: load_dataset(sys.argv[1], 'train')\n"
        "except ValueError as error: print(error, file=sys.stderr)"
    )
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    subprocess.run(command, stderr=theirs, env=environment, check=True, timeout=60)
    os.close(theirs)
    screen = b""
    with contextlib.suppress(OSError):  # Linux raises it at the end
        while data := os.read(ours, 10_000):
            screen += data
    os.close(ours)
    bar, error = screen.rsplit(b"\x1b[?25h", 1)
    assert b"/30" in bar
    assert b"20.png: expected an image" in error


def test_the_commands_module_loads_nothing_heavy():
    code = (
        "import sys, kanerva.cli.data; "
        "print(sorted({'torch', 'numpy', 'PIL', 'rich.progress'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert set(DATA_COMMANDS) == {"list", "info", "fetch"}
