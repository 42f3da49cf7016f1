"""A server in a thread of this process: for notebooks, examples and tests."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from kanerva.errors import KanervaError
from kanerva.web.server import Wanted, bound_socket, load_served, make_server, url_of

START_S = 30.0


@contextlib.contextmanager
def serving(
    *,
    model: str | None = None,
    samples: str | None = None,
    store: str | Path | None = None,
    token: str | None = None,
) -> Iterator[str]:
    """Serve the playground on this computer while the block runs.

    Args:
        model: the model that writes and reads; by default a shipped one.
        samples: the model that makes new images; by default a shipped one.
        store: a folder for memories that outlive the server.
        token: what requests must know; by default none.

    Yields:
        The address, for `kanerva.Client`.

    Example:
        >>> import kanerva
        >>> from kanerva.web.background import serving
        >>> with serving() as url:
        ...     kanerva.Client(url).names()
        []

    """
    folder = None if store is None else Path(store)
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        wanted = Wanted(model=model, samples=samples, store=folder, token=token)
        server = make_server(load_served(wanted, port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        _wait_for(server, thread)
        try:
            yield url_of("127.0.0.1", port, None)
        finally:
            server.should_exit = True
            thread.join(START_S)


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise KanervaError(
                "server", expected="a server that starts", got="none", fix="See what it printed."
            )
        time.sleep(0.01)
