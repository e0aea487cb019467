"""A proxy that understands messages, and does to one of them what a network or peer could do.

It runs on an event loop in its own thread and opens a door for each try: a port that passes
everything on to the server, message by message, until the message that the fault strikes::

    with FaultProxy(server.dsn) as proxy, proxy.door() as door:
        connection = await colonnade.connect(door.dsn)
        door.arm(Fault(Kind.CUT, Way.SERVER, 2))
        ...

A fault strikes once, on the door's first connection; others (such as a cancel request's) pass
unchanged. Messages are counted from the moment when the door was armed. A TLS connection is passed
on record by record.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tests.support.faults import CANCEL_CODE, SSL_REQUEST, Chunks, Kind, Message, Way, corrupted

if TYPE_CHECKING:
    from types import TracebackType
    from urllib.parse import SplitResult

    from tests.support.faults import Fault

_HOST = "127.0.0.1"
_DELAY_SECONDS = 0.01
_LUMP_SECONDS = 0.01
_CLOSE_SECONDS_MAX = 10.0
_READ_BYTES_MAX = 1 << 18
_TLS_RECORD = 0x16
_RESET = struct.pack("ii", 1, 0)


class FaultProxy:
    """Opens doors in front of one TCP server; a context manager."""

    def __init__(self, dsn: str) -> None:
        self._address = urlsplit(dsn)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(_end_all(), self._loop).result(_CLOSE_SECONDS_MAX)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def door(self, chunks: Chunks = Chunks.AS_SENT, *, to_cancels: bool = False) -> Door:
        """Open a new door. With `to_cancels`, its fault strikes cancel requests."""
        return Door(self._loop, self._address, chunks, to_cancels=to_cancels)


async def _end_all() -> None:
    """Wait for the remaining tasks."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Door:
    """A port in front of the server, with at most one fault; a context manager."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: SplitResult,
        chunks: Chunks,
        *,
        to_cancels: bool,
    ) -> None:
        self._loop = loop
        self._address = address
        self.chunks = chunks
        self.to_cancels = to_cancels
        self.fault: Fault | None = None
        self.has_struck = False
        """Whether the fault has struck."""
        self.said: dict[Way, list[str]] = {way: [] for way in Way}
        """The tags of the messages on the faulted connection since the door was armed."""
        self.is_armed = False
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server((_HOST, 0), backlog=16)
        self._listener.setblocking(False)
        port = self._listener.getsockname()[1]
        login, _, _ = self._address.netloc.rpartition("@")
        self.dsn: str = self._address._replace(netloc=f"{login}@{_HOST}:{port}").geturl()
        loop.call_soon_threadsafe(loop.add_reader, self._listener, self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end)

    def arm(self, fault: Fault | None = None) -> None:
        """Count messages from now on, and strike at the fault's message."""
        self.fault = fault
        self.is_armed = True

    def disarm(self) -> None:
        """Stop all faults and the recording."""
        self.is_armed = False

    @property
    def target(self) -> tuple[str, int]:
        """The server."""
        return self._address.hostname or _HOST, self._address.port or 5432

    def is_for(self, *, is_first: bool, is_cancel: bool) -> bool:
        """Whether the fault is for this kind of connection."""
        return is_cancel if self.to_cancels else is_first and not is_cancel

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            self._count += 1
            serving = self._loop.create_task(self._serve(client, is_first=self._count == 1))
            self._tasks.add(serving)
            # This also runs for a task that is cancelled before it has begun.
            serving.add_done_callback(lambda _: client.close())
            serving.add_done_callback(self._tasks.discard)

    async def _serve(self, client: socket.socket, *, is_first: bool) -> None:
        client.setblocking(False)
        server = socket.socket()
        server.setblocking(False)
        link = _Link(self, client, server, is_first=is_first)
        try:
            await self._loop.sock_connect(server, self.target)
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await link.run()
        except OSError:
            pass
        finally:
            link.close()

    def _end(self) -> None:
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for task in self._tasks:
            task.cancel()


class _EndedError(Exception):
    """The connection was ended by the fault."""


class _Link:
    """One connection through a door."""

    def __init__(
        self, door: Door, client: socket.socket, server: socket.socket, *, is_first: bool
    ) -> None:
        self.door = door
        self.is_first = is_first
        self.is_cancel = False
        self.asked_for_tls = False
        self.is_tls = False
        self.is_silent = False
        self.is_stalled = False
        self.late = b""
        """Bytes to send to the client again when it sends its next message."""
        self.sockets = {Way.CLIENT: client, Way.SERVER: server}

    async def run(self) -> None:
        """Pass messages on until either side closes."""
        lanes = [asyncio.ensure_future(_Lane(self, way).run()) for way in Way]
        try:
            await asyncio.wait(lanes, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    def is_faulted(self) -> bool:
        """Whether the door's fault is for this connection."""
        return self.door.is_for(is_first=self.is_first, is_cancel=self.is_cancel)

    def end(self) -> None:
        """Send an end of file to both sides."""
        self.is_silent = True
        for side in self.sockets.values():
            _end_of(side)

    def reset(self) -> None:
        """End both sides by RST."""
        for side in self.sockets.values():
            with contextlib.suppress(OSError):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def close(self) -> None:
        """Close both sockets."""
        for side in self.sockets.values():
            side.close()


def _end_of(side: socket.socket) -> None:
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_WR)


class _Lane:
    """The messages of one side of a connection."""

    def __init__(self, link: _Link, way: Way) -> None:
        self._link = link
        self._door = link.door
        self._way = way
        self._loop = asyncio.get_running_loop()
        self._from = link.sockets[way]
        self._to = link.sockets[Way.CLIENT if way is Way.SERVER else Way.SERVER]
        self._buffer = bytearray()
        self._is_begun = False

    async def run(self) -> None:
        while (message := await self._next()) is not None:
            await self._take(message)
        if self._buffer:
            # The last message may be incomplete.
            await self._write(bytes(self._buffer))
        if self._way is Way.CLIENT:
            # The reader has gone.
            raise _EndedError
        if not self._link.is_silent:
            _end_of(self._to)

    async def _next(self) -> Message | None:
        while (message := self._cut()) is None:
            if self._link.is_stalled:
                await asyncio.Event().wait()
            chunk = await self._loop.sock_recv(self._from, _READ_BYTES_MAX)
            if not chunk:
                return None
            self._buffer += chunk
            if self._door.chunks is Chunks.LUMPS:
                await asyncio.sleep(_LUMP_SECONDS)
        return message

    def _cut(self) -> Message | None:
        """Take the message at the front of the buffer, if it is complete."""
        buffer, link = self._buffer, self._link
        has_tag, is_record, size = True, False, -1
        if not buffer:
            return None
        if self._way is Way.SERVER and link.asked_for_tls:
            has_tag, size = False, 1
        elif link.is_tls or (self._way is Way.CLIENT and buffer[0] == _TLS_RECORD):
            link.is_tls = is_record = True
            if len(buffer) >= 5:
                size = 5 + int.from_bytes(buffer[3:5])
        else:
            has_tag = self._way is Way.SERVER or self._is_begun
            at = int(has_tag)
            if len(buffer) >= at + 4:
                size = at + int.from_bytes(buffer[at : at + 4])
        if not 0 < size <= len(buffer):
            return None
        data = bytes(buffer[:size])
        del buffer[:size]
        self._note(data, has_tag=has_tag, is_record=is_record)
        return Message(data, has_tag=has_tag, is_record=is_record)

    def _note(self, data: bytes, *, has_tag: bool, is_record: bool) -> None:
        link = self._link
        if self._way is Way.SERVER:
            if link.asked_for_tls:
                link.asked_for_tls, link.is_tls = False, data == b"S"
            return
        if not has_tag and not is_record:
            link.asked_for_tls = data == SSL_REQUEST
            link.is_cancel = data[4:8] == CANCEL_CODE
            self._is_begun = not link.asked_for_tls

    async def _take(self, message: Message) -> None:
        link, door = self._link, self._door
        fault = None
        if (number := self._write_down(message)) is not None:
            fault = door.fault
            if fault is None or fault.way is not self._way or fault.at != number:
                fault = None
        if self._way is Way.CLIENT and link.late:
            late, link.late = link.late, b""
            await self._loop.sock_sendall(self._from, late)
        if fault is not None:
            door.has_struck = True
            await self._strike(message, fault)
        elif not link.is_silent:
            await self._send(message)

    def _write_down(self, message: Message) -> int | None:
        """Record the message; return its number if messages are counted here."""
        if not self._door.is_armed or not self._link.is_faulted():
            return None
        said = self._door.said[self._way]
        said.append(message.tag)
        return len(said) - 1

    async def _strike(self, message: Message, fault: Fault) -> None:
        link, half = self._link, max(1, len(message.data) // 2)
        match fault.kind:
            case Kind.CUT | Kind.CUT_INSIDE | Kind.RESET | Kind.RESET_INSIDE:
                if fault.kind in {Kind.CUT_INSIDE, Kind.RESET_INSIDE}:
                    await self._write(message.data[:half])
                if fault.kind in {Kind.RESET, Kind.RESET_INSIDE}:
                    link.reset()
                    raise _EndedError
                link.end()
            case Kind.DELAY:
                await asyncio.sleep(_DELAY_SECONDS)
                await self._write(message.data)
            case Kind.DELAY_IN_HEADER:
                await self._in_two(message.data, min(2, half))
            case Kind.DELAY_IN_BODY:
                await self._in_two(message.data, max(1, len(message.data) - 1))
            case Kind.SILENCE:
                link.is_silent = True
            case Kind.STALL:
                link.is_silent = link.is_stalled = True
            case Kind.DUPLICATE_LATE:
                link.late = message.data
                await self._write(message.data)
            case _:
                await self._write(corrupted(message, fault) or b"")

    async def _in_two(self, data: bytes, size: int) -> None:
        await self._write(data[:size])
        await asyncio.sleep(_DELAY_SECONDS)
        await self._write(data[size:])

    async def _send(self, message: Message) -> None:
        data, door = message.data, self._door
        if door.chunks is Chunks.LUMPS:
            # Together with all bytes behind it.
            pieces = [data]
            while (following := self._cut()) is not None:
                self._write_down(following)
                pieces.append(following.data)
            await self._write(b"".join(pieces))
        elif door.chunks is Chunks.HEADERS:
            await self._write(data[:2])
            await asyncio.sleep(0)
            await self._write(data[2:])
        elif door.chunks is Chunks.BYTES:
            for start in range(len(data)):
                await self._write(data[start : start + 1])
                await asyncio.sleep(0)
        else:
            await self._write(data)

    async def _write(self, data: bytes) -> None:
        if data:
            await self._loop.sock_sendall(self._to, data)
