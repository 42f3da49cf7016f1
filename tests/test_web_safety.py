"""What the server refuses: other hosts and origins, large bodies, bombs, paths, strangers."""

import base64
import contextlib
import http.client
import re
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import kanerva
from kanerva.web import guard, impatience, memories
from kanerva.web.background import serving
from kanerva.web.limits import MAX_BODY_BYTES, MAX_MEMORIES_OF_SESSION, MAX_PNG_PIXELS
from kanerva.web.memories import Memories
from web_cases import ask, drawings, new_session, pixels


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(model="omniglot", samples="omniglot") as address:
        yield address


def one_item(image: object) -> dict:
    return {"items": [{"image": image}]}


# -- who may ask -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[", "", "a:b:c"])
@pytest.mark.parametrize("path", ["/", "/api/about", "/openapi.json"])
def test_a_foreign_name_of_this_host_is_refused(url: str, host: str, path: str):
    """A page of another host can give its own name this address (DNS rebinding)."""
    assert ask(url, "GET", path, headers={"host": host}).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]:80", "LOCALHOST:1"])
def test_names_of_this_computer_are_fine(url: str, host: str):
    assert ask(url, "GET", "/api/about", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://[::1"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
    ids=str,
)
def test_pages_of_other_origins_are_refused(url: str, headers: dict[str, str]):
    refused = ask(url, "POST", "/api/memories", {"name": "theirs"}, headers=headers)
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers
    assert "set-cookie" not in refused.headers


def test_our_own_page_and_links_to_it_are_fine(url: str):
    own = {"origin": url.rstrip("/"), "sec-fetch-site": "same-origin"}
    assert ask(url, "POST", "/api/memories", {"name": "x"}, headers=own).status == 201
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert ask(url, "GET", "/", headers=link).status == 200


def test_beyond_this_computer_a_token_is_needed():
    with serving(model="omniglot", samples="omniglot", token="secret words") as url:
        for path in ("/", "/api/about", "/api/memories", "/openapi.json", "/app.js"):
            assert ask(url, "GET", path).status == 401
        wrong = {"authorization": "Bearer another"}
        assert ask(url, "GET", "/api/about", headers=wrong).status == 401
        right = {"authorization": "Bearer secret words"}
        assert ask(url, "GET", "/api/about", headers=right).status == 200
        moved = ask(url, "GET", "/?token=secret+words&a=1")
        assert (moved.status, moved.headers["location"]) == (303, "/?a=1")
        cookie = moved.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(url, "GET", "/", headers={"cookie": cookie.split(";")[0]}).status == 200
        assert kanerva.Client(url, token="secret words").names() == []
        with pytest.raises(kanerva.KanervaError, match="token"):
            kanerva.Client(url).names()


# -- sessions --------------------------------------------------------------------------------------


def test_each_session_has_its_own_memory(url: str):
    mine, yours = new_session(url), new_session(url)
    ask(url, "POST", "/api/memories/mine/items", one_item(pixels(drawings(1)[0])), headers=mine)
    counts = [
        ask(url, "GET", "/api/memories", headers=session).json["memories"][0]["num_items"]
        for session in (mine, yours)
    ]
    assert counts == [1, 0]
    assert ask(url, "GET", "/api/memories/mine/items").status == 404
    forged = {"cookie": mine["cookie"][:-3] + "abc"}
    assert ask(url, "GET", "/api/memories/mine/items", headers=forged).status == 404


def test_the_cookie_of_a_session_is_closed(url: str):
    cookie = ask(url, "POST", "/api/memories", {"name": "x"}).headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert str(urlsplit(url).port) in cookie  # other servers of this computer get it as well


def test_a_session_cannot_have_many_memories(url: str):
    session = new_session(url, "m0")
    for number in range(1, MAX_MEMORIES_OF_SESSION):
        made = ask(url, "POST", "/api/memories", {"name": f"m{number}"}, headers=session)
        assert made.status == 201
    assert ask(url, "POST", "/api/memories", {"name": "more"}, headers=session).status == 409


def test_all_sessions_together_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """The session that was not used for the longest time goes first, with its files."""
    monkeypatch.setattr(memories, "MAX_MEMORIES", 3)
    km = kanerva.load("omniglot")
    all_of_them = Memories(km, km, reference="omniglot", store=None)
    try:
        sessions = [all_of_them.create(None, "mine", stored=False)[0] for _ in range(3)]
        all_of_them.find(sessions[0], "mine")  # used again
        newest, _ = all_of_them.create(None, "mine", stored=False)
        alive = [bool(all_of_them.names(one)) for one in (*sessions, newest)]
        assert alive == [True, False, True, True]
        assert len(list(all_of_them._folder.glob("*.memory"))) == 3
    finally:
        all_of_them.close()
    assert not all_of_them._folder.exists()


# -- what may be sent ------------------------------------------------------------------------------


def test_a_large_body_is_refused_before_it_is_read(url: str):
    parts = urlsplit(url)
    head = f"POST /api/memories HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as one:
        one.sendall((head % (MAX_BODY_BYTES + 1)).encode())
        assert one.recv(100).startswith(b"HTTP/1.1 413")


def test_a_large_body_without_its_length_is_refused(url: str):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    chunk = b" " * 100_000
    status = 0
    with contextlib.closing(connection):
        connection.putrequest("POST", "/api/memories")
        connection.putheader("content-type", "application/json")
        connection.putheader("transfer-encoding", "chunked")
        connection.endheaders()
        try:
            for _ in range(2 * MAX_BODY_BYTES // len(chunk)):
                connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        except OSError:  # the server has closed it already
            pass
        with contextlib.suppress(OSError, http.client.HTTPException):
            status = connection.getresponse().status
    assert status in (0, 413)
    assert ask(url, "GET", "/api/about").status == 200


def png_header(width: int, height: int, data: bytes) -> str:
    """A PNG file that claims any size."""

    def chunk(kind: bytes, contents: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + contents))
        return struct.pack(">I", len(contents)) + kind + contents + checksum

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data)
    return "data:image/png;base64," + base64.b64encode(file + chunk(b"IEND", b"")).decode()


@pytest.mark.parametrize(
    "image",
    [
        png_header(60_000, 60_000, zlib.compress(bytes(10_000_000), 9)),
        png_header(MAX_PNG_PIXELS, 2, zlib.compress(b"")),
        png_header(28, 28, b"not compressed"),
        "data:image/png;base64,AAAA",
        "data:image/png;base64,!!!!",
        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
        "https://evil.example/a.png",
        "file:///etc/passwd",
        {"bytes": "AAAA"},
        {"bytes": "AAAA", "path": "/etc/passwd"},
        [[[0.5] * 28] * 27],
        [[[2.0] * 28] * 28],
        [[["1"] * 28] * 28],
        [[[None] * 28] * 28],
        7,
        None,
    ],
    ids=lambda image: str(image)[:30],
)
def test_what_is_no_image_is_refused(url: str, image: object):
    session = new_session(url)
    started = time.monotonic()
    refused = ask(url, "POST", "/api/memories/mine/items", one_item(image), headers=session)
    assert refused.status == 422, refused.body
    assert refused.json["error"]["fix"]
    assert time.monotonic() - started < 3
    assert ask(url, "GET", "/api/memories", headers=session).json["memories"][0]["num_items"] == 0


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "..%2f..%2fetc", "a/b", "a%00b", ".hidden", ".a.b", "x" * 101, "%C3%A4"],
)
def test_no_path_reaches_the_disk(tmp_path: Path, name: str):
    with serving(model="omniglot", samples="omniglot", store=tmp_path / "in" / "store") as url:
        before = sorted(tmp_path.rglob("*"))
        for method, path in (("GET", "state"), ("GET", "export"), ("GET", "items")):
            assert ask(url, method, f"/api/memories/{name}/{path}").status in (404, 405, 422)
        assert ask(url, "DELETE", f"/api/memories/{name}").status in (404, 405, 422)
        assert ask(url, "POST", "/api/memories", {"name": name}).status == 422
        assert ask(url, "GET", f"/{name}").status == 404
        assert sorted(tmp_path.rglob("*")) == before


def test_a_slow_request_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "MAX_REQUEST_S", 0.5)
    with serving(model="omniglot", samples="omniglot") as url:
        parts = urlsplit(url)
        head = f"POST /api/memories HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 9\r\n\r\n"
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as one:
            one.sendall(head.encode() + b"{")
            assert one.recv(100).startswith(b"HTTP/1.1 503")


def whole_answer(connection: socket.socket) -> bytes:
    """Head and body of an answer, which may come in pieces, on a connection that stays open."""
    head, _, body = connection.recv(10_000).partition(b"\r\n\r\n")
    length = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
    while len(body) < length:
        piece = connection.recv(10_000)
        assert piece, "the answer was cut off"
        body += piece
    return head


def test_connections_that_ask_nothing_are_closed(monkeypatch: pytest.MonkeyPatch):
    """Otherwise a few hundred of them keep everybody out."""
    monkeypatch.setattr(impatience, "MAX_HEADER_S", 0.5)
    with serving(model="omniglot", samples="omniglot") as url:
        parts = urlsplit(url)
        whole = f"GET /api/about HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        for whole_before in (False, True):
            for part in (b"GET / HT", whole[:-2]):
                with socket.create_connection((parts.hostname, parts.port), timeout=10) as one:
                    if whole_before:
                        one.sendall(whole)
                        assert whole_answer(one).startswith(b"HTTP/1.1 200")
                    one.sendall(part)
                    start = time.monotonic()
                    assert one.recv(10_000) == b""
                    assert 0.3 < time.monotonic() - start < 8
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as one:
            assert one.recv(10_000) == b""
        assert ask(url, "GET", "/api/about").status == 200


def test_every_answer_has_safe_headers(url: str):
    for path in ("/", "/docs", "/api/about", "/nothing", "/app.js"):
        headers = ask(url, "GET", path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert ask(url, "GET", "/", headers={"host": "evil"}).headers["referrer-policy"]


def test_the_page_loads_nothing_from_elsewhere():
    from kanerva.web.page_files import page_files

    files = page_files()
    assert {"/", "/docs", "/app.js", "/style.css"} <= set(files)
    for place, file in files.items():
        text = file.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, place
        assert len(text.splitlines()) <= 300
