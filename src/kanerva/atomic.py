"""Writing files so that each one is complete or does not exist."""

import os
import tempfile
from pathlib import Path

from kanerva.errors import KanervaError


def write_atomically(path: Path, contents: bytes) -> None:
    """Write a file; after a crash or on a full disk it is the old one or the new one, never half.

    The bytes go into a temporary file in the same folder, which then replaces the file. Missing
    folders are made.

    Args:
        path: the file to write.
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
    try:
        _write(path, contents)
    except OSError as error:
        raise KanervaError(
            str(path),
            expected="a place to write to",
            got=(error.strerror or str(error)).lower(),
            fix="Free some space or choose another folder; files that were there are untouched.",
        ) from None


def _write(path: Path, contents: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o666 & ~_umask())
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _umask() -> int:
    """Permissions that new files of this process do not get; to ask, one must set them briefly."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
