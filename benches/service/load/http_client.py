"""A small HTTP/1.1 client for GET: the driver of a load must cost less than what it drives.

It keeps its connections, reads answers by their length or in chunks, and takes an answer that ends
early for what it is: an error.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self, cast

_HEAD_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a request."""

    status: int
    headers: bytes
    """As they came, with names in lower case."""
    body: bytes
    """Empty unless the client keeps bodies."""
    size: int
    """The bytes of the body."""

    def header(self, name: str) -> str:
        """The value of a header, empty if it is missing."""
        _, found, rest = self.headers.partition(b"\r\n" + name.encode() + b":")
        return rest.partition(b"\r\n")[0].strip().decode("latin-1") if found else ""


class BrokenAnswerError(ConnectionError):
    """The connection ended amid an answer."""


class NoAnswerError(ConnectionError):
    """The connection ended before the first byte of an answer."""


class Connection(asyncio.Protocol):
    """A connection on which one request is under way at most."""

    def __init__(self, *, keep_bodies: bool) -> None:
        self._keep_bodies = keep_bodies
        self._transport: asyncio.Transport
        self._answer: asyncio.Future[Reply] | None = None
        self._received = bytearray()
        self._head: tuple[int, bytes] | None = None
        self._left: int | None = None
        self._body = bytearray()
        self._size = 0
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's transports are no subclass.
        self._transport = cast("asyncio.Transport", transport)

    async def ask(self, request: bytes) -> Reply:
        """Send a request, and wait for its answer; a caller that gives up closes the connection."""
        self._answer = asyncio.get_running_loop().create_future()
        self._head, self._left, self._size = None, None, 0
        self._received.clear()
        self._body.clear()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self.is_open = False
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._answer is None or self._answer.done():
            # Bytes that nobody asked for.
            self.close()
            return
        self._received += data
        if self._head is None and not self._read_head():
            return
        if self._left is not None:
            self._take(min(self._left, len(self._received)))
            if self._left == 0:
                self._finish()
        elif self._read_chunks():
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that is under way."""
        del exc
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            began = self._head is not None or self._received
            error = BrokenAnswerError if began else NoAnswerError
            self._answer.set_exception(error("the connection ended"))

    def _read_head(self) -> bool:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > _HEAD_MAX:
                self.close()
            return False
        first, _, rest = bytes(self._received[:end]).partition(b"\r\n")
        headers = b"\r\n" + rest.lower()
        del self._received[: end + 4]
        self._head = int(first.split(b" ", 2)[1]), headers
        length = Reply(0, headers, b"", 0).header("content-length")
        self._left = int(length) if length else None
        return True

    def _read_chunks(self) -> bool:
        """Take all whole chunks; say whether the last one has come."""
        received = self._received
        while (end := received.find(b"\r\n")) >= 0:
            size = int(received[:end].partition(b";")[0], 16)
            if size == 0:
                return received.endswith(b"\r\n\r\n")
            if len(received) < end + 2 + size + 2:
                return False
            del received[: end + 2]
            self._left = size
            self._take(size)
            self._left = None
            del received[:2]
        return False

    def _take(self, size: int) -> None:
        if self._keep_bodies:
            self._body += self._received[:size]
        del self._received[:size]
        self._size += size
        assert self._left is not None
        self._left -= size

    def _finish(self) -> None:
        assert self._head is not None
        assert self._answer is not None
        status, headers = self._head
        reply = Reply(status, headers, bytes(self._body), self._size)
        self._answer.set_result(reply)
        if reply.header("connection") == "close":
            self.close()


class Client:
    """Asks one server over as many connections as requests are under way, `most` of them."""

    def __init__(self, port: int, *, keep_bodies: bool = False, most: int = 2_000) -> None:
        self._port = port
        self._keep_bodies = keep_bodies
        self._most = most
        self._idle: list[Connection] = []
        self._under_way = 0

    async def get(self, path: str, *, seconds_max: float = 10.0, headers: str = "") -> Reply:
        """Ask for a path.

        A kept connection that the server has just closed is replaced once, as every client does.
        Raises TimeoutError after `seconds_max`, and ConnectionError for an answer that breaks off,
        or for too many requests at once.
        """
        if self._under_way >= self._most:
            raise ConnectionError(f"{self._most} requests are under way")
        request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\r\n".encode()
        self._under_way += 1
        try:
            async with asyncio.timeout(seconds_max):
                kept = self._kept()
                if kept is not None:
                    try:
                        return await self._ask(kept, request)
                    except NoAnswerError:
                        pass
                return await self._ask(await self._connected(), request)
        finally:
            self._under_way -= 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(keep_bodies=self._keep_bodies), "127.0.0.1", self._port
        )
        return connection

    async def _ask(self, connection: Connection, request: bytes) -> Reply:
        reply = await connection.ask(request)
        if connection.is_open:
            self._idle.append(connection)
        return reply
