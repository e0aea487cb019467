# Generated from colonnade/_driver/_async/callbacks.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The functions that a connection calls, and their arguments."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.errors import log_message_from_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver.logged_query import LoggedQuery
    from colonnade._driver.transport.threads import Transport
    from colonnade.errors import PostgresLogMessage

    # The connection, or the pool's proxy of it, comes first. A callback's return value is
    # discarded; a coroutine is run first.
    NotificationListener = Callable[[Any, int, str, str], object]
    LogListener = Callable[[Any, PostgresLogMessage], object]
    TerminationListener = Callable[[Any], object]
    QueryLogger = Callable[[LoggedQuery], object]


class Callbacks:
    """The callbacks of one connection: for notifications, messages, its queries and its end.

    A callback added twice is called once; removing an unknown one does nothing. An exception in a
    callback is reported and does not affect the connection.
    """

    def __init__(self, session: _core.Session, transport: Transport) -> None:
        self._session = session
        self._transport = transport
        self.is_telling = False
        """Whether a callback runs at this moment."""
        self.listeners: dict[str, list[NotificationListener]] = {}
        self.channels: set[str] = set()
        """The channels on which the server certainly listens for this connection."""
        self.log_listeners: list[LogListener] = []
        self.termination_listeners: list[TerminationListener] = []
        self.query_loggers: list[QueryLogger] = []
        self.pooled: weakref.ref[Any] | None = None
        """The proxy that a pool has handed out: callbacks receive it instead of the connection."""
        self._connection: weakref.ref[Any] | None = None
        self._lost: Callable[[], None] | None = None

    def face(self, connection: object) -> None:
        """Pass this connection to callbacks, without keeping it alive."""
        self._connection = weakref.ref(connection)

    @property
    def connection(self) -> Any:
        """The connection that owns the callbacks; None once it has no other references."""
        return None if self._connection is None else self._connection()

    def add(self, callbacks: list[Any], callback: object) -> None:
        """Add one to the callbacks of a kind."""
        self._transport.check_callback(callback)
        self.attend()
        if callback not in callbacks:
            callbacks.append(callback)

    def remove(self, callbacks: list[Any], callback: object) -> None:
        """Take one from the callbacks of a kind."""
        if callback in callbacks:
            callbacks.remove(callback)

    def remove_listener(self, channel: str, callback: NotificationListener) -> bool:
        """Forget a channel's callback, and say whether it was the last one."""
        callbacks = self.listeners.get(channel, [])
        if callback not in callbacks:
            return False
        callbacks.remove(callback)
        if callbacks:
            return False
        del self.listeners[channel]
        return True

    def forget_listeners(self) -> None:
        """Forget the listeners for notifications and messages, as a reset does."""
        self.listeners.clear()
        self.channels.clear()
        self.log_listeners.clear()

    def attend(self) -> None:
        """Start to receive messages out of turn; without listeners the transport drops them."""
        if self._session.is_closed:
            return  # Its end was announced, and nothing else comes.
        # Weak, so that the transport does not keep an unused connection alive.
        this = weakref.ref(self)

        def announced(announcement: _core.Notice | _core.Notification) -> None:
            if (callbacks := this()) is not None:
                callbacks.announce(announcement)

        def closed() -> None:
            if (callbacks := this()) is not None:
                callbacks.tell_end()

        self._transport.listener = announced
        self._transport.closed_listener = closed

    def when_lost(self, callback: Callable[[], None]) -> None:
        """Call a function of the pool immediately when the socket is closed."""
        self._lost = callback
        self.attend()

    def leave_pool(self) -> None:
        """Tell the pool nothing more: it was dropped together with the connection."""
        self._lost = None

    def tell(self, callbacks: list[Any], *args: object) -> None:
        """Call each of these callbacks."""
        outer, self.is_telling = self.is_telling, True
        try:
            for callback in tuple(callbacks):
                self._transport.tell(callback, *args)
        finally:
            self.is_telling = outer

    def announce(self, announcement: _core.Notice | _core.Notification) -> None:
        """Pass on a message that the server sent out of turn."""
        if isinstance(announcement, _core.Notice):
            if self.log_listeners:
                message = log_message_from_fields(announcement.fields)
                self.tell(self.log_listeners, self._facing(), message)
            return
        channel = announcement.channel
        if callbacks := self.listeners.get(channel):
            who = self._facing()
            self.tell(callbacks, who, announcement.process_id, channel, announcement.payload)

    def tell_end(self) -> None:
        """Announce that the socket is closed."""
        self.tell(self.termination_listeners, self._facing())
        if self._lost is not None:
            self._lost()

    def _facing(self) -> Any:
        """The connection or proxy that callbacks receive."""
        proxy = None if self.pooled is None else self.pooled()
        return self.connection if proxy is None else proxy
