"""Requests to a server, with the standard library: cookies, the token, and errors as ours."""

import contextlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from typing import TypeVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from kanerva.errors import KanervaError
from kanerva.web.limits import MAX_BODY_BYTES, MAX_PATH_BYTES
from kanerva.web.tokens import check_token

T = TypeVar("T")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
LOCAL = ("127.0.0.1", "localhost", "::1")


def quoted(text: object) -> str:
    """Text as one part of an address."""
    try:
        return quote(str(text), safe="")
    except UnicodeEncodeError:
        raise KanervaError(
            "text", expected="valid Unicode", got=repr(text)[:80], fix="Pass names and ids as text."
        ) from None


class Connection:
    """Asks one server; remembers its cookies."""

    def __init__(self, url: str, *, token: str | None, timeout: float) -> None:
        parts = _parts(url)
        if token is None:  # the server prints it as part of the address
            token = next(iter(parse_qs(parts.query).get("token", [])), None)
        check_token("token", token)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.token = token
        self.timeout = timeout
        handlers: list[urllib.request.BaseHandler] = [
            urllib.request.HTTPCookieProcessor(CookieJar())
        ]
        if parts.hostname in LOCAL:  # a proxy cannot reach this computer
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def json(self, method: str, path: str, body: object = None) -> dict[str, Json]:
        """The answer to a request, which is one JSON object; empty if there is none."""
        answer = self.bytes(method, path, body)
        try:
            found = json.loads(answer) if answer else {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self._foreign()
        return found

    def ask(
        self, read: Callable[[dict[str, Json]], T], method: str, path: str, body: object = None
    ) -> T:
        """What `read` makes of the answer to a request."""
        answer = self.json(method, path, body)
        try:
            return read(answer)
        except KanervaError:
            raise
        except (LookupError, TypeError, ValueError, RuntimeError):  # another program's JSON
            raise self._foreign() from None

    def bytes(self, method: str, path: str, body: object = None) -> bytes:
        """The body of the answer to a request."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"accept": "application/json"}
        if data is not None:
            headers["content-type"] = "application/json"
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        if len(data or b"") > MAX_BODY_BYTES or len(path) > MAX_PATH_BYTES:
            raise KanervaError(
                "request",
                expected=f"at most {MAX_BODY_BYTES:,} bytes, and {MAX_PATH_BYTES:,} of ids",
                got=f"{len(data or b''):,} and {len(path):,}",
                fix="Pass fewer items at once, or shorter labels and ids.",
            )
        request = urllib.request.Request(
            f"{self.url}/api{path}", data=data, headers=headers, method=method
        )
        try:
            try:
                with self._opener.open(request, timeout=self.timeout) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                raise self._refused(error.read().decode(errors="replace")) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            raise KanervaError(
                "url",
                expected="a server that answers",
                got=f"'{self.url}': {str(reason) or type(error).__name__}",
                fix="Start it with: kanerva serve; and check address and port.",
            ) from None

    def _refused(self, answer: str) -> KanervaError:
        try:
            parts = json.loads(answer)["error"]
            words = {key: str(parts[key]) for key in ("argument", "expected", "got", "fix")}
        except (ValueError, KeyError, TypeError):
            return self._foreign()
        return KanervaError(
            words["argument"], expected=words["expected"], got=words["got"], fix=words["fix"]
        )

    def _foreign(self) -> KanervaError:
        return KanervaError(
            "url",
            expected="a server of kanerva",
            got=f"'{self.url}', which answers something else",
            fix="Pass what `kanerva serve` printed.",
        )


def _parts(url: object) -> SplitResult:
    """The parts of the address of a server."""
    with contextlib.suppress(ValueError):  # of a port that is no number, or of half a bracket
        parts = urlsplit(url if isinstance(url, str) else "")
        is_whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_whole and parts.path in ("", "/"):
            return parts
    shown = url.partition("?")[0] if isinstance(url, str) else url  # a token may come after it
    raise KanervaError(
        "url",
        expected="the address of a server",
        got=repr(shown)[:80],
        fix="Pass what `kanerva serve` printed, for example 'http://127.0.0.1:8642'.",
    )
