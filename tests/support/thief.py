"""An impostor between a client and a server with TLS, with a certificate of its own.

He terminates the client's TLS and opens his own to the server, so he can read all data and change
the server's messages. Channel binding prevents this.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.authority import Issued

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_POLL_SECONDS = 0.01
_LIMIT_SECONDS = 20.0
_READ_BYTES = 1 << 16


class Thief:
    """Listens on 127.0.0.1 in front of a server with TLS; a context manager."""

    def __init__(
        self,
        server_port: int,
        presented: Issued,
        change: Callable[[bytes], bytes] = lambda said: said,
    ) -> None:
        self._server_port = server_port
        self._context = presented.server_context()
        self._change = change
        self.read = bytearray()
        """The clients' data in clear."""
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_POLL_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve_all, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        self._listener.close()

    def _serve_all(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._listener.accept()
                with client, contextlib.suppress(OSError):
                    self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_LIMIT_SECONDS)
        client.recv(len(_SSL_REQUEST), socket.MSG_WAITALL)
        client.sendall(b"S")
        with (
            self._context.wrap_socket(client, server_side=True) as near,
            tls_socket(self._server_port) as far,
        ):
            self._pass(near, far)

    def _pass(self, near: ssl.SSLSocket, far: ssl.SSLSocket) -> None:
        while not self._closing.is_set():
            waiting = [side for side in (near, far) if side.pending()]
            ready = waiting or select.select([near, far], [], [], _POLL_SECONDS)[0]
            for side in ready:
                received = side.recv(_READ_BYTES)
                if not received:
                    return
                if side is near:
                    self.read += received
                    far.sendall(received)
                else:
                    near.sendall(self._change(received))


def tls_socket(port: int) -> ssl.SSLSocket:
    """A TLS socket to a server on this machine, without verification."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    link = socket.create_connection(("127.0.0.1", port), timeout=_LIMIT_SECONDS)
    try:
        link.sendall(_SSL_REQUEST)
        assert link.recv(1) == b"S"
        return context.wrap_socket(link)
    except BaseException:
        link.close()
        raise


def without_plus(said: bytes) -> bytes:
    """A server's list of mechanisms without the one with channel binding."""
    offered = b"SCRAM-SHA-256-PLUS\0"
    if offered not in said:
        return said
    assert said[:1] == b"R"
    (length,) = struct.unpack_from("!i", said, 1)
    shorter = struct.pack("!i", length - len(offered))
    return said[:1] + shorter + said[5:].replace(offered, b"")
