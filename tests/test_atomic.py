"""Writing files: what a user may name as an output, and what is never replaced."""

import os
import stat

import pytest

from kanerva import KanervaError
from kanerva.atomic import write_atomically


def refused(path, match):
    with pytest.raises(KanervaError, match=match) as caught:
        write_atomically(path, b"new")
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def test_a_link_remains_a_link_and_its_target_is_written(tmp_path):
    target, link = tmp_path / "disk" / "real.png", tmp_path / "out.png"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link.symlink_to("disk/real.png")  # relative to the link, not to where we are
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert [path.name for path in target.parent.iterdir()] == ["real.png"]


def test_a_link_to_a_link_and_one_whose_target_is_not_there_yet(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "c")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").is_symlink()
    assert not (tmp_path / "c").is_symlink()
    assert (tmp_path / "c").read_bytes() == b"new"


def test_a_link_that_leads_to_itself(tmp_path):
    loop = tmp_path / "loop.png"
    loop.symlink_to(loop)
    error = refused(loop, "links that lead back to themselves")
    assert "Remove the link" in error.fix
    assert loop.is_symlink()
    refused(loop / "below.png", "links that lead back to themselves")


@pytest.mark.parametrize("path", ["", "   "])
def test_an_empty_path(path):
    refused(path, "expected the path of a file, got an empty one")


def test_a_string_is_a_path(tmp_path):
    write_atomically(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_folder_is_not_a_file(tmp_path, monkeypatch):
    (tmp_path / "out.png").mkdir()
    error = refused(tmp_path / "out.png", "got a folder")
    assert "inside it" in error.fix
    monkeypatch.chdir(tmp_path)
    refused(".", "got a folder")
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_bytes(b"kept")
    for path in (tmp_path / "file/out.png", tmp_path / "file/deeper/out.png"):
        error = refused(path, "a file where a folder should be")
        assert str(tmp_path / "file") in error.got
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_pipes_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "a pipe, a socket or a device")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_long_names(tmp_path):
    write_atomically(tmp_path / ("n" * 255), b"the longest")
    error = refused(tmp_path / ("n" * 256), "name")
    assert "shorter" in error.fix
    assert len(list(tmp_path.iterdir())) == 1


def test_names_that_cannot_be_printed_or_written(tmp_path):
    (tmp_path / "two\nlines").mkdir()
    refused(tmp_path / "two\nlines", "two.lines")
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    str(refused(tmp_path / os.fsdecode(b"\xff"), "udcff")).encode()
    refused(tmp_path / "a\0b", "zero byte")
    refused(None, "NoneType")
    refused(b"bytes", "bytes")


def test_permissions_of_an_old_file_are_kept_and_a_new_one_gets_the_usual_ones(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"private")
    old.chmod(0o600)
    mask = os.umask(0o027)
    try:
        for path in (old, new):
            write_atomically(path, b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_home_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_atomically("~/a.png", b"new")
    assert (tmp_path / "a.png").read_bytes() == b"new"
    refused("~nobody-has-this-name/a.png", "~nobody-has-this-name")


def test_a_folder_that_cannot_be_synchronised_is_no_failure(tmp_path, monkeypatch):
    """The file is there by then; an error would say that the old one is untouched."""
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_very_long_chain_of_links(tmp_path):
    for number in range(1500):
        (tmp_path / f"{number}").symlink_to(f"{number + 1}")
    refused(tmp_path / "0", "links")
    assert (tmp_path / "0").is_symlink()
