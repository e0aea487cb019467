"""One connection of a pool: how it is lent, and how it comes back."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING

from colonnade._driver._async.connection import Connection
from colonnade._driver._async.failures import note_limit
from colonnade._driver._async.owners import StreamOwner
from colonnade._driver._async.pool.proxy import PoolConnectionProxy
from colonnade._driver._async.reset import undo_transaction, usual_reset_query
from colonnade._driver.transport.asyncio import deadline
from colonnade.errors import InterfaceError, InterfaceWarning

if TYPE_CHECKING:
    from colonnade._driver.pool_core.asyncio import PoolCore


class PoolConnectionHolder:
    """Keeps one connection for its pool.

    Giving a connection back takes no round trip if possible: the reset is sent ahead of the next
    query, without waiting for it. It is omitted if nothing was asked of the server since the last
    one. Any query may have called a function, and a function may do everything that a reset undoes,
    so no weaker condition is sufficient.
    """

    __slots__ = (
        "__weakref__",
        "_resets_itself",
        "connection",
        "conversation",
        "ending",
        "epoch",
        "expires_at",
        "idle_since",
        "lent_at",
        "pool_core",
        "proxy",
        "timeout",
    )

    def __init__(
        self, pool_core: PoolCore[PoolConnectionHolder], connection: Connection, epoch: int
    ) -> None:
        self.pool_core = pool_core
        self.connection = connection
        self.conversation = connection.conversation
        # Weak: without a reference to the proxy, the connection has no user.
        self.proxy: weakref.ref[PoolConnectionProxy] | None = None
        self.epoch = epoch
        self.expires_at: float | None = None
        self.idle_since = 0.0
        self.lent_at: float | None = None
        """When the connection was lent, if the pool had observers then."""
        self.timeout: float | None = None
        """The time limit of the `acquire`, which also applies to the release."""
        self.ending = "lost"
        """The reason why the socket is closed, if it is."""
        # Users' code may take time, and must be waited for.
        own_class = type(connection)
        self._resets_itself = (
            pool_core.options.reset is not None or own_class.reset is not Connection.reset
        )

    def lend(self, timeout: float | None) -> PoolConnectionProxy:
        """A proxy for the caller that acquires the connection."""
        self.timeout = timeout
        proxy = PoolConnectionProxy(self, self.connection)
        self.proxy = self.conversation.callbacks.pooled = weakref.ref(proxy)
        return proxy

    def detach(self) -> None:
        """Make the proxy stale, and all objects made through it."""
        self.conversation.generation += 1
        if self.proxy is not None:
            proxy = self.proxy()
            if proxy is not None:
                proxy.detach()
            self.proxy = self.conversation.callbacks.pooled = None

    def give_back(self) -> bool:
        """Give the connection back; False if something must be waited for first."""
        self.detach()
        conversation = self.conversation
        session, callbacks = conversation.session, conversation.callbacks
        if session.is_closed:
            self.pool_core.discard(self, "lost")
            return True
        if (
            self._resets_itself
            or conversation.owner is not None
            or conversation.transaction is not None
            or callbacks.listeners
            or callbacks.log_listeners
            or not conversation.transport.is_settled
        ):
            return False
        reason = self.pool_core.end_of(self)
        if reason is not None:
            self.pool_core.retire(self, reason)
            return True
        if session.is_untouched:
            self.pool_core.put_back(self)
            return True
        query = self.connection.get_reset_query()
        if not query:
            if session.transaction_status != "idle":
                return False
            self.pool_core.put_back(self)
            return True
        # Statements other than ours may fail, and the release must raise the error.
        if query != usual_reset_query(conversation) or not session.script_ahead(query):
            return False
        self.pool_core.put_back_unsent(self)
        return True

    async def finish_giving_back(self, timeout: float | None) -> None:
        """Finish what `give_back` could not do at once, even if the caller is cancelled."""
        await self.pool_core.finish(self._reset, timeout)

    def finish_in_background(self) -> None:
        """As `finish_giving_back`, without a caller; a failure costs the connection."""
        self.pool_core.finish_unattended(self._reset, None)

    def closed_by_user(self) -> None:
        """Record that the user has closed the connection."""
        self.detach()
        self.pool_core.discard(self, "user")

    async def _reset(self, timeout: float | None) -> None:
        conversation = self.conversation
        try:
            await conversation.put_away_left_over()
            self._check_not_busy()
            self._warn_of_listeners()
            async with deadline(timeout):
                conversation.end_stream()
                await conversation.transport.settled()
                if not conversation.session.is_closed:
                    await self._reset_session()
        except BaseException as error:
            self.pool_core.discard(self, "reset")
            note_limit(error, "the connection was not reset", timeout)
            raise
        if conversation.session.is_closed:
            self.pool_core.discard(self, "lost")
            return
        reason = self.pool_core.end_of(self)
        if reason is None:
            self.pool_core.put_back(self)
        else:
            self.pool_core.retire(self, reason)

    async def _reset_session(self) -> None:
        connection = self.connection
        callback = self.pool_core.options.reset
        if callback is None:
            await connection.reset()
            return
        conversation = self.conversation
        conversation.callbacks.forget_listeners()
        async with conversation.operation(None):
            await undo_transaction(conversation)
        await callback(connection)

    def _check_not_busy(self) -> None:
        owner = self.conversation.owner
        if owner is None or (isinstance(owner, StreamOwner) and not owner.is_waiting):
            return
        msg = "cannot perform operation: another operation is in progress"
        raise InterfaceError(msg)

    def _warn_of_listeners(self) -> None:
        callbacks = self.conversation.callbacks
        counts = {
            "notification": sum(map(len, callbacks.listeners.values())),
            "log": len(callbacks.log_listeners),
        }
        for kind, count in counts.items():
            if count:
                plural = "" if count == 1 else "s"
                warnings.warn(
                    f"{self.connection!r} is being released to the pool "
                    f"but has {count} active {kind} listener{plural}",
                    InterfaceWarning,
                    stacklevel=2,
                )
