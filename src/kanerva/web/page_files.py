"""The files of the page, read once when the server starts: no request reaches the disk."""

import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PLACES = {"index.html": "/", "api.html": "/docs"}
"""Files whose address is not their name."""


class PageFile(NamedTuple):
    """A file as it is sent."""

    body: bytes
    kind: str
    etag: str


def page_files() -> dict[str, PageFile]:
    """All files of the page by their address."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in KINDS:
            body = path.read_bytes()
            etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            place = PLACES.get(path.name, f"/{path.name}")
            found[place] = PageFile(body, KINDS[path.suffix], etag)
    return found
