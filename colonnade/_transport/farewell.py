"""The error of calls after the end of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from colonnade import _core


def closed_error(session: _core.Session, text: str = "connection is closed") -> InterfaceError:
    """The error of a call on a closed connection.

    Its cause is the server's reason for ending the connection, if it gave one. In a forked child
    the session itself raises, and its message says what to do instead.
    """
    error = InterfaceError(text)
    error.__cause__ = session.farewell
    return error
