"""A socket that connects to a server step by step, to diagnose failures.

It is separate from the transports and has no session: the server's messages are returned unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from typing import Any

from colonnade import _core

_PROTOCOL = 3 << 16
_HEADER = struct.Struct("!cI")
_LENGTH_BYTES = 4
_MESSAGE_BYTES_MAX = 10_000


class NotPostgresError(Exception):
    """The peer does not speak PostgreSQL's protocol."""


class Probe:
    """One socket to a server; each method is a step, and raises OSError if it fails."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(
        cls,
        place: tuple[str, int] | str,
        *,
        context: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> Probe:
        """Connect to a Unix socket, or a host and port; with a context, begin TLS at once."""
        if isinstance(place, str):
            return cls(*await asyncio.open_unix_connection(place))
        name = None if context is None else server_hostname
        return cls(*await asyncio.open_connection(*place, ssl=context, server_hostname=name))

    async def asks_for_tls(self) -> bool:
        """Whether the server offers TLS. Raises NotPostgresError for any other answer."""
        self._writer.write(_core.ssl_request())
        answer = await self._read(1)
        if answer not in {b"S", b"N"}:
            raise NotPostgresError
        return answer == b"S"

    async def start_tls(self, context: ssl.SSLContext, server_hostname: str | None) -> None:
        """Do the TLS handshake, after the server has agreed to TLS."""
        await self._writer.start_tls(context, server_hostname=server_hostname)

    @property
    def tls(self) -> Any:
        """The TLS session (an `ssl.SSLObject`), or None without TLS."""
        return self._writer.get_extra_info("ssl_object")

    async def introduce(self, user: str, database: str) -> tuple[bytes, bytes]:
        """Send user and database; return kind and content of the server's first message.

        Raises NotPostgresError if that is not a message.
        """
        words = ("user", user, "database", database, "")
        body = struct.pack("!I", _PROTOCOL) + b"".join(word.encode() + b"\0" for word in words)
        self._writer.write(struct.pack("!I", len(body) + _LENGTH_BYTES) + body)
        kind, length = _HEADER.unpack(await self._read(_HEADER.size))
        if not _LENGTH_BYTES <= length <= _MESSAGE_BYTES_MAX:
            raise NotPostgresError
        return kind, await self._read(length - _LENGTH_BYTES)

    async def close(self) -> None:
        """Close the socket."""
        self._writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):
            await self._writer.wait_closed()

    async def _read(self, count: int) -> bytes:
        try:
            return await self._reader.readexactly(count)
        except asyncio.IncompleteReadError as error:
            raise ConnectionError(str(error)) from error
