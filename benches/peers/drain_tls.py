"""The floor over TLS: OpenSSL, by the standard library, reads and throws the bytes away.

An unmeasured first reading learns the number of bytes, so the measured one need not look at
frames. The socket is read in large pieces and OpenSSL decrypts from memory: if OpenSSL read the
socket itself, each record of 8 KiB would take two system calls.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "drain over TLS"
KIND = "floor"
REQUIRES = ()

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_PROTOCOL = 196608
_PIECE_BYTES = 256 * 1024
#: The end of an answer: the row count, then ReadyForQuery.
_END = re.compile(rb"SELECT (\d+)\x00Z\x00\x00\x00\x05I$")
_READY = b"Z\x00\x00\x00\x05I"
_TAIL_BYTES = 64
#: The answer has ended if its last bytes match and nothing follows for this long.
_SILENCE_S = 0.2
_TIMEOUT_S = 120.0


@dataclass
class Drain:
    """A connection, and the length of the answer to the prepared query."""

    socket: socket.socket
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    tls: ssl.SSLObject
    answer_bytes: int = 0
    rows: int = 0

    def send(self, data: bytes) -> None:
        """Encrypt and send."""
        self.tls.write(data)
        self.socket.sendall(self.outgoing.read())

    def receive(self) -> None:
        """Give OpenSSL the next bytes of the socket."""
        if not (piece := self.socket.recv(_PIECE_BYTES)):
            raise ConnectionError("the server closed the connection")
        self.incoming.write(piece)

    def decrypted(self, into: bytearray) -> Iterator[int]:
        """Decrypt the pending data piece by piece into one buffer; yield the bytes of each."""
        with contextlib.suppress(ssl.SSLWantReadError):
            while True:
                # Given a buffer, `read` returns a number.
                yield cast("int", self.tls.read(len(into), into))


def connect(dsn: str) -> Drain:
    """Log in over TLS; the server must not require a password."""
    parts = urlsplit(dsn)
    address = (parts.hostname or "127.0.0.1", parts.port or 5432)
    raw = socket.create_connection(address, timeout=_TIMEOUT_S)
    raw.sendall(_SSL_REQUEST)
    if raw.recv(1) != b"S":
        raise ConnectionError("the server has no TLS")
    context = ssl.create_default_context()
    # The benchmark has just created the certificate, so verifying it would prove nothing.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    drain = Drain(raw, incoming, outgoing, context.wrap_bio(incoming, outgoing))
    _shake_hands(drain)
    user = (parts.username or "postgres").encode()
    database = parts.path.lstrip("/").encode() or user
    body = b"user\0" + user + b"\0database\0" + database + b"\0\0"
    drain.send(struct.pack("!ii", len(body) + 8, _PROTOCOL) + body)
    _read_answer(drain)
    return drain


def prepare(drain: Drain, sql: str) -> None:
    """Learn the length of the answer in bytes."""
    _ask(drain, sql)
    drain.answer_bytes, tail = _read_answer(drain)
    if (end := _END.search(tail)) is not None:
        drain.rows = int(end[1])


def fetch(drain: Drain, sql: str) -> Fetched:
    """Read as many bytes again, and discard them."""
    _ask(drain, sql)
    place = bytearray(_PIECE_BYTES)
    left = drain.answer_bytes
    while left > 0:
        drain.receive()
        left -= sum(drain.decrypted(place))
    return Fetched(None, drain.rows)


def close(drain: Drain) -> None:
    """Close the socket."""
    drain.socket.close()


def _shake_hands(drain: Drain) -> None:
    while True:
        try:
            drain.tls.do_handshake()
        except ssl.SSLWantReadError:
            drain.socket.sendall(drain.outgoing.read())
            drain.receive()
        else:
            drain.socket.sendall(drain.outgoing.read())
            return


def _ask(drain: Drain, sql: str) -> None:
    drain.send(
        _message(b"P", b"\0" + sql.encode() + b"\0\0\0")
        # Send no parameters, and ask for all columns in the binary format.
        + _message(b"B", b"\0\0" + struct.pack("!hhhh", 0, 0, 1, 1))
        + _message(b"E", b"\0" + struct.pack("!i", 0))
        + _message(b"S", b"")
    )


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _read_answer(drain: Drain) -> tuple[int, bytes]:
    """Read until the server is ready; return the number of bytes and the last of them."""
    place = bytearray(_PIECE_BYTES)
    total, tail = 0, b""
    while True:
        drain.receive()
        for count in drain.decrypted(place):
            total += count
            tail = (tail + place[max(0, count - _TAIL_BYTES) : count])[-_TAIL_BYTES:]
        silent = tail.endswith(_READY) and not select.select([drain.socket], [], [], _SILENCE_S)[0]
        if silent:
            return total, tail
