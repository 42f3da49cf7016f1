"""One writer for each run folder: a lock that the system releases when its process ends."""

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from kanerva.data.paths import absolute, fix_for, in_words, what_is_at
from kanerva.errors import KanervaError

LOCK = "lock"
"""The file in a run folder that is locked. It says who trains there, and goes when that ends."""
HELD = (errno.EAGAIN, errno.EACCES)
"""Errors that mean: another process holds the lock."""
WRITES_WITHIN = 100
"""Hundredths of a second for which a holder that has not said who it is yet is waited for."""


@contextlib.contextmanager
def locked(folder: Path, *, argument: str = "--out") -> Iterator[None]:
    """Make the folder if it is missing, and keep every other training out of it.

    The lock belongs to this process. However the process ends, even by `kill -9`, the operating
    system releases it.

    Args:
        folder: the run folder.
        argument: the option that named the folder, for error messages.

    Raises:
        KanervaError: if another process trains there, or if the folder cannot be made.

    """
    with _made(folder, argument):
        descriptor = _acquire(folder, argument)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                (folder / LOCK).unlink(missing_ok=True)  # while it is held
            os.close(descriptor)


@contextlib.contextmanager
def _made(folder: Path, argument: str) -> Iterator[None]:
    """A folder that is made, and removed again if nothing was put there."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _no_folder(folder, argument, error) from None
        yield
    finally:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()


def _acquire(folder: Path, argument: str) -> int:
    """The descriptor of the locked file."""
    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except IsADirectoryError:
            raise KanervaError(
                argument,
                expected=f"a run folder whose '{LOCK}' is a file, or missing",
                got=f"'{path}', a folder",
                fix="Rename or remove that folder.",
            ) from None
        except OSError as error:
            raise _no_folder(folder, argument, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in HELD:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise _in_use(folder, argument, holder) from None
            warnings.warn(
                f"'{folder}' is on a file system without locks ({in_words(error)}); make sure that "
                "no other training uses it",
                stacklevel=2,
            )
        if _is_at(descriptor, path):
            owner = {"process": os.getpid(), "host": socket.gethostname()}
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(owner).encode())
            return descriptor
        os.close(descriptor)  # its holder removed the file in the meantime


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    """Who holds the lock, in words. A process that has just got it writes its number next."""
    for _ in range(WRITES_WITHIN):
        try:
            owner = json.loads(os.pread(descriptor, 1000, 0))
            process, host = int(owner["process"]), str(owner["host"])
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.01)
            continue
        return f"process {process}" + ("" if host == socket.gethostname() else f" on {host}")
    return "another process"


def _in_use(folder: Path, argument: str, holder: str) -> KanervaError:
    return KanervaError(
        argument,
        expected="a folder in which no other training runs",
        got=f"'{folder}', where {holder} is training",
        fix="Wait until it ends, stop it with Ctrl-C or kill, or name another folder.",
    )


def _no_folder(folder: Path, argument: str, error: OSError) -> KanervaError:
    """The error for a path that is no folder or cannot be written to."""
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        at = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
        found = what_is_at(at)
        got = f"'{absolute(at)}', {found}"
        fix = f"{fix_for(found)}" if at.is_symlink() else "Name a folder, for example runs/first."
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        got, fix = f"'{folder}', with no permission to write", "Name another folder."
    else:
        got, fix = f"'{folder}', {in_words(error)}", "Name another folder."
    return KanervaError(argument, expected="a folder for the run", got=got, fix=fix)
