"""What every request must pass: host, origin, token, size of the body, and time.

It stands in front of the whole application, so that no route can forget it.
"""

import asyncio
import hashlib
import ipaddress
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode, urlsplit

from kanerva.web.limits import MAX_BODY_BYTES, MAX_REQUEST_S
from kanerva.web.refusals import RefusedError, as_json, busy

Scope = MutableMapping[str, object]
Message = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Refuses what comes from elsewhere, is too large, or takes too long.

    Args:
        app: the application behind it.
        hosts: names by which this server may be called, without the port.
        any_address: whether it may also be called by any IP address; a page of another host cannot
            make a browser do that with a name of its own.
        token: what a request must know; None if only this computer can reach the server.
        cookie: the name of the cookie that remembers the token.

    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Sequence[str] = LOCAL_NAMES,
        any_address: bool = False,
        token: str | None = None,
        cookie: str = "kanerva_token",
    ) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.any_address = any_address
        self.token = token
        self.cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            headers = _headers(scope)
            self._check_host(headers)
            _check_origin(scope, headers)
            if self.token is not None and await self._sends_away(scope, headers, answer):
                return
            async with asyncio.timeout(MAX_REQUEST_S):
                await self.app(scope, await _whole_body(receive, headers), answer)
        except RefusedError as error:
            await answer.refuse(error)
        except TimeoutError:
            await answer.refuse(busy())

    def _check_host(self, headers: dict[str, str]) -> None:
        host = _host_name(headers.get("host", ""))
        if host in self.hosts or (self.any_address and _is_address(host)):
            return
        raise RefusedError(
            421,
            "Host",
            expected=f"one of {', '.join(sorted(self.hosts))}",
            got=repr(headers.get("host", ""))[:80],
            fix="Open the address that the server printed, or start it with --allow-host NAME.",
        )

    async def _sends_away(self, scope: Scope, headers: dict[str, str], answer: "_Answer") -> bool:
        """Check the token. One in the address of a page moves into a cookie, by a redirect."""
        query_string = scope["query_string"]
        assert isinstance(query_string, bytes)
        query = parse_qs(query_string.decode("latin-1"))
        if scope["method"] == "GET" and "token" in query and self._knows(query["token"][0]):
            rest = urlencode({key: value for key, value in query.items() if key != "token"}, True)
            await answer.redirect(
                f"{scope['path']}{'?' if rest else ''}{rest}",
                f"{self.cookie}={self._cookie_value}; HttpOnly; SameSite=Strict; Path=/",
            )
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._knows(given.strip()):
            return False
        cookie = cookie_value(headers.get("cookie", ""), self.cookie) or ""
        if secrets.compare_digest(cookie.encode(), self._cookie_value.encode()):
            return False
        raise RefusedError(
            401,
            "token",
            expected="the token that the server printed when it started",
            got="none, or another one",
            fix="Open the address with ?token=..., or send the header Authorization: Bearer TOKEN.",
        )

    @property
    def _cookie_value(self) -> str:
        """Of any token, something that fits into a cookie."""
        return hashlib.sha256(f"kanerva {self.token}".encode()).hexdigest()

    def _knows(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(
            given.encode(), self.token.encode()
        )


class _Answer:
    """Sends an answer with safe headers, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            headers = message["headers"]
            assert isinstance(headers, list)
            message["headers"] = [
                *headers,
                *((name.encode(), value.encode()) for name, value in SAFE_HEADERS.items()),
            ]
        await self._send(message)

    async def refuse(self, error: RefusedError) -> None:
        if self._begun:
            raise error
        body = json.dumps(as_json(error)).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        if error.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await self._whole(error.status, body, headers)

    async def redirect(self, place: str, cookie: str) -> None:
        headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
        await self._whole(303, b"", headers)

    async def _whole(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        length = [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
        await self({"type": "http.response.start", "status": status, "headers": headers + length})
        await self({"type": "http.response.body", "body": body})


def cookie_value(header: str, name: str) -> str | None:
    """A cookie from the header of a request."""
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return found.value if found else None


def _headers(scope: Scope) -> dict[str, str]:
    pairs = scope["headers"]
    assert isinstance(pairs, list | tuple)
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}


def _host_name(host: str) -> str:
    """The name without the port; empty if it cannot be a host."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _place(origin: str) -> str | None:
    """The host and port of an origin; None if it cannot be one."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_origin(scope: Scope, headers: dict[str, str]) -> None:
    """Refuse what a page of another origin asks for; links that lead here are welcome."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    elsewhere = origin is not None and _place(origin) != headers.get("host")
    page = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if elsewhere or (site in ("cross-site", "same-site") and not page):
        raise RefusedError(
            403,
            "Origin",
            expected="a request from this server's own page, or from a program",
            got=repr(origin or site)[:80],
            fix="Use the API from a program, for example with kanerva.Client(url).",
        )


async def _whole_body(receive: Receive, headers: dict[str, str]) -> Receive:
    """Take in the body, which must not be too large, before the application sees any of it."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
        raise _too_large(length)
    messages: list[Message] = []
    received, is_more = 0, True
    while is_more:
        message = await receive()
        messages.append(message)
        body = message.get("body", b"")
        assert isinstance(body, bytes)
        received += len(body)
        if received > MAX_BODY_BYTES:
            raise _too_large(f"more than {MAX_BODY_BYTES:,}")
        is_more = bool(message.get("more_body", False))

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return again


def _too_large(got: str) -> RefusedError:
    return RefusedError(
        413,
        "body",
        expected=f"at most {MAX_BODY_BYTES:,} bytes",
        got=f"{got[:20]} bytes",
        fix="Send fewer or smaller images in one request.",
    )
