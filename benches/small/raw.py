"""The least that a query costs on a loop: ready bytes are sent, and one future wakes per answer.

A protocol of asyncio's that knows no types and makes no objects: what a driver spends above it is
the driver's own. It logs in where the server trusts everyone, as the embedded one does.
"""

from __future__ import annotations

import asyncio
import struct
from typing import cast
from urllib.parse import parse_qs, urlsplit

#: ReadyForQuery, up to the byte that tells of the transaction.
READY = b"Z\x00\x00\x00\x05"
STATEMENT = b"s"


class Connection(asyncio.BufferedProtocol):
    """One connection, with the methods' names of a driver's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._link: asyncio.Transport | None = None
        self._waiter: asyncio.Future[int] = self._loop.create_future()
        self._buffer = bytearray(131_072)
        self._view = memoryview(self._buffer)
        self._ready: dict[tuple[str, tuple[int, ...]], bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        self._link = cast("asyncio.Transport", transport)

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the loop reads to: cheaper than bytes that it makes for each read."""
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """Wake the caller where an answer ends; nothing else is looked at."""
        if self._buffer[nbytes - 6 : nbytes - 1] == READY and not self._waiter.done():
            self._waiter.set_result(self._buffer[0])

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the caller know."""
        if not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError("the server has gone"))

    async def answer(self, data: bytes) -> int:
        """Send ready bytes, and wait for the last byte of their answer: the first one of a read."""
        assert self._link is not None
        self._link.write(data)
        self._waiter = self._loop.create_future()
        return await self._waiter

    async def fetchval(self, query: str, *args: int) -> int:
        """Ask a query with integers as arguments; the first time, it is prepared."""
        ready = self._ready.get((query, args))
        if ready is None:
            ready = await self._prepared(query, args)
        return await self.answer(ready)

    fetchrow = fetch = fetch_columns = fetchval

    async def _prepared(self, query: str, args: tuple[int, ...]) -> bytes:
        name = STATEMENT + str(len(self._ready)).encode() + b"\x00"
        parsed = await self.answer(
            _message(b"P", name + query.encode() + b"\x00\x00\x00") + _message(b"S", b"")
        )
        assert parsed == ord("1"), parsed
        values = b"".join(struct.pack("!ii", 4, value) for value in args)
        binary = struct.pack("!HH", 1, 1)
        ready = (
            _message(b"B", b"\x00" + name + binary + struct.pack("!H", len(args)) + values + binary)
            + _message(b"E", b"\x00\x00\x00\x00\x00")
            + _message(b"S", b"")
        )
        answered = await self.answer(ready)
        assert answered == ord("2"), answered
        self._ready[query, args] = ready
        return ready

    async def close(self) -> None:
        """Say good-bye."""
        assert self._link is not None
        self._link.write(_message(b"X", b""))
        self._link.close()


async def connect(dsn: str) -> Connection:
    """Log in as the role of an address with `postgresql://`, without a password."""
    url = urlsplit(dsn)
    words, loop = parse_qs(url.query), asyncio.get_running_loop()
    if "host" in words:
        path = f"{words['host'][0]}/.s.PGSQL.{words['port'][0]}"
        _, connection = await loop.create_unix_connection(Connection, path)
    else:
        _, connection = await loop.create_connection(
            Connection, url.hostname or "", url.port or 5432
        )
    named = {"user": url.username or "", "database": url.path.strip("/")}
    pairs = "".join(f"{name}\x00{value}\x00" for name, value in named.items()).encode()
    body = struct.pack("!i", 0x00030000) + pairs + b"\x00"
    await connection.answer(struct.pack("!i", len(body) + 4) + body)
    return connection


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body
