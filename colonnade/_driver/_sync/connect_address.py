# Generated from colonnade/_driver/_async/connect_address.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A function that every connection attempt calls, for tools that trace asyncpg's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._sync.connection import Connection
    from colonnade._driver.connection_options import ConnectionParameters


def connect_to(place: Any, params: ConnectionParameters, connect: Callable[[], Any]) -> Connection:
    """Connect to one address, by the function that tools replace."""
    return _connect_addr(addr=place, params=params, connect=connect)


def _connect_addr(
    *,
    addr: Any,
    params: ConnectionParameters,
    connect: Callable[[], Any],
) -> Connection:
    """Connect to one address; asyncpg has a function of this name that tools replace.

    `addr` is (host, port) or the path of a Unix socket; `params` has the user and the database.
    """
    del addr, params  # For tools that replace this function.
    connection: Connection = connect()
    return connection
