"""The floor: writes ready-made messages to a blocking socket and does nothing else."""

from __future__ import annotations

import getpass
import os
import socket
import struct
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benches.ingest.data import empty_target, read_bytes, rows_in, target_table
from benches.measure.measurement import Fetched

TITLE = "ready-made bytes"
KIND = "floor"
REQUIRES = ()

_PIECE = 256 * 1024
_VERSION = 196_608


class _Link:
    """A socket to a server that requires no password."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.messages: list[bytes] = []
        address = urlsplit(dsn)
        host = parse_qs(address.query).get("host", [address.hostname or "127.0.0.1"])[0]
        port = address.port or 5432
        if host.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(os.path.join(host, f".s.PGSQL.{port}"))  # noqa: PTH118
        else:
            self.socket = socket.create_connection((host, port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        user = address.username or getpass.getuser()
        words = ["user", user, "database", address.path.lstrip("/") or user]
        body = struct.pack("!i", _VERSION) + b"".join(word.encode() + b"\0" for word in words)
        self.socket.sendall(struct.pack("!i", len(body) + 5) + body + b"\0")
        self.file = self.socket.makefile("rb")
        self.until(b"Z")

    def until(self, wanted: bytes) -> str:
        """Read messages up to the wanted type; return the last command tag among them."""
        tag = ""
        while True:
            kind, length = struct.unpack("!ci", self.file.read(5))
            body = self.file.read(length - 4)
            if kind == b"E":
                raise RuntimeError(body)
            if kind == b"R" and struct.unpack_from("!i", body)[0]:
                raise RuntimeError("the server asks for a password")
            if kind == b"C":
                tag = body[:-1].decode()
            if kind == wanted:
                return tag

    def query(self, sql: str, wanted: bytes) -> None:
        """Send a simple query."""
        self.socket.sendall(b"Q" + struct.pack("!i", len(sql) + 5) + sql.encode() + b"\0")
        self.until(wanted)


def connect(dsn: str) -> Any:
    """Open the socket."""
    return _Link(dsn)


def prepare(link: Any, sql: str) -> None:
    """Build the messages."""
    empty_target(link.dsn, sql)
    data = read_bytes(link.dsn, sql)
    pieces = (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
    link.messages = [b"d" + struct.pack("!i", len(piece) + 4) + piece for piece in pieces]


def fetch(link: Any, sql: str) -> Fetched:
    """Send the messages."""
    link.query(f"COPY {'.'.join(target_table(sql))} FROM STDIN (FORMAT binary)", b"G")
    for message in link.messages:
        link.socket.sendall(message)
    link.socket.sendall(b"c\0\0\0\4")
    return Fetched(None, rows_in(link.until(b"Z")))


def close(link: Any) -> None:
    """Close the socket."""
    link.file.close()
    link.socket.close()
