"""The error of calls after the end of a connection."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    import socket

    from colonnade import _core


def closed_error(session: _core.Session, text: str = "connection is closed") -> InterfaceError:
    """The error of a call on a closed connection.

    Its cause is the server's reason for ending the connection, if it gave one. In a forked child
    the session itself raises, and its message says what to do instead.
    """
    error = InterfaceError(text)
    error.__cause__ = session.farewell
    return error


def read_last_words(session: _core.Session, link: socket.socket) -> None:
    """Read what the server sent before it closed the connection, after a write has failed."""
    with contextlib.suppress(OSError):
        link.setblocking(False)
        while not session.is_closed and (length := link.recv_into(session.receive_buffer())):
            session.receive_data(length)
