"""The application: the page, the API, and the guard in front of both."""

import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from kanerva import __version__
from kanerva.errors import KanervaError
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.memory_model import MemoryModel
from kanerva.store.memory_store import MemoryStore
from kanerva.web.characters import pool
from kanerva.web.guard import LOCAL_NAMES, Guard
from kanerva.web.memories import Memories
from kanerva.web.page_files import PageFile, page_files
from kanerva.web.refusals import RefusedError, as_json
from kanerva.web.routes import Api
from kanerva.web.schema import describe
from kanerva.web.tokens import check_token

ABOUT = (
    "Write drawings into a memory, read them back from damaged cues, forget them exactly, and make "
    "new ones. Memories belong to your session (a cookie) or to the server's folder."
)
NUM_THREADS = 8
"""How many requests are worked on at the same time."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a server serves, and to whom."""

    recall: KanervaMachine
    """The model that writes and reads."""
    samples: MemoryModel
    """The model that makes new images; it may be the same."""
    recall_name: str
    """By which stored memories find the model again."""
    samples_name: str
    store: MemoryStore | None = None
    """The folder of stored memories."""
    page_memory: str | None = None
    """The stored memory that the page opens."""
    port: int = 0
    """Part of the names of cookies: cookies of all ports of a host are sent to each of them."""
    hosts: Sequence[str] = LOCAL_NAMES
    """Names by which the server may be called."""
    any_address: bool = False
    """Whether it may be called by any IP address."""
    token: str | None = None
    """What requests must know."""

    def __post_init__(self) -> None:
        check_token("token", self.token)


def make_app(served: Served) -> Guard:
    """The whole application, guarded."""
    memories = Memories(
        served.recall, served.samples, reference=served.recall_name, store=served.store
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # More threads would only wait for each other.
        to_thread.current_default_thread_limiter().total_tokens = NUM_THREADS
        # Letterforms take a second to list; the first page must not wait for it.
        threading.Thread(target=pool, daemon=True).start()
        yield
        memories.close()

    app = FastAPI(
        title="kanerva",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # these pages load their programs from other hosts; ours is /docs
        redoc_url=None,
        redirect_slashes=False,
    )
    api = Api(
        memories,
        samples=served.samples_name,
        page_memory=served.page_memory,
        cookie=f"kanerva_session_{served.port}",
    )
    app.include_router(api.router)
    for place, file in page_files().items():
        app.add_api_route(place, _sender(file), include_in_schema=False)
    app.add_exception_handler(KanervaError, _refuse)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    describe(app, served.recall.config.image_shape, needs_token=served.token is not None)
    return Guard(
        app,  # pyright: ignore[reportArgumentType]
        hosts=served.hosts,
        any_address=served.any_address,
        token=served.token,
        cookie=f"kanerva_token_{served.port}",
    )


def _sender(file: PageFile):
    def send(request: Request) -> Response:
        headers = {"cache-control": "no-cache", "etag": file.etag}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        return Response(file.body, media_type=file.kind, headers=headers)

    return send


def _refuse(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, KanervaError)
    status = error.status if isinstance(error, RefusedError) else 422
    return JSONResponse(as_json(error), status_code=status)


def _invalid(_: Request, error: Exception) -> JSONResponse:
    """What pydantic found, in the form of our errors."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    given = "nothing" if first["type"] == "missing" else repr(first.get("input"))[:80]
    refused = RefusedError(
        422,
        place,
        expected=first["msg"][:200],
        got=given,
        fix="See /docs for what this address takes.",
    )
    return JSONResponse(as_json(refused), status_code=422)


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    if error.status_code == 400:  # the body could not be parsed
        refused = RefusedError(
            400,
            "body",
            expected="JSON as /docs describes it, in UTF-8",
            got="something that cannot be parsed",
            fix="Send what json.dumps makes of an object, with as few levels as in /docs.",
        )
    else:
        refused = RefusedError(
            error.status_code,
            "address",
            expected="a method and an address of the API",
            got=f"{request.method} {request.url.path}"[:80],
            fix="See /docs for all of them.",
        )
    return JSONResponse(as_json(refused), status_code=error.status_code, headers=headers)


def _methods(request: Request) -> set[str]:
    """All methods of an address: each of them is a route of its own."""
    return {
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE
        for method in route.methods or ()
    }
