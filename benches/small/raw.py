"""The least that a query can cost on a loop: it sends ready bytes and wakes one future per answer.

An asyncio protocol that knows no types and makes no objects; a driver's additional cost is its own
work. It can log in only to a server that trusts everyone, like the embedded one.
"""

from __future__ import annotations

import asyncio
import struct
from typing import cast
from urllib.parse import parse_qs, urlsplit

#: ReadyForQuery without its last byte, the transaction status.
READY = b"Z\x00\x00\x00\x05"
STATEMENT = b"s"


class Connection(asyncio.BufferedProtocol):
    """One connection, with methods named like a driver's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._link: asyncio.Transport | None = None
        self._waiter: asyncio.Future[int] = self._loop.create_future()
        self._buffer = bytearray(131_072)
        self._view = memoryview(self._buffer)
        self._ready: dict[tuple[str, tuple[int, ...]], bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._link = cast("asyncio.Transport", transport)

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Give the loop a buffer to read into, which is cheaper than new bytes for each read."""
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """Wake the caller at the end of an answer, and look at nothing else."""
        if self._buffer[nbytes - 6 : nbytes - 1] == READY and not self._waiter.done():
            self._waiter.set_result(self._buffer[0])

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the waiting caller."""
        if not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError("the server has closed"))

    async def answer(self, data: bytes) -> int:
        """Send ready bytes, and wait for the end of their answer."""
        assert self._link is not None
        self._link.write(data)
        self._waiter = self._loop.create_future()
        return await self._waiter

    async def fetchval(self, query: str, *args: int) -> int:
        """Run a query with integer arguments; prepare it the first time."""
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
        """Send Terminate and close."""
        assert self._link is not None
        self._link.write(_message(b"X", b""))
        self._link.close()


async def connect(dsn: str) -> Connection:
    """Log in with a `postgresql://` URL, without a password."""
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
