"""`fetch`: download data sets from where they were published, with resume and checksum."""

import hashlib
import http.client
import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from kanerva.checks import check_one_of
from kanerva.data.paths import (
    FILE,
    FOLDER,
    NOTHING,
    in_words,
    resolve_data_folder,
    unreadable,
    what_is_at,
)
from kanerva.data.progress import progress_bar
from kanerva.errors import KanervaError

TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as lost."""
ATTEMPTS = 3
"""How many connections may break before we give up. Each continues where the last one ended."""
MAX_BYTES = 2 * 2**30
"""The most bytes of one file."""
_BLOCK = 2**18
_CONNECTION_ERRORS = (URLError, http.client.HTTPException, ConnectionError, TimeoutError)


class RemoteFile(NamedTuple):
    """A file that somebody published."""

    url: str
    md5: str | None
    """The checksum; None if it is not known. Then only the reader of the file checks it."""

    @property
    def filename(self) -> str:
        return self.url.rsplit("/", 1)[1]


_LAKE = "https://github.com/brendenlake/omniglot/raw/master/python/"
_OMNIGLOT = (
    RemoteFile(_LAKE + "images_background.zip", "68d2efa1b9178cc56df9314c21c6e718"),
    RemoteFile(_LAKE + "images_evaluation.zip", "6b91aef0f799c5bb55b94e3f2daec811"),
)
REMOTE_FILES = {
    "omniglot": _OMNIGLOT,
    "omniglot-alphabets": _OMNIGLOT,
    "handwriting": _OMNIGLOT,
    "omniglot-burda": (
        RemoteFile(
            "https://github.com/yburda/iwae/raw/master/datasets/OMNIGLOT/chardata.mat", None
        ),
    ),
    "cifar10": (
        RemoteFile(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
        ),
    ),
}


class FetchedFile(NamedTuple):
    """What `fetch` did with one file."""

    path: Path
    """Where the file is now."""
    state: str
    """In words: downloaded or already there, and whether its checksum is the published one."""


def fetch(
    name: str,
    *,
    data_folder: Path | str | None = None,
    mirror: str | None = None,
    show_progress: bool = True,
) -> list[FetchedFile]:
    """Download the files of a data set into the data folder.

    A file that is there already is kept. A broken download continues the next time.

    Args:
        name: omniglot, omniglot-alphabets, handwriting, omniglot-burda or cifar10.
        data_folder: the folder to put them in; by default KANERVA_DATA, else ./data.
        mirror: another address (http or https) that has the same files.
        show_progress: show a bar on stderr, if that is a terminal.

    Returns:
        One `FetchedFile(path, state)` for each file of the data set.

    Raises:
        KanervaError: the name is not known, a download failed, or a checksum is wrong.

    Example:
        >>> from kanerva.data import fetch
        >>> fetch("glyphs")
        []

    """
    if isinstance(name, str) and name == "glyphs":
        return []
    check_one_of("name", name, REMOTE_FILES)
    if mirror is not None and not _is_address(mirror):
        raise KanervaError(
            "mirror",
            expected="an address such as https://example.org/files, in ASCII without spaces",
            got=repr(mirror),
            fix="Files on this machine need no download: say where they are with --data-folder "
            "(in Python: data_folder=).",
        )
    folder = resolve_data_folder(data_folder)
    _make(folder)
    results = []
    for remote in REMOTE_FILES[name]:
        if mirror is not None:
            remote = remote._replace(url=f"{mirror.rstrip('/')}/{remote.filename}")
        results.append(download(remote, folder, show_progress=show_progress))
    return results


def _is_address(mirror: object) -> bool:
    if not isinstance(mirror, str) or not re.fullmatch(r"https?://[!-~]+", mirror):
        return False
    try:
        parts = urlsplit(mirror)
        (parts.hostname or "").encode("idna")
        return bool(parts.hostname) and parts.port != 0  # reading the port checks it
    except ValueError:
        return False


def _make(folder: Path) -> None:
    """Make the data folder if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = what_is_at(folder)
        raise KanervaError(
            "data_folder",
            expected=f"a folder at {folder} that can be written to",
            got=in_words(error) if found in (FOLDER, NOTHING) else found,
            fix="Name another folder with --data-folder (in Python: data_folder=).",
        ) from None


def download(remote: RemoteFile, folder: Path, *, show_progress: bool = True) -> FetchedFile:
    """Download one file. An incomplete one is called FILE.part; a later call continues it."""
    path = folder / remote.filename
    try:
        return _download(remote, path, show_progress)
    except OSError as error:  # those of the connection were caught before
        file = Path(os.fsdecode(error.filename)) if error.filename else path
        found = what_is_at(file)
        got = found if found not in (FILE, NOTHING) else in_words(error)
        raise KanervaError(
            str(file),
            expected="a file that can be written",
            got=got,
            fix="Free some space, or name another folder with --data-folder (in Python: "
            "data_folder=).",
        ) from None


def _download(remote: RemoteFile, path: Path, show_progress: bool) -> FetchedFile:
    found = what_is_at(path)
    if found not in (FILE, NOTHING):
        raise unreadable(path, found)
    if found == FILE:
        same = remote.md5 is None or _md5(path) == remote.md5
        note = "" if same else ", with another checksum than the published file"
        return FetchedFile(path, "already there" + note)
    part = path.with_name(path.name + ".part")
    for attempt in range(1, ATTEMPTS + 1):
        before = _size(part)
        try:
            _resume(remote, part, show_progress)
            break
        except _CONNECTION_ERRORS as error:
            stuck = _size(part) <= before
            if attempt == ATTEMPTS or (stuck and isinstance(error, URLError)):
                raise _failed(remote, path, part, error) from None
    if remote.md5 is not None and (got := _md5(part)) != remote.md5:
        part.unlink()
        raise KanervaError(
            remote.url,
            expected=f"a file with md5 {remote.md5}",
            got=got,
            fix="The download was deleted. Try again; if that does not help, the published file "
            "has changed: get it elsewhere, or pass a mirror.",
        )
    os.replace(part, path)
    checked = "checksum right" if remote.md5 else "no checksum is published"
    return FetchedFile(path, f"downloaded, {checked}")


def _resume(remote: RemoteFile, part: Path, show: bool) -> None:
    """Append what is missing to the part, or start again if the server cannot continue."""
    start = _size(part)
    headers = {"User-Agent": "kanerva"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response = urlopen(Request(remote.url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        whole = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
        if error.code == 416 and start:  # the server has no more: we have all of it, or too much
            if whole is None or int(whole[1]) != start:
                part.unlink()
                _resume(remote, part, show)
            return
        raise
    with response:
        match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        continues = response.status == 206 and match is not None and int(match[1]) == start
        if not continues:
            start = 0
        length = response.headers.get("Content-Length", "")
        end = start + int(length) if re.fullmatch(r"\d{1,18}", length) else None
        with (
            part.open("ab" if continues else "wb") as file,
            progress_bar(
                remote.filename, total=end, done=start, show=show, in_bytes=True
            ) as advance,
        ):
            while block := response.read(_BLOCK):
                if file.tell() + len(block) > MAX_BYTES:
                    raise KanervaError(
                        remote.url,
                        expected=f"a file of at most {MAX_BYTES:,} bytes",
                        got="more",
                        fix="This is not the published file. Check the address.",
                    )
                file.write(block)
                advance(len(block))
            file.flush()
            os.fsync(file.fileno())
    if end is not None and _size(part) < end:
        raise ConnectionError(f"the connection ended after {_size(part):,} of {end:,} bytes")


def _failed(remote: RemoteFile, path: Path, part: Path, error: Exception) -> KanervaError:
    kept = f"; {_size(part):,} bytes are kept and will be continued" if _size(part) else ""
    return KanervaError(
        remote.url,
        expected="an answer with the file",
        got=_reason(error) + kept,
        fix=f"Try again, or get the file elsewhere and put it at {path.resolve()}.",
    )


def _reason(error: Exception) -> str:
    cause = error.reason if type(error) is URLError else error  # it only wraps another error
    return " ".join((getattr(cause, "strerror", None) or str(cause)).split()) or repr(cause)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest()
