"""Reading the files of folders, zip and tar archives that other people made, safely.

Archives are read in memory; nothing is unpacked to disk. Every reader yields (path, bytes). Each of
these is a `KanervaError`: a path that leads out of its archive, a link, a device, a file or an
archive that is far too large, a damaged archive.
"""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from kanerva.data.folder_contents import list_folder
from kanerva.data.paths import FILE, FOLDER, MAX_FILE, read_file, unreadable, what_is_at
from kanerva.errors import KanervaError

MAX_TOTAL = 4 * 2**30
"""The most bytes of a whole archive, unpacked."""
MAX_FILES = 2_000_000
"""The most files of a whole archive."""

_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError,
    NotImplementedError, RuntimeError, ValueError, IndexError, struct.error,
)  # fmt: skip


def read_files(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and bytes of every file of a folder, a zip or a tar archive.

    Files of an archive come in its own order, files of a folder sorted by name.
    """
    found = what_is_at(source)
    if found == FOLDER:
        yield from _read_folder(source)
        return
    if found != FILE:
        raise unreadable(source, found, expected="an archive or a folder")
    reader = _read_zip if source.suffix == ".zip" else _read_tar
    total = 0
    try:
        for count, (path, data) in enumerate(reader(source), start=1):
            total += len(data)
            if total > MAX_TOTAL or count > MAX_FILES:
                raise _refused(source, f"more than {MAX_TOTAL:,} bytes or {MAX_FILES:,} files")
            yield path, data
    except KanervaError:
        raise
    except _DAMAGED as error:
        raise KanervaError(
            str(source),
            expected=f"a whole {'zip' if source.suffix == '.zip' else 'tar'} archive",
            got=f"one that is damaged, cut short or of another kind ({_one_line(error)})",
            fix="Download it again; `kanerva data fetch` does this for the known data sets.",
        ) from None


def _read_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in list_folder(folder).files:
        yield path, read_file(folder / path)


def _read_zip(source: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            _check_path(source, info.filename)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise _refused(source, f"a link, {info.filename!r}")
            if info.is_dir():
                continue
            _check_size(source, info.filename, info.file_size)
            with archive.open(info) as file:  # never more than the size it states
                yield info.filename, file.read(info.file_size)


def _read_tar(source: Path) -> Iterator[tuple[str, bytes]]:
    with _decompressed(source) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for info in archive:
            _check_path(source, info.name)
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise _refused(source, f"a link or a special file, {info.name!r}")
            _check_size(source, info.name, info.size)
            file = archive.extractfile(info)
            assert file is not None
            data = file.read()
            if len(data) != info.size:
                raise EOFError(f"{info.name} ends early")
            yield info.name, data


def _decompressed(source: Path) -> IO[bytes]:
    with source.open("rb") as file:
        magic = file.read(6)
    kinds = {b"\x1f\x8b": _Gzip, b"\xfd7zXZ\x00": _Xz, b"BZh": _Bzip2}
    for start, kind in kinds.items():
        if magic.startswith(start):
            return kind(source)
    return _Plain(source)


class _Limited:
    """Refuses to read more at once than a file may have: a tar header can claim any size."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > MAX_FILE + 2**20:
            raise tarfile.ReadError("a header claims an absurd size")
        return super().read(size)  # pyright: ignore[reportAttributeAccessIssue]


class _Plain(_Limited, io.FileIO):
    pass


class _Gzip(_Limited, gzip.GzipFile):
    pass


class _Xz(_Limited, lzma.LZMAFile):
    pass


class _Bzip2(_Limited, bz2.BZ2File):
    pass


def _check_path(source: Path, name: str) -> None:
    windows = PureWindowsPath(name)
    absolute = PurePosixPath(name).is_absolute() or windows.drive or windows.root
    if absolute or ".." in windows.parts or "\0" in name:
        raise _refused(source, f"a path that leaves it, {name!r}")


def _check_size(source: Path, name: str, size: int) -> None:
    if size > MAX_FILE:
        raise _refused(source, f"a file of {size:,} bytes, {name!r}")


def _refused(source: Path, what: str) -> KanervaError:
    return KanervaError(
        str(source),
        expected="plain files of sensible size inside",
        got=what,
        fix="It is not used. Get the archive from where it was published.",
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
