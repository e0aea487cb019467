"""A small HTTP/1.1 server for GET: one protocol object per connection, and no framework."""

from __future__ import annotations

import asyncio
import functools
import random
import zlib
from typing import TYPE_CHECKING

from examples.service.suppliers.behaviour import MOODS, answers_of

if TYPE_CHECKING:
    from examples.service.suppliers.behaviour import Behaviour

_REQUEST_MAX = 16_384


class Mood:
    """How all suppliers of this process behave at the moment."""

    def __init__(self, name: str) -> None:
        self.behaviour: Behaviour = MOODS[name]


class Supplier:
    """The answers of one supplier, and its chance."""

    def __init__(self, number: int, mood: Mood) -> None:
        self._mood = mood
        self._answers = answers_of(number)
        self._chance = random.Random(1_000 + number)

    def answer(self, path: bytes) -> tuple[bytes, float | None]:
        """The bytes of an answer, and the time until they are sent: None for never."""
        if path.startswith(b"/mood/"):
            return self._changed(path.rpartition(b"/")[2].decode("latin-1")), 0
        status, seconds = self._mood.behaviour.draw(self._chance)
        if status != 200:
            return _response(b"500 Internal Server Error", b'{"error":"out of order"}'), seconds
        body = self._answers[zlib.crc32(path) % len(self._answers)]
        return _response(b"200 OK", body), seconds

    def _changed(self, name: str) -> bytes:
        if name not in MOODS:
            return _response(b"404 Not Found", b'{"error":"unknown mood"}')
        self._mood.behaviour = MOODS[name]
        return _response(b"200 OK", b"{}")


class Connection(asyncio.Protocol):
    """A connection of a client: one request at a time, kept alive."""

    def __init__(self, supplier: Supplier) -> None:
        self._supplier = supplier
        self._received = b""
        self._later: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request, when it is whole."""
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            if len(head) > _REQUEST_MAX:
                self._transport.abort()
            return
        self._received = rest
        path = head.split(b" ", 2)[1]
        answer, seconds = self._supplier.answer(path)
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(seconds, self._transport.write, answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the answer that nobody waits for."""
        del exc
        if self._later is not None:
            self._later.cancel()


def _response(status: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


async def serve(numbers: range, mood: str) -> tuple[list[asyncio.Server], list[int]]:
    """Start a server for each supplier on a free port of the loopback; return them and the ports.

    The ports are free at this moment, so no two processes get the same one.
    """
    loop = asyncio.get_running_loop()
    common = Mood(mood)
    servers = []
    for number in numbers:
        supplier = Supplier(number, common)
        server = await loop.create_server(
            functools.partial(Connection, supplier), "127.0.0.1", 0, backlog=1024
        )
        servers.append(server)
    return servers, [server.sockets[0].getsockname()[1] for server in servers]
