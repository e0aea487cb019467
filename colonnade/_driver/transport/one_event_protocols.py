"""Protocols that wait for one event, without a session."""

from __future__ import annotations

import asyncio


class UntilClosed(asyncio.Protocol):
    """Waits for the peer to close."""

    def __init__(self, ended: asyncio.Future[None]) -> None:
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has closed, or the socket was lost."""
        del exc
        if not self._ended.done():
            self._ended.set_result(None)


class TlsAnswer(asyncio.Protocol):
    """Waits for the one byte that answers the TLS request."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """The byte has arrived, with any further bytes."""
        if not self.answer.done():
            self.answer.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has closed without an answer."""
        if not self.answer.done():
            lost = ConnectionError("the server closed the connection when asked for TLS")
            lost.__cause__ = exc
            self.answer.set_exception(lost)
            # A caller cancelled while connecting never awaits it: retrieve the exception here.
            self.answer.exception()
