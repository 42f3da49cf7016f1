"""Downloads from a local server that can break off, refuse to resume, or answer wrongly."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from kanerva import KanervaError
from kanerva.data import fetch
from kanerva.data.download import REMOTE_FILES, RemoteFile, download

CONTENT = np.random.default_rng(0).bytes(1_000_000)
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT under any name, with ranges, as its server's attributes say."""

    server: "Server"  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self):
        self.server.requests.append(self.headers.get("Range"))
        if self.path.endswith("missing.zip"):
            self.send_error(404)
            return
        start = 0
        if self.server.ranges and (wanted := self.headers.get("Range")):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(CONTENT):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        if self.server.confused:
            start = 0
        self.send_response(206 if start or self.server.confused else 200)
        if start or self.server.confused:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        stop = self.server.breaks.pop(0) if self.server.breaks else len(CONTENT)
        self.wfile.write(CONTENT[start:stop])
        self.close_connection = True

    def log_message(self, format, *args):
        pass


class Server(ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges = True
        self.confused = False
        """Answers a request for a range with the whole file, as a range from 0."""
        self.breaks: list[int] = []
        """The byte at which each of the next answers breaks off."""
        self.requests: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_download(server, tmp_path):
    path, state = download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path)
    assert path.read_bytes() == CONTENT
    assert state == "downloaded, checksum right"
    assert names(tmp_path) == ["some.zip"]
    assert download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path).state == "already there"
    assert len(server.requests) == 1


def test_a_broken_connection_is_continued(server, tmp_path):
    server.breaks = [300_000, 700_000]
    path, _ = download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.requests == [None, "bytes=300000-", "bytes=700000-"]


def test_what_was_kept_is_continued_the_next_time(server, tmp_path):
    server.breaks = [100_000, 200_000, 300_000]
    remote = RemoteFile(f"{server.url}/some.zip", MD5)
    with pytest.raises(KanervaError, match="300,000 bytes are kept and will be continued"):
        download(remote, tmp_path)
    assert names(tmp_path) == ["some.zip.part"]
    assert download(remote, tmp_path).path.read_bytes() == CONTENT
    assert server.requests[-1] == "bytes=300000-"
    assert names(tmp_path) == ["some.zip"]


def test_a_server_that_cannot_continue(server, tmp_path):
    server.ranges = False
    (tmp_path / "some.zip.part").write_bytes(b"wrong" * 1000)
    assert (
        download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path).path.read_bytes() == CONTENT
    )


def test_a_server_that_continues_elsewhere(server, tmp_path):
    server.confused = True
    (tmp_path / "some.zip.part").write_bytes(CONTENT[:1000])
    assert (
        download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path).path.read_bytes() == CONTENT
    )


@pytest.mark.parametrize("part", [CONTENT, CONTENT + b"too much"])
def test_a_part_that_is_whole_or_more(server, tmp_path, part):
    (tmp_path / "some.zip.part").write_bytes(part)
    assert (
        download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path).path.read_bytes() == CONTENT
    )


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    with pytest.raises(KanervaError, match=f"md5 {'0' * 32}, got {MD5}"):
        download(RemoteFile(f"{server.url}/some.zip", "0" * 32), tmp_path)
    assert names(tmp_path) == []


def test_a_file_that_is_there_is_never_overwritten(server, tmp_path):
    (tmp_path / "some.zip").write_bytes(b"mine")
    state = download(RemoteFile(f"{server.url}/some.zip", MD5), tmp_path).state
    assert state == "already there, with another checksum than the published file"
    assert (tmp_path / "some.zip").read_bytes() == b"mine"
    assert server.requests == []


def test_no_server_and_no_such_file(server, tmp_path):
    with pytest.raises(KanervaError, match=r"404.*put it at .*missing\.zip") as caught:
        download(RemoteFile(f"{server.url}/missing.zip", None), tmp_path)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1  # asking again would not help
    gone = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(KanervaError, match=r"put it at .*some\.zip"):
        download(RemoteFile(f"{gone}/some.zip", None), tmp_path)
    assert names(tmp_path) == []


def test_fetch_by_name(server, tmp_path):
    (fetched,) = fetch("omniglot-burda", data_folder=tmp_path / "new", mirror=server.url + "/")
    assert fetched.path == tmp_path / "new" / "chardata.mat"
    assert fetched.state == "downloaded, no checksum is published"
    with pytest.raises(KanervaError, match="md5 68d2efa1b9178cc56df9314c21c6e718"):
        fetch("omniglot", data_folder=tmp_path, mirror=server.url)
    assert fetch("glyphs", data_folder=tmp_path) == []
    with pytest.raises(KanervaError, match="Did you mean 'cifar10'"):
        fetch("cifar", data_folder=tmp_path)
    with pytest.raises(KanervaError, match="mirror"):
        fetch("cifar10", data_folder=tmp_path, mirror="file:///etc")


def test_addresses():
    for remotes in REMOTE_FILES.values():
        for remote in remotes:
            assert remote.url.startswith("https://")
            assert remote.md5 is None or len(remote.md5) == 32
