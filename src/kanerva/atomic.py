"""Writing files so that each one is complete or does not exist."""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from kanerva.checks import check_path
from kanerva.errors import KanervaError


def write_atomically(path: Path | str, contents: bytes) -> None:
    """Write a file; after a crash or on a full disk it is the old one or the new one, never half.

    The bytes go into a temporary file in the same folder, which then replaces the file. Missing
    folders are made. If `path` is a link, it remains one, and the file that it leads to is
    replaced. A file that was there before keeps its permissions.

    Args:
        path: the file to write. Pipes and devices are refused.
        contents: all of its bytes.

    Raises:
        KanervaError: the file cannot be written. What was there before is untouched.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "new" / "file.bin"
        ...     write_atomically(path, b"all of it")
        ...     path.read_bytes()
        b'all of it'

    """
    path = check_path("path", path)
    assert isinstance(contents, bytes), "text must be encoded first"
    try:
        _write(_target(path), contents)
    except OSError as error:
        got, fix = _reason(path, error)
        raise KanervaError(
            str(path),
            expected="a file that can be written",
            got=got,
            fix=f"{fix} Files that were there are untouched.",
        ) from None


def _target(path: Path) -> Path:
    """The path with all links followed."""
    try:
        return Path(os.path.realpath(path))
    except RecursionError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _write(path: Path, contents: bytes) -> None:
    permissions = _old_permissions(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name[:32]}.{secrets.token_hex(4)}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if permissions is not None:
                os.fchmod(descriptor, permissions)
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # the file is there; not every folder can be synchronised
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _old_permissions(path: Path) -> int | None:
    """Permissions of the file that is there; an error if something else is."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):  # all links were followed before, except those in a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    return stat.S_IMODE(mode)


def _reason(path: Path, error: OSError) -> tuple[str, str]:
    """Why a file could not be written, and what to do about it."""
    match error.errno:
        case errno.ELOOP:
            return "links that lead back to themselves", "Remove the link, or name another file."
        case errno.EISDIR:
            return "a folder", "Name a file, for example one inside it."
        case errno.ENXIO:
            return "a pipe, a socket or a device", "Name an ordinary file."
        case errno.ENOTDIR | errno.EEXIST:
            above = next(
                (str(one) for one in path.parents if os.path.isfile(one)), str(path.parent)
            )
            return f"{above}, a file where a folder should be", "Choose another folder."
        case errno.ENAMETOOLONG:
            return "a name that is too long", "Choose a shorter one, of at most 255 bytes."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "no permission to write there", "Choose another folder, or change permissions."
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return _words(error), "Free some space, or choose another disk."
    return _words(error), "Choose another folder."


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
