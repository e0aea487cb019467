"""What is told to who comes after the end of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from colonnade import _core


def closed_error(session: _core.Session, text: str = "connection is closed") -> InterfaceError:
    """The error of a call on a closed connection.

    Its cause is what the server said when it ended the connection, where it said anything. In a
    forked child the session itself raises, with what is to be done instead.
    """
    error = InterfaceError(text)
    error.__cause__ = session.farewell
    return error
