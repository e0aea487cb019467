"""A network that can be cut: a TCP proxy on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal, Self, TypeAlias

State: TypeAlias = Literal["whole", "silent", "refusing"]
_CHUNK = 65_536


class Network:
    """Relays connections to a port; an asynchronous context manager.

    While it is silent, no byte passes, and nobody is told, as when a cable is pulled; what was open
    then never comes back to life. While it refuses, connections are reset at once.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._state: State = "whole"
        self._healed = asyncio.Event()
        self._relays: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._healed.set()
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._drop()

    def cut(self, state: State) -> None:
        """Let no byte pass from now on."""
        self._state = state
        self._healed.clear()
        if state == "refusing":
            self._cancel()

    async def heal(self) -> None:
        """Let new connections pass; the old ones are reset."""
        await self._drop()
        self._state = "whole"
        self._healed.set()

    def _cancel(self) -> None:
        for relay in self._relays:
            relay.cancel()

    async def _drop(self) -> None:
        self._cancel()
        if self._relays:
            await asyncio.wait(self._relays)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._state == "refusing":
            writer.transport.abort()
            return
        relay = asyncio.create_task(self._relayed(reader, writer))
        self._relays.add(relay)
        relay.add_done_callback(self._relays.discard)

    async def _relayed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there: asyncio.StreamWriter | None = None
        try:
            await self._healed.wait()
            back, there = await asyncio.open_connection("127.0.0.1", self._to)
            ways = [
                asyncio.create_task(self._pass(reader, there)),
                asyncio.create_task(self._pass(back, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.wait(ways)
        except OSError:
            # The database is away: the client sees its connection reset.
            pass
        finally:
            for end in (writer, there):
                if end is not None:
                    end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._healed.wait()
                writer.write(data)
                await writer.drain()
