"""`kanerva.Client` works like the local store, and its mistakes are ours."""

import pickle
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch

import kanerva
from kanerva import KanervaError
from kanerva.store import PartlyWrittenError
from kanerva.web.background import serving
from web_cases import drawings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[kanerva.Client]:
    with serving(model="omniglot", samples="omniglot", store=folder) as url:
        yield kanerva.Client(url)


def test_it_answers_as_the_local_store(client: kanerva.Client, tmp_path: Path):
    images = drawings(8)
    with kanerva.open(tmp_path) as store:
        store.create("notes", model="omniglot", ledger=True)
        client.create("notes")
        ids = [f"i{number}" for number in range(6)]
        for memories in (store, client):
            written = memories.write("notes", images[:6], ids=ids)
            assert (written.ids, written.num_written) == (ids, 6)
        mine, theirs = store.read("notes", images), client.read("notes", images)
        assert torch.allclose(mine.items, theirs.items, atol=2e-3)
        assert torch.allclose(mine.confidence, theirs.confidence, atol=1e-3)
        assert torch.equal(mine.known, theirs.known)
        assert torch.allclose(mine.codes, theirs.codes, atol=2e-3)
        assert torch.allclose(mine.weights, theirs.weights, atol=1e-3)
        here, there = store.forget("notes", ids[:2]), client.forget("notes", ids[:2])
        assert (here.before, here.after, here.ids) == (there.before, there.after, there.ids)
        one, other = store.info("notes"), client.info("notes")
        for field in ("num_items", "num_rows", "code_size", "state", "fingerprint", "model"):
            assert getattr(one, field) == getattr(other, field)
        client.export("notes", tmp_path / "theirs.safetensors")
        store.create_like("merged", [tmp_path / "theirs.safetensors"])
        assert store.merge("merged", [tmp_path / "theirs.safetensors"]) == one.state


def test_many_images_go_in_several_requests(client: kanerva.Client):
    client.create("many", stored=False)
    images = drawings(70)
    written = client.write("many", images.numpy())
    assert len(written.ids) == 70
    assert torch.equal(client.images("many"), images)
    assert client.read("many", images).known.shape == (70,)


def test_stored_memories_are_those_of_the_folder(client: kanerva.Client, folder: Path):
    client.create("kept")
    client.write("kept", drawings(2))
    with kanerva.open(folder) as store:
        assert store.info("kept").num_items == 2
        assert store.info("kept").model == "omniglot"
    assert "kept" in kanerva.Client(client._connection.url).names()


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:1", "ftp://a", "http://", 7, "http://[::1", "http://a:b", "http://a:0"],
)
def test_an_address_must_be_one(url):
    with pytest.raises(KanervaError, match="the address of a server"):
        kanerva.Client(url)


def test_an_address_that_is_wrong_does_not_show_the_token():
    with pytest.raises(KanervaError) as caught:
        kanerva.Client("127.0.0.1:8642/?token=secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["hush\nb", " hush", "ключ hush", "", 7])
def test_a_token_is_what_a_header_can_carry(token):
    with pytest.raises(KanervaError, match="token: expected a token of ASCII") as caught:
        kanerva.Client("http://127.0.0.1:9", token=token)
    assert "hush" not in str(caught.value)


def test_a_name_that_no_host_has():
    with pytest.raises(KanervaError, match="a server that answers"):
        kanerva.Client(f"http://{'a' * 70}.example").names()


def test_a_server_that_does_not_answer():
    with pytest.raises(KanervaError, match="kanerva serve"):
        kanerva.Client("http://127.0.0.1:9").names()


def test_a_server_of_something_else():
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(KanervaError, match="answers something else"):
            kanerva.Client(f"http://127.0.0.1:{server.server_port}").names()


def test_names_and_ids_are_those_of_the_local_store(client: kanerva.Client, folder: Path):
    """One memory or item whose name the server did not like would hide all others."""
    names = ["a.b", "x" * 65, "y" * 100, "._-".join("abc")]
    ids = ["note 17", "x.png", "a/b?c=1&id=2#%41", "ключ", "\x00\n", "z" * 3000, '"']
    with kanerva.open(folder) as store:
        for name in names[:2]:
            store.create(name, model="omniglot", ledger=True)
            store.write(name, drawings(len(ids)), ids=ids)
    for name in names[2:]:
        client.create(name)
        assert client.write(name, drawings(len(ids)), ids=ids).ids == ids
    assert set(names) <= set(client.names())
    for name in names:
        assert client.forget(name, ids[:1]).ids == ("note 17",)
        assert set(client.forget(name, ids[1:]).ids) == set(ids[1:])
        assert client.info(name).num_items == 0
        client.delete(name)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda client: client.write("nothing", drawings(1)), "nothing"),
        (lambda client: client.create("no name"), "name"),
        (lambda client: client.create("../up"), "name"),
        (lambda client: client.read("kept2", drawings(1)[0]), "T, channels, H, W"),
        (lambda client: client.read("kept2", 2 * drawings(1)), "between 0"),
        (lambda client: client.read("kept2", np.zeros((1, 1, 5, 5))), "28"),
        (lambda client: client.write("kept2", drawings(2), ids=["a"]), "one for each"),
        (lambda client: client.forget("kept2", ["unknown"]), "unknown"),
        (lambda client: client.forget("kept2", ["\ud800"]), "Unicode"),
        (lambda client: client.forget("kept2", [""]), "character"),
        (lambda client: client.create("a.safetensors"), "does not end in"),
        (lambda client: client.create("x" * 101), "name"),
        (lambda client: client.merge("kept2", ["unknown"]), "unknown"),
        (lambda client: client.generate("kept2", 1000), "num"),
        (lambda client: client.export("kept2", "a.txt"), "safetensors"),
    ],
)
def test_mistakes_have_a_fix(client: kanerva.Client, action, message: str):
    if "kept2" not in client.names():
        client.create("kept2")
    with pytest.raises(KanervaError, match=message) as error:
        action(client)
    assert error.value.fix


def test_a_server_that_answers_other_json(tmp_path: Path):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = kanerva.Client(f"http://127.0.0.1:{server.server_port}")
        images = drawings(2)
        for call in (
            client.names,
            lambda: client.write("a", images),
            lambda: client.read("a", images),
            lambda: client.forget("a", ["x"]),
            lambda: client.merge("a", ["b"]),
            lambda: client.info("a"),
            lambda: client.images("a"),
            lambda: client.generate("a", 2),
            lambda: client.interpolate("a", images[0], images[1]),
        ):
            with pytest.raises(KanervaError, match="answers something else"):
                call()
        target = tmp_path / "sums.safetensors"
        target.write_bytes(b"precious")
        with pytest.raises(KanervaError, match="something else"):
            client.export("a", target)
        assert target.read_bytes() == b"precious"
        server.shutdown()


def test_the_token_may_be_part_of_the_address():
    with serving(model="omniglot", samples="omniglot", token="secret-word-of-the-server") as url:
        with pytest.raises(KanervaError):
            kanerva.Client(url).names()
        for client in (
            kanerva.Client(f"{url}?token=secret-word-of-the-server"),
            kanerva.Client(url, token="secret-word-of-the-server"),
        ):
            assert client.names() == []
            copy = pickle.loads(pickle.dumps(client))
            assert copy.names() == []


def test_one_source_is_not_several(client: kanerva.Client):
    with pytest.raises(KanervaError, match=r"sources: .* a list"):
        client.merge("kept2", "ab")


def test_images_that_are_not_kept(client: kanerva.Client, folder: Path):
    client.create("with")
    assert client.images("with").numel() == 0
    with kanerva.open(folder) as store:
        store.create("without", model="omniglot")
        store.write("without", drawings(3))
    with pytest.raises(KanervaError, match="3 items, of which the server lists 0"):
        client.images("without")


def test_what_was_written_before_an_error_is_told(client: kanerva.Client):
    client.create("partly", stored=False)
    ids = [f"i{number}" for number in range(70)]
    with pytest.raises(PartlyWrittenError, match="64 items were written") as caught:
        client.write("partly", drawings(70), ids=[*ids[:69], "i0"])
    assert caught.value.written.ids == ids[:64]
    assert client.info("partly").num_items == 64


@pytest.mark.parametrize("facts", ["abc", {"a", "b", "c"}])
def test_ids_are_a_list(client: kanerva.Client, facts):
    client.create(f"list {type(facts).__name__}".replace(" ", "-"), stored=False)
    for argument in ("ids", "labels"):
        with pytest.raises(KanervaError, match="in order"):
            client.write(f"list-{type(facts).__name__}", drawings(3), **{argument: facts})


@pytest.mark.parametrize("rest", [b"", b'{"err'])
def test_an_error_that_is_cut_off(rest: bytes):
    """Of a proxy, or of a server that is stopping."""

    def answer() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 500\r\n\r\n" + rest)
        connection.close()

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        Thread(target=answer, daemon=True).start()
        client = kanerva.Client(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=5)
        with pytest.raises(KanervaError, match="a server that answers"):
            client.names()


def test_long_ids_and_large_requests(client: kanerva.Client):
    client.create("long", stored=False)
    with pytest.raises(KanervaError, match="5000 characters"):
        client.write("long", drawings(1), ids=["漢" * 5001])
    client.write("long", drawings(1), ids=["漢" * 5000])
    assert client.forget("long", ["漢" * 5000]).num_items == 1
    ids = [f"{number:02d}" + "漢" * 78 for number in range(64)]
    client.write("long", drawings(64), ids=ids)
    assert client.forget("long", ids).num_items == 64
    with pytest.raises(KanervaError, match="shorter labels and ids"):
        client.forget("long", ids * 5)
    with pytest.raises(KanervaError, match="at most 4,000,000 bytes"):
        client.write("long", drawings(64), labels=["y" * 100_000] * 64)
