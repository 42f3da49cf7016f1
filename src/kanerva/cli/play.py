"""`kanerva play` and `kanerva serve`: the playground in the browser, and its HTTP API."""

from __future__ import annotations

from pathlib import Path


def play(
    *,
    model: str | None = None,
    samples: str | None = None,
    memory: Path | None = None,
    store: Path | None = None,
    port: int | None = None,
    device: str | None = None,
) -> None:
    """Open the playground: draw into a memory in the browser and watch it remember.

    It runs on this computer only and asks no other host. Ctrl-C ends it.

    Args:
        model: the model that writes and reads: a model of the package, a checkpoint file or a run
            folder.
        samples: the model that makes new images.
        memory: open a stored memory of images, FOLDER/NAME, with the model that it was created
            with.
        store: a folder of memories, in which the API can create more.
        port: where to listen; by default 8642, or a free port if that one is in use.
        device: cpu or cuda; by default a GPU if there is one.

    """
    _run(
        model=model,
        samples=samples,
        memory=memory,
        store=store,
        host="127.0.0.1",
        port=port,
        allow_host=(),
        device=device,
        open_page=True,
        json=False,
    )


def serve(
    *,
    model: str | None = None,
    samples: str | None = None,
    memory: Path | None = None,
    store: Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    allow_host: tuple[str, ...] = (),
    device: str | None = None,
    json: bool = False,
) -> None:
    """Serve the playground and its HTTP API, without opening a browser.

    Beyond this computer (--host 0.0.0.0) every request needs a token: the one in the environment
    variable KANERVA_TOKEN, or a new one that is printed. There is no encryption: use it in a
    network that you trust, or behind a proxy that encrypts. Ctrl-C ends it; stored memories are
    kept.

    Args:
        model: the model that writes and reads: a model of the package, a checkpoint file or a run
            folder.
        samples: the model that makes new images.
        memory: a stored memory of images, FOLDER/NAME, that the page opens.
        store: a folder of memories, in which the API can create more.
        host: the address to listen on.
        port: where to listen; by default 8642, or a free port if that one is in use.
        allow_host: other names by which this server is called, for example that of a proxy.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object with the address, and nothing else.

    """
    _run(
        model=model,
        samples=samples,
        memory=memory,
        store=store,
        host=host,
        port=port,
        allow_host=allow_host,
        device=device,
        open_page=False,
        json=json,
    )


def _run(
    *,
    model: str | None,
    samples: str | None,
    memory: Path | None,
    store: Path | None,
    host: str,
    port: int | None,
    allow_host: tuple[str, ...],
    device: str | None,
    open_page: bool,
    json: bool,
) -> None:
    import json as jsonlib
    import os
    import secrets

    import torch

    from kanerva.checks import check_integer
    from kanerva.cli.options import choose_device
    from kanerva.errors import KanervaError
    from kanerva.training.interrupt import Stopped

    try:
        from kanerva.web.server import (
            Wanted,
            bound_socket,
            is_local,
            load_served,
            make_server,
            url_of,
        )
        from kanerva.web.server import open_page as open_browser
        from kanerva.web.tokens import check_token
    except ModuleNotFoundError as error:
        raise KanervaError(
            "kanerva play",
            expected="the packages of the playground",
            got=f"no package '{error.name}'",
            fix="Install them: pip install 'kanerva[web]'.",
        ) from None
    if memory is not None and store is not None:
        raise KanervaError(
            "--store",
            expected="--memory FOLDER/NAME or --store FOLDER",
            got="both",
            fix="Leave --store out: the other memories of that folder are served too.",
        )
    if port is not None:
        check_integer("--port", port, at_least=0, at_most=65535, fix="8642 is a good one.")
    torch.set_num_threads(1)  # images are small, and requests run side by side
    token = os.environ.get("KANERVA_TOKEN") or None
    check_token("KANERVA_TOKEN", token)
    if token is None and not is_local(host):
        token = secrets.token_urlsafe(24)
    listening = bound_socket(host, port)
    with listening:
        number = listening.getsockname()[1]
        wanted = Wanted(
            model=model,
            samples=samples,
            store=store,
            memory=memory,
            host=host,
            port=number,
            allow_host=allow_host,
            token=token,
            device=choose_device(device),
        )
        served = load_served(wanted, number)
        url = url_of(host, number, token)

        def say() -> None:
            if json:
                print(jsonlib.dumps({"url": url, "port": number, "token": token}), flush=True)
            else:
                print(f"kanerva is at {url}\nCtrl-C ends it.", flush=True)
            if open_page:
                open_browser(url)

        server = make_server(served, say)
        server.run(sockets=[listening])
    if server.stopped_by:
        kept = "stopped; stored memories are kept" if served.store is not None else "stopped"
        raise Stopped(server.stopped_by, kept)
