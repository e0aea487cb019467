# Generated from colonnade/_driver/_async/login.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The user, database and server of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colonnade._driver.connection_options import ConnectionParameters


class Login(NamedTuple):
    """The user, database and server: they stay the same for the life of a connection."""

    address: str
    """The server, for people."""
    place: str | tuple[str, int]
    """The server, for programs: the path of its socket, or host and port."""
    user: str
    database: str
    parameters: ConnectionParameters
