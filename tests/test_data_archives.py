"""Archives and images that other people made: damaged, hostile, or of another kind."""

import struct
import tarfile
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from data_cases import png, write_tar, write_zip
from kanerva import KanervaError
from kanerva.data import archives, image_files
from kanerva.data.archives import read_files
from kanerva.data.paths import MAX_FILE


def refusal(source) -> str:
    with pytest.raises(KanervaError) as caught:
        list(read_files(source))
    message = str(caught.value)
    assert "\n" not in message
    assert str(source) in message
    return message


CONTENTS = {"a/one.txt": b"1" * 5000, "a/two.txt": bytes(range(256)) * 40, "b/three.txt": b""}
KINDS = {"x.zip": "", "x.tar": "w:", "x.tar.gz": "w:gz", "x.tar.xz": "w:xz", "x.tar.bz2": "w:bz2"}


def archive_of(folder, name, contents=CONTENTS):
    path = folder / name
    return write_zip(path, contents) if name == "x.zip" else write_tar(path, contents, KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_archives_give_their_files(tmp_path, name):
    assert dict(read_files(archive_of(tmp_path, name))) == CONTENTS


def test_a_folder_gives_its_files_but_not_hidden_ones(tmp_path):
    for name, data in (
        CONTENTS | {".hidden": b"", "__MACOSX/a.png": b"", "a/.DS_Store": b""}
    ).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert dict(read_files(tmp_path)) == CONTENTS


def test_links_to_folders_are_followed_once(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.txt").write_bytes(b"x")
    folder = tmp_path / "folder"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "up").symlink_to(folder)
    (folder / "b").symlink_to(tmp_path / "elsewhere")
    (folder / "gone").symlink_to(tmp_path / "nowhere")
    assert list(read_files(folder)) == [("b/x.txt", b"x")]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_truncated(tmp_path, name, kept):
    path = archive_of(tmp_path, name)
    data = path.read_bytes()
    if name == "x.tar":
        data = data[:10_000]  # the rest is only empty blocks
    path.write_bytes(data[: int(len(data) * kept)])
    assert "damaged, cut short or of another kind" in refusal(path)


@pytest.mark.parametrize("name", KINDS)
def test_files_of_another_kind(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"<html>404 not found</html>" * 100)
    assert "of another kind" in refusal(path)


def test_damaged_inside(tmp_path):
    path = archive_of(tmp_path, "x.zip", {"a": np.random.default_rng(0).bytes(4000)})
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("kind", ["x.zip", "x.tar.gz"])
@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "C:\\evil", "..\\evil", "C:/evil"]
)
def test_paths_that_escape(tmp_path, kind, name):
    assert "a path that leaves it" in refusal(archive_of(tmp_path, kind, {"good": b"", name: b""}))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_pipes_in_tar(tmp_path, kind):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    assert "a link or a special file" in refusal(path)


def test_links_in_zip(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    assert "a link" in refusal(path)


@pytest.mark.parametrize("kind", ["x.zip", "x.tar.gz"])
def test_a_file_that_is_too_large_when_unpacked(tmp_path, kind):
    path = archive_of(tmp_path, kind, {"bomb": bytes(MAX_FILE + 1)})
    assert path.stat().st_size < 2**20
    assert f"{MAX_FILE + 1:,} bytes" in refusal(path)


@pytest.mark.parametrize("kind", ["x.zip", "x.tar.gz"])
def test_an_archive_that_is_too_large_when_unpacked(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL", 10_000)
    path = archive_of(tmp_path, kind, {str(number): bytes(3000) for number in range(4)})
    assert "more than 10,000 bytes" in refusal(path)
    monkeypatch.setattr(archives, "MAX_TOTAL", 12_000)
    assert len(list(read_files(path))) == 4
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    assert "3 files" in refusal(path)


def test_a_zip_that_lies_about_a_size(tmp_path):
    """It states 10 bytes and contains 50 MB: no more than 10 bytes are unpacked."""
    path = archive_of(tmp_path, "x.zip", {"a": bytes(50_000_000)})
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 50_000_000), struct.pack("<I", 10)))
    tracemalloc.start()
    assert "damaged" in refusal(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_tar_header_of_absurd_size(tmp_path):
    """Long names are read before the file; a name of 8 GB must not be read."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 8 * 2**30 - 1
    for name in ("x.tar", "x.tar.gz"):
        data = info.tobuf() + bytes(10_000)
        if name == "x.tar.gz":
            packer = zlib.compressobj(wbits=31)
            data = packer.compress(data) + packer.flush()
        path = tmp_path / name
        path.write_bytes(data)
        assert "absurd size" in refusal(path)


@pytest.mark.parametrize("broken", [b"", b"GIF89a", b"%!PS-Adobe-3.0 EPSF-3.0", png()[:60]])
def test_images_that_are_none(broken):
    with pytest.raises(KanervaError, match=r"^here\.png: expected an image \(PNG"):
        image_files.open_image(broken, "here.png")


def test_images_with_too_many_pixels():
    for side in (11_000, 60_000):
        header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n"
        for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100)))):
            data += struct.pack(">I", len(content)) + kind + content
            data += struct.pack(">I", zlib.crc32(kind + content))
        with pytest.raises(KanervaError, match="more than 100,000,000"):
            image_files.open_image(data, "bomb.png")


def test_images_become_upright_opaque_squares():
    clear = np.zeros((40, 20, 4), np.uint8)
    clear[10:30, :10] = (255, 0, 0, 255)
    image = image_files.open_image(png(clear), "clear.png")
    array = image_files.to_array(image, size=20, grey=False)
    assert array.shape == (3, 20, 20)  # the middle square: half red, half white
    assert array[:, 10, 2].tolist() == [255, 0, 0]
    assert array[:, 10, 18].tolist() == [255, 255, 255]
    deep = image_files.open_image(png(np.full((9, 9), 128 * 257, np.uint16)), "deep.png")
    assert np.unique(image_files.to_array(deep, size=5, grey=True)).tolist() == [128]
