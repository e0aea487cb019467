"""The floor over TLS: OpenSSL, by the standard library, reads and throws the bytes away.

How many bytes the result has is learned by a first reading, which does not count, so the one that
counts looks at no frame. The socket is read in large pieces and OpenSSL decrypts from memory: to
let OpenSSL read the socket itself takes two calls of the system for each record of 8 KiB.
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
#: The last of an answer: how many rows it had, and that the server is ready.
_END = re.compile(rb"SELECT (\d+)\x00Z\x00\x00\x00\x05I$")
_READY = b"Z\x00\x00\x00\x05I"
_TAIL_BYTES = 64
#: The end was read when its bytes came and nothing follows for so long.
_SILENCE_S = 0.2
_TIMEOUT_S = 120.0


@dataclass
class Drain:
    """A connection, and how long the answer to the prepared query is."""

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
        """Hand OpenSSL the next piece that the socket has."""
        if not (piece := self.socket.recv(_PIECE_BYTES)):
            raise ConnectionError("the server closed the connection")
        self.incoming.write(piece)

    def decrypted(self, into: bytearray) -> Iterator[int]:
        """Decrypt what OpenSSL has, over and over into the same place; how many bytes each time."""
        with contextlib.suppress(ssl.SSLWantReadError):
            while True:
                # With a place to write to, it answers a number.
                yield cast("int", self.tls.read(len(into), into))


def connect(dsn: str) -> Drain:
    """Log in over TLS; only a server that asks for no password will do."""
    parts = urlsplit(dsn)
    address = (parts.hostname or "127.0.0.1", parts.port or 5432)
    raw = socket.create_connection(address, timeout=_TIMEOUT_S)
    raw.sendall(_SSL_REQUEST)
    if raw.recv(1) != b"S":
        raise ConnectionError("the server has no TLS")
    context = ssl.create_default_context()
    # The certificate is one of a minute ago, and nobody is deceived here.
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
    """Learn how many bytes the answer has."""
    _ask(drain, sql)
    drain.answer_bytes, tail = _read_answer(drain)
    if (end := _END.search(tail)) is not None:
        drain.rows = int(end[1])


def fetch(drain: Drain, sql: str) -> Fetched:
    """Read as many bytes again, and keep none."""
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
        # No parameters, and all columns in the binary format.
        + _message(b"B", b"\0\0" + struct.pack("!hhhh", 0, 0, 1, 1))
        + _message(b"E", b"\0" + struct.pack("!i", 0))
        + _message(b"S", b"")
    )


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _read_answer(drain: Drain) -> tuple[int, bytes]:
    """Read until the server is ready: how many bytes it took, and the last of them."""
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
