# Generated from colonnade/_driver/_async/pool/proxy.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The proxy that `Pool.acquire` lends: a connection until it is given back."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self

from colonnade._driver._sync.connection import Connection
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._driver._sync.pool.lender import LentHolder

    # Its methods are forwarded, with the same types as there.
    _Methods = Connection
else:
    _Methods = object


class PoolConnectionProxy(_Methods):
    """A connection of a pool. It has every method of Connection, until it is given back.

    `isinstance(proxy, Connection)` is true, also for the pool's own `connection_class`. After the
    release every method raises InterfaceError.
    """

    __slots__ = ("__weakref__", "_con", "holder", "pool_core")

    def __init__(self, holder: LentHolder, connection: Connection) -> None:
        self._con: Connection | None = connection
        # Removed together with the connection: a holder's owner has the connection.
        self.holder: LentHolder | None = holder
        self.pool_core = holder.pool_core

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class of the connection: `isinstance` checks it in addition to the type."""
        return Connection if self._con is None else type(self._con)

    def __getattr__(self, name: str) -> Any:
        """The connection's attributes besides the methods of Connection."""
        if self._con is None:
            raise AttributeError(
                f"cannot get {name!r}: connection has been released back to the pool"
            )
        return getattr(self._con, name)

    # Refused at the call, not later, if the connection has been given back.
    def close(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, timeout: float | None = None
    ) -> None:
        """Close the connection; the pool opens another one when it needs it."""
        return self._close(self._held_connection("close"), timeout)

    def terminate(self) -> None:
        """Close the socket at once; the pool opens another connection when it needs it."""
        connection, holder = self._held_connection("terminate"), self.holder
        connection.terminate()
        if holder is not None:
            holder.closed_by_user()

    def __enter__(self) -> Self:
        """The connection itself, until the end of the block."""
        self._held_connection("__enter__")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back, as `Pool.release` does."""
        holder = self.holder
        if holder is not None and not holder.give_back():
            holder.finish_giving_back(holder.timeout)

    def __repr__(self) -> str:
        """The connection, or a note that it was given back."""
        held = "[released]" if self._con is None else repr(self._con)
        return f"<PoolConnectionProxy {held} {id(self):#x}>"

    # Inside

    def _close(self, connection: Connection, timeout: float | None) -> None:
        holder = self.holder
        if holder is not None:
            holder.ending = "user"
        try:
            connection.close(timeout=timeout)
        finally:
            if holder is not None:
                holder.closed_by_user()

    def _held_connection(self, method: str) -> Connection:
        if self._con is None:
            raise InterfaceError(
                f"cannot call Connection.{method}(): connection has been released back to the pool"
            )
        return self._con

    def detach(self) -> None:
        """Give up the connection, which goes back to the pool."""
        self._con = self.holder = None


def _forwarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: PoolConnectionProxy, *args: Any, **kwargs: Any) -> Any:
        connection = self._con
        if connection is None:
            connection = self._held_connection(name)
        return getattr(connection, name)(*args, **kwargs)

    return call


for _name in dir(Connection):
    _method = getattr(Connection, _name)
    # A property is found by `__getattr__`.
    if callable(_method) and not _name.startswith("_") and _name not in vars(PoolConnectionProxy):
        setattr(PoolConnectionProxy, _name, _forwarded(_name, _method))
