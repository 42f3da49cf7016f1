"""Connections that do not say what they want are closed; they would keep others out."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kanerva.web.limits import MAX_HEADER_S


class ImpatientProtocol(H11Protocol):
    """HTTP, where the header of a request has to come within a few seconds."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_header(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(MAX_HEADER_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
