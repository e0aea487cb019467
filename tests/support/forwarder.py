"""A port that leads to one of several servers, as after a restore or behind a balancer."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from types import TracebackType


class Forwarder:
    """New connections go to the server that was chosen last; open ones stay where they are."""

    def __init__(self) -> None:
        self._target = ""
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._listener.getsockname()[1])

    def lead_to(self, dsn: str) -> None:
        """Choose a server, by a DSN with the folder of its Unix socket."""
        words = parse_qs(urlsplit(dsn).query)
        self._target = f"{words['host'][0]}/.s.PGSQL.{words['port'][0]}"

    def __enter__(self) -> Self:
        """Begin to accept connections."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop accepting connections."""
        # A thread that waits in accept() is not woken by close().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                threading.Thread(target=_serve, args=(client, server), daemon=True).start()


def _serve(client: socket.socket, server: socket.socket) -> None:
    with client, server:
        back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        back.start()
        _pass_on(client, server)
        back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
