"""Runs the application: the socket, the models, signals, and the browser."""

import contextlib
import re
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import quote

import uvicorn

from kanerva.errors import KanervaError
from kanerva.models.checkpoint import SHIPPED, load_memory_model
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.store import MemoryStore
from kanerva.store.images import find_model, model_fingerprint
from kanerva.web.app import Served, make_app
from kanerva.web.defaults import RECALL, SAMPLES, first_shipped
from kanerva.web.guard import LOCAL_NAMES
from kanerva.web.impatience import ImpatientProtocol
from kanerva.web.limits import MAX_CONNECTIONS, SHUTDOWN_S

PORT = 8642
"""Where the server listens, unless told; another one if this one is in use."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to serve. Names are those of the command's options."""

    model: str | None = None
    samples: str | None = None
    store: Path | None = None
    memory: Path | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    allow_host: tuple[str, ...] = ()
    token: str | None = None
    device: str = "cpu"


def is_local(host: str) -> bool:
    """Whether only this computer can reach an address."""
    return host in LOCAL_NAMES


def bound_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens; by default on PORT, or on a free port if that one is in use."""
    if port is None:
        try:
            return _bound(host, PORT)
        except OSError:
            port = 0
    try:
        return _bound(host, port)
    except OSError as error:
        raise KanervaError(
            "--port" if port else "--host",
            expected="an address of this computer and a port that is free",
            got=f"{host} port {port}: {(error.strerror or str(error)).lower()}",
            fix="Choose another --port; without it a free one is taken.",
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found


def load_served(wanted: Wanted, port: int) -> Served:
    """Load the models, and open the store."""
    folder = wanted.store if wanted.memory is None else wanted.memory.parent
    store = None if folder is None else MemoryStore(folder)
    page_memory = None if wanted.memory is None else wanted.memory.name.removesuffix(".memory")
    name = wanted.model or first_shipped(RECALL)
    if store is not None and page_memory is not None:
        name = wanted.model or _model_of(store, page_memory)
    recall, _ = find_model(name)
    if store is not None and page_memory is not None and wanted.model is not None:
        _check_model_of(store, page_memory, recall, wanted.model)
    recall = recall.to(wanted.device)
    if recall.config.image_shape[0] != 1 or recall.config.image_shape[1] > 64:
        raise KanervaError(
            "--model",
            expected="a model of drawings: one channel, at most 64 x 64 pixels",
            got=f"images of shape {recall.config.image_shape}",
            fix=f"Choose another one, for example {first_shipped(RECALL)}.",
        )
    samples_name = wanted.samples or _samples_for(recall, name)
    samples = recall if samples_name == name else load_memory_model(samples_name)[0]
    samples = samples.to(wanted.device)
    if samples.config.image_shape != recall.config.image_shape:
        raise KanervaError(
            "--samples",
            expected=f"a model of images of shape {recall.config.image_shape}, as --model",
            got=f"{samples.config.image_shape}",
            fix=f"Leave it out, or choose {name}.",
        )
    for other in wanted.allow_host:
        if not re.fullmatch(r"[\w.:\[\]-]+", other):
            raise KanervaError(
                "--allow-host",
                expected="the name of a host",
                got=f"'{other}'",
                fix="Leave out http:// and what comes after the name.",
            )
    hosts = (*LOCAL_NAMES, *wanted.allow_host)
    local = is_local(wanted.host)
    if not local:
        hosts = (*hosts, wanted.host, socket.gethostname())
    return Served(
        recall=recall,
        samples=samples,
        recall_name=name if name in SHIPPED else str(Path(name).absolute()),
        samples_name=samples_name,
        store=store,
        page_memory=page_memory,
        port=port,
        hosts=hosts,
        any_address=not local,
        token=wanted.token,
    )


def make_server(served: Served, on_ready: Callable[[], None] = lambda: None) -> "Server":
    """A server that is ready to run; `on_ready` is called when it answers."""
    config = uvicorn.Config(
        make_app(served),  # pyright: ignore[reportArgumentType]
        loop="asyncio",
        http=ImpatientProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(SHUTDOWN_S),
    )
    return Server(config, on_ready)


def open_page(url: str) -> None:
    """Open the page in the user's browser, without waiting for it."""

    def attempt() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(url)

    threading.Thread(target=attempt, daemon=True).start()


def url_of(host: str, port: int, token: str | None) -> str:
    """The address to open."""
    name = "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
    name = "[::1]" if name in ("::", "::1") else f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={quote(token)}" if token else "")


class Server(uvicorn.Server):
    """Ends after the first signal when all requests are answered, at the second at once."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.stopped_by = 0
        """The number of the signal that ended it."""
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # `nohup` ignores SIGHUP
                signal.signal(number, self._stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.stopped_by = self.stopped_by or number


def _model_of(store: MemoryStore, name: str) -> str:
    """The model that a stored memory was created with."""
    info = store.info(name)
    if info.kind != "images" or info.model is None or not info.ledger:
        ledger = "" if info.ledger else " without a ledger"
        raise KanervaError(
            "--memory",
            expected="a memory of images with a ledger, whose model has a name",
            got=f"'{name}', a memory of {info.kind}{ledger}",
            fix="Create one with: kanerva memory new FOLDER/NAME --model omniglot --ledger.",
        )
    return info.model


def _check_model_of(store: MemoryStore, name: str, recall: KanervaMachine, given: str) -> None:
    """Refuse a model that cannot read the memory of the page."""
    info = store.info(name)
    if info.fingerprint != model_fingerprint(recall):
        raise KanervaError(
            "--model",
            expected=f"the model of '{name}': {info.model or 'of another file'}",
            got=f"'{given}', another one",
            fix="Leave --model out.",
        )


def _samples_for(recall: KanervaMachine, name: str) -> str:
    """The model for new images; the one for recall itself if that is not a shipped one."""
    return first_shipped(SAMPLES) if name in SHIPPED else name
