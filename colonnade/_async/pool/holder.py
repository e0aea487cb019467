"""One connection of a pool: how it is lent, and how it comes back."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING

from colonnade._async.connection import Connection
from colonnade._async.operation import StreamHold, name_limit
from colonnade._async.pool.proxy import PoolConnectionProxy
from colonnade._transport.asyncio import deadline
from colonnade.errors import InterfaceError, InterfaceWarning

if TYPE_CHECKING:
    from colonnade._supply.asyncio import Supply


class PoolConnectionHolder:
    """Keeps one connection for its pool.

    Giving a connection back takes no round trip where that can be: the reset is sent ahead of the
    next query, and nobody waits for it. It is left out where nothing was asked of the server since
    the last one. Anything else that was asked may have called a function, and a function may do
    all that a reset undoes, so that no less is proof.
    """

    __slots__ = (
        "__weakref__",
        "_resets_itself",
        "connection",
        "ending",
        "epoch",
        "expires_at",
        "idle_since",
        "proxy",
        "supply",
        "timeout",
    )

    def __init__(
        self, supply: Supply[PoolConnectionHolder], connection: Connection, epoch: int
    ) -> None:
        self.supply = supply
        self.connection = connection
        # Weak: where nobody has the proxy any more, nobody has the connection.
        self.proxy: weakref.ref[PoolConnectionProxy] | None = None
        self.epoch = epoch
        self.expires_at: float | None = None
        self.idle_since = 0.0
        self.timeout: float | None = None
        """The limit of the `acquire`, which holds for the release as well."""
        self.ending = "lost"
        """Why the socket is closed, if it is."""
        # What a user's code does has to be waited for.
        own_class = type(connection)
        self._resets_itself = (
            supply.options.reset is not None or own_class.reset is not Connection.reset
        )

    def lend(self, timeout: float | None) -> PoolConnectionProxy:
        """A proxy for whoever has acquired the connection."""
        self.timeout = timeout
        proxy = PoolConnectionProxy(self, self.connection)
        self.proxy = self.connection._pooled = weakref.ref(proxy)
        return proxy

    def detach(self) -> None:
        """Make the proxy stale, and all that was made through it."""
        connection = self.connection
        connection._generation += 1
        if self.proxy is not None:
            proxy = self.proxy()
            if proxy is not None:
                proxy._detach()
            self.proxy = connection._pooled = None

    def give_back(self) -> bool:
        """Give the connection back; False where something has to be waited for first."""
        self.detach()
        connection = self.connection
        session = connection._session
        if session.is_closed:
            self.supply.discard(self, "lost")
            return True
        if (
            self._resets_itself
            or connection._owner is not None
            or connection._transaction is not None
            or connection._listeners
            or connection._log_listeners
            or not connection._transport.is_settled
        ):
            return False
        reason = self.supply.end_of(self)
        if reason is not None:
            self.supply.retire(self, reason)
            return True
        if session.is_untouched:
            self.supply.put_back(self)
            return True
        query = connection.get_reset_query()
        if not query:
            if session.transaction_status != "idle":
                return False
            self.supply.put_back(self)
            return True
        # Other statements than ours may fail, which is to be raised from the release.
        if query != connection._own_reset_query() or not session.script_ahead(query):
            return False
        self.supply.put_back_unsent(self)
        return True

    async def finish_giving_back(self, timeout: float | None) -> None:
        """What `give_back` could not do at once. It goes on where the caller is cancelled."""
        await self.supply.finish(self._reset, timeout)

    def finish_in_background(self) -> None:
        """The same when nobody waits; what fails costs the connection."""
        self.supply.finish_unattended(self._reset, None)

    def closed_by_user(self) -> None:
        """Whoever has acquired the connection has closed it."""
        self.detach()
        self.supply.discard(self, "user")

    async def _reset(self, timeout: float | None) -> None:
        connection = self.connection
        try:
            await connection._put_away_left_over()
            self._check_not_busy()
            self._warn_of_listeners()
            async with deadline(timeout):
                connection._end_stream()
                await connection._transport.settled()
                if not connection.is_closed():
                    await self._reset_session()
        except BaseException as error:
            self.supply.discard(self, "reset")
            name_limit(error, "the connection was not reset", timeout)
            raise
        if connection.is_closed():
            self.supply.discard(self, "lost")
            return
        reason = self.supply.end_of(self)
        if reason is None:
            self.supply.put_back(self)
        else:
            self.supply.retire(self, reason)

    async def _reset_session(self) -> None:
        connection = self.connection
        callback = self.supply.options.reset
        if callback is None:
            await connection.reset()
            return
        connection._forget_listeners()
        async with connection._operation(None):
            await connection._undo_transaction()
        await callback(connection)

    def _check_not_busy(self) -> None:
        owner = self.connection._owner
        if owner is None or (isinstance(owner, StreamHold) and not owner.is_waiting):
            return
        msg = "cannot perform operation: another operation is in progress"
        raise InterfaceError(msg)

    def _warn_of_listeners(self) -> None:
        connection = self.connection
        counts = {
            "notification": sum(map(len, connection._listeners.values())),
            "log": len(connection._log_listeners),
        }
        for kind, count in counts.items():
            if count:
                plural = "" if count == 1 else "s"
                warnings.warn(
                    f"{connection!r} is being released to the pool "
                    f"but has {count} active {kind} listener{plural}",
                    InterfaceWarning,
                    stacklevel=2,
                )
