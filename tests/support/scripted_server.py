"""A server on a real socket that follows a script, right or wrong.

A script is a list of steps for one connection. Every connection takes the next script; all later
ones repeat the last script::

    with ScriptedServer([READ_STARTUP, Send(GREETING), READ_MESSAGE, Close()]) as server:
        ...
    assert server.received[0]

``received`` has the bytes that each connection sent. If the client closes before the input of a
step arrives, the script ends without an error: the test is about the client.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_POLL_SECONDS = 0.01
_READ_BYTES = 1 << 16


class ScriptEndedError(Exception):
    """The client closed, or the server is being closed."""


@dataclass(frozen=True)
class ReadStartup:
    """Read one packet without a tag: a startup, SSL, GSS or cancel request."""

    def run(self, connection: Connection) -> None:
        (length,) = struct.unpack("!i", connection.read(4))
        connection.read(length - 4)


@dataclass(frozen=True)
class ReadMessage:
    """Read tagged messages up to and including one with the given tag, or just the next one."""

    tag: bytes = b""

    def run(self, connection: Connection) -> None:
        while True:
            tag = connection.read(1)
            (length,) = struct.unpack("!i", connection.read(4))
            connection.read(length - 4)
            if self.tag in (b"", tag):
                return


@dataclass(frozen=True)
class ReadBytes:
    """Read this many bytes."""

    size: int

    def run(self, connection: Connection) -> None:
        connection.read(self.size)


@dataclass(frozen=True)
class Send:
    """Send bytes; with `chunk`, in pieces of that size with a pause after each."""

    data: bytes
    chunk: int = 0
    pause_seconds: float = 0.001

    def run(self, connection: Connection) -> None:
        if not self.chunk:
            connection.write(self.data)
            return
        for start in range(0, len(self.data), self.chunk):
            connection.write(self.data[start : start + self.chunk])
            time.sleep(self.pause_seconds)


@dataclass(frozen=True)
class SendForever:
    """Send the same bytes again and again until the client closes, with a pause after each."""

    data: bytes
    pause_seconds: float = 0.0

    def run(self, connection: Connection) -> None:
        while True:
            connection.write(self.data)
            if self.pause_seconds:
                time.sleep(self.pause_seconds)


@dataclass(frozen=True)
class SendEach:
    """Send the items of an iterator, which may be infinite, one after the other."""

    make: Callable[[], Iterator[bytes]]

    def run(self, connection: Connection) -> None:
        for data in self.make():
            connection.write(data)


@dataclass(frozen=True)
class Answer:
    """Send the result of a function of all bytes received so far."""

    make: Callable[[bytes], bytes]

    def run(self, connection: Connection) -> None:
        connection.write(self.make(bytes(connection.received)))


@dataclass(frozen=True)
class Hang:
    """Send and read nothing until the server is closed."""

    def run(self, connection: Connection) -> None:
        connection.hang()


@dataclass(frozen=True)
class ReadUntilClosed:
    """Read until the client closes."""

    def run(self, connection: Connection) -> None:
        while True:
            connection.read(1)


@dataclass(frozen=True)
class Close:
    """Close properly: the client reads an end of file."""

    def run(self, connection: Connection) -> None:
        connection.close()


@dataclass(frozen=True)
class Reset:
    """Close with a reset: the client's next read fails."""

    def run(self, connection: Connection) -> None:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


@dataclass(frozen=True)
class Call:
    """Run a function of the test, for instance to set an event."""

    function: Callable[[], object]

    def run(self, connection: Connection) -> None:
        del connection
        self.function()


Step = (
    ReadStartup
    | ReadMessage
    | ReadBytes
    | ReadUntilClosed
    | Send
    | SendForever
    | SendEach
    | Answer
    | Hang
    | Close
    | Reset
    | Call
)
READ_STARTUP = ReadStartup()
READ_MESSAGE = ReadMessage()


class Connection:
    """One accepted connection, as the steps see it."""

    def __init__(self, accepted: socket.socket, closing: threading.Event) -> None:
        self.socket = accepted
        self.received = bytearray()
        self._closing = closing
        accepted.settimeout(_POLL_SECONDS)

    def read(self, size: int) -> bytes:
        """Read exactly this many bytes."""
        start = len(self.received)
        while len(self.received) < start + size:
            missing = start + size - len(self.received)
            with contextlib.suppress(TimeoutError):
                chunk = self.socket.recv(min(missing, _READ_BYTES))
                if not chunk:
                    raise ScriptEndedError
                self.received += chunk
            self._check()
        return bytes(self.received[start:])

    def write(self, data: bytes) -> None:
        """Send everything, however slowly the client reads."""
        left = memoryview(data)
        while left:
            with contextlib.suppress(TimeoutError):
                left = left[self.socket.send(left) :]
            self._check()

    def hang(self) -> None:
        """Do nothing until the server is closed."""
        self._closing.wait()

    def close(self) -> None:
        """Close the socket at once; the script is over."""
        self.socket.close()
        raise ScriptEndedError

    def _check(self) -> None:
        if self._closing.is_set():
            raise ScriptEndedError


class ScriptedServer:
    """Listens on 127.0.0.1 and follows scripts; a context manager."""

    host = "127.0.0.1"

    def __init__(self, *scripts: Sequence[Step]) -> None:
        self._scripts = scripts
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._connections: list[Connection] = []
        self._failures: list[BaseException] = []
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
        """The address of this server."""
        return f"postgresql://postgres@{self.host}:{self.port}/postgres"

    @property
    def received(self) -> list[bytes]:
        """The bytes that each connection has sent, in the order of the connections."""
        return [bytes(connection.received) for connection in self._connections]

    def close(self) -> None:
        """End every script, wait for the threads, and raise a step's error."""
        self._closing.set()
        self._acceptor.join()
        for thread in self._threads:
            thread.join()
        self._listener.close()
        if self._failures:
            raise self._failures[0]

    def _accept_all(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                accepted, _ = self._listener.accept()
                connection = Connection(accepted, self._closing)
                number = min(len(self._connections), len(self._scripts) - 1)
                self._connections.append(connection)
                thread = threading.Thread(
                    target=self._follow, args=(connection, self._scripts[number]), daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def _follow(self, connection: Connection, script: Sequence[Step]) -> None:
        try:
            for step in script:
                step.run(connection)
        except (ScriptEndedError, OSError):
            pass
        except Exception as failure:  # noqa: BLE001 - raised in the test's thread
            self._failures.append(failure)
        finally:
            connection.socket.close()


def message(tag: bytes, body: bytes = b"") -> bytes:
    """Return a server message."""
    return tag + struct.pack("!i", len(body) + 4) + body


def parameter(name: str, value: str) -> bytes:
    """Return a ParameterStatus message."""
    return message(b"S", name.encode() + b"\0" + value.encode() + b"\0")


def error(code: str, text: str, severity: str = "ERROR", tag: bytes = b"E") -> bytes:
    """Return an ErrorResponse, or with tag N a NoticeResponse."""
    fields = (b"S" + severity.encode(), b"V" + severity.encode(), b"C" + code.encode())
    return message(tag, b"\0".join((*fields, b"M" + text.encode(), b"", b"")))


def row_description(*columns: tuple[str, int]) -> bytes:
    """Return a RowDescription of binary columns, given as (name, type OID)."""
    fields = b"".join(
        name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, oid, -1, -1, 1)
        for name, oid in columns
    )
    return message(b"T", struct.pack("!h", len(columns)) + fields)


def data_row(*values: bytes | None) -> bytes:
    """Return a DataRow."""
    cells = b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        for value in values
    )
    return message(b"D", struct.pack("!h", len(values)) + cells)


def command_complete(tag: str) -> bytes:
    """Return a CommandComplete message."""
    return message(b"C", tag.encode() + b"\0")


def ready(status: bytes = b"I") -> bytes:
    """Return a ReadyForQuery message."""
    return message(b"Z", status)


AUTHENTICATION_OK = message(b"R", struct.pack("!i", 0))

#: A server's messages to a client without a password, up to the first ReadyForQuery.
GREETING = (
    AUTHENTICATION_OK
    + parameter("server_version", "18.0")
    + parameter("server_encoding", "UTF8")
    + parameter("client_encoding", "UTF8")
    + parameter("DateStyle", "ISO, MDY")
    + parameter("integer_datetimes", "on")
    + parameter("standard_conforming_strings", "on")
    + parameter("TimeZone", "UTC")
    + message(b"K", struct.pack("!ii", 4711, 815))
    + ready()
)
