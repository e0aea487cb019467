"""A relay in front of a server, which can stop at a chosen byte and records the traffic.

It records everything that the client sends, so that a test can count messages. It can hold the
bytes for the client, after a number of bytes of a connection or at once. Meanwhile it does not
read from the server either, so the server can send no more than fits into the socket buffers::

    with Proxy(server.dsn) as proxy:
        connection = await colonnade.connect(proxy.dsn)
        proxy.hold_after(1000)
        ...
        proxy.release()

Other connections (such as a cancel request's) always pass.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLL_SECONDS = 0.01
_READ_BYTES = 1 << 16
_KEPT_BYTES_MAX = 1 << 22
WAIT_SECONDS_MAX = 10.0


class Relayed:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.sent = bytearray()
        """The bytes that the client has sent."""
        self.received_bytes = 0
        """The number of bytes passed on to the client."""

    @property
    def tags(self) -> str:
        """The tags of the messages that the client has sent after its startup message."""
        return "".join(chr(tag) for tag in self._tags())

    def _tags(self) -> Iterator[int]:
        sent = bytes(self.sent)
        if not sent:
            return
        # The startup message has a length and no tag.
        at = struct.unpack_from("!i", sent)[0]
        while at + 5 <= len(sent):
            yield sent[at]
            at += 1 + struct.unpack_from("!i", sent, at + 1)[0]

    def break_off(self) -> None:
        """End both sides."""
        for side in (self.client, self.server):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


class Proxy:
    """Listens on 127.0.0.1 in front of a TCP server; a context manager."""

    host = "127.0.0.1"

    def __init__(self, dsn: str) -> None:
        self._address = urlsplit(dsn)
        self.connections: list[Relayed] = []
        self.held = threading.Event()
        """Set while bytes for the client are held."""
        self._hold_after: int | None = None
        self._released = threading.Event()
        self._dribble: tuple[int, float] | None = None
        self._stall: tuple[int, float] | None = None
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((self.host, 0))
        self._listener.settimeout(_POLL_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept_all, daemon=True)
        self._acceptor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dsn(self) -> str:
        """The server's DSN through this proxy."""
        login, _, _ = self._address.netloc.rpartition("@")
        netloc = f"{login}@{self.host}:{self.port}"
        return self._address._replace(netloc=netloc).geturl()

    @property
    def first(self) -> Relayed:
        """The first connection."""
        return self.connections[0]

    def hold_after(self, size: int) -> None:
        """Hold the first connection after this many more bytes to its client."""
        already = self.connections[0].received_bytes if self.connections else 0
        self._released.clear()
        self.held.clear()
        self._hold_after = already + size

    def release(self, *, dribble: int = 0, pause_seconds: float = 0.0) -> None:
        """Let bytes pass again; with `dribble`, this many at a time with pauses in between."""
        self._dribble = (dribble, pause_seconds) if dribble else None
        self._hold_after = None
        self._released.set()

    def stall_every(self, size: int, pause_seconds: float) -> None:
        """Stop the first connection's answers for a moment after each run of this many bytes."""
        self._stall = (size, pause_seconds)

    def wait_held(self) -> None:
        """Wait until bytes are held."""
        assert self.held.wait(WAIT_SECONDS_MAX), "nothing is held"

    def close(self) -> None:
        """End every connection and wait for the threads."""
        self._closing.set()
        self._released.set()
        self._acceptor.join()
        self._listener.close()
        for relayed in self.connections:
            relayed.break_off()
        for thread in self._threads:
            thread.join()
        for relayed in self.connections:
            relayed.client.close()
            relayed.server.close()

    def _accept_all(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._listener.accept()
                self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((self._address.hostname, self._address.port or 5432))
        except OSError:
            client.close()
            return
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        relayed = Relayed(client, server)
        self.connections.append(relayed)
        for target in (self._forward, self._return):
            thread = threading.Thread(target=target, args=(relayed,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _forward(self, relayed: Relayed) -> None:
        with contextlib.suppress(OSError):
            while chunk := relayed.client.recv(_READ_BYTES):
                room = _KEPT_BYTES_MAX - len(relayed.sent)
                relayed.sent += chunk[:room]
                relayed.server.sendall(chunk)
        with contextlib.suppress(OSError):
            relayed.server.shutdown(socket.SHUT_WR)

    def _return(self, relayed: Relayed) -> None:
        with contextlib.suppress(OSError):
            while chunk := relayed.server.recv(_READ_BYTES):
                self._pass(relayed, chunk)
        with contextlib.suppress(OSError):
            relayed.client.shutdown(socket.SHUT_WR)

    def _pass(self, relayed: Relayed, chunk: bytes) -> None:
        if self._hold_after is not None and relayed is self.first:
            room = max(self._hold_after - relayed.received_bytes, 0)
            if len(chunk) > room:
                self._write(relayed, chunk[:room])
                chunk = chunk[room:]
                self.held.set()
                self._released.wait()
                self.held.clear()
        if self._dribble is None or relayed is not self.first:
            self._write(relayed, chunk)
            return
        size, pause_seconds = self._dribble
        for start in range(0, len(chunk), size):
            self._write(relayed, chunk[start : start + size])
            if pause_seconds:
                time.sleep(pause_seconds)

    def _write(self, relayed: Relayed, data: bytes) -> None:
        relayed.client.sendall(data)
        if self._stall is not None and relayed is self.first:
            size, pause_seconds = self._stall
            if relayed.received_bytes // size != (relayed.received_bytes + len(data)) // size:
                time.sleep(pause_seconds)
        relayed.received_bytes += len(data)
