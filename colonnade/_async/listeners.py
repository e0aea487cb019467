"""Callbacks: for notifications, messages of the server, the connection's end, and its queries."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._arguments import check_name
from colonnade._async.notifications import ConnectionNotifications
from colonnade._logged_query import LoggedQuery
from colonnade._notifications import QUEUE_SIZE
from colonnade._quoting import quote_identifier
from colonnade._shown import shown
from colonnade._transport.farewell import closed_error
from colonnade.errors import InterfaceError, log_message_from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from colonnade._async.connection import Connection
    from colonnade._connection_options import ConnectionParameters
    from colonnade._transport.asyncio import AsyncioTransport
    from colonnade.errors import PostgresLogMessage

    # What a callback returns is thrown away; a coroutine is run first.
    NotificationListener = Callable[["Connection", int, str, str], object]
    LogListener = Callable[["Connection", PostgresLogMessage], object]
    TerminationListener = Callable[["Connection"], object]
    QueryLogger = Callable[[LoggedQuery], object]

# The server cuts longer names, and would then notify under another one: NAMEDATALEN - 1.
CHANNEL_BYTES_MAX = 63


class ListenersMixin:
    """The methods of a connection about callbacks.

    A callback that is added twice is called once; removing one that is not there does nothing. What
    a callback raises is reported and changes nothing for the connection.
    """

    _session: _core.Session
    _transport: AsyncioTransport
    _addr: str | tuple[str, int]
    _params: ConnectionParameters

    def __init__(self) -> None:
        super().__init__()
        self._is_telling = False
        self._listeners: dict[str, list[NotificationListener]] = {}
        # The channels that the server is known to listen on for us, come what may.
        self._channels: set[str] = set()
        self._log_listeners: list[LogListener] = []
        self._termination_listeners: list[TerminationListener] = []
        self._query_loggers: list[QueryLogger] = []
        # What callbacks get in place of the connection: the proxy that a pool has handed out.
        self._pooled: weakref.ref[Any] | None = None
        self._lost: Callable[[], None] | None = None

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        raise NotImplementedError

    def is_in_transaction(self) -> bool:
        raise NotImplementedError

    @property
    def last_timing(self) -> _core.QueryTiming | None:
        raise NotImplementedError

    # Notifications

    async def add_listener(self, channel: str, callback: NotificationListener) -> None:
        """Call `callback(connection, pid, channel, payload)` for each notification of a channel.

        The server is asked to LISTEN for the channel's first callback. Within a transaction that
        takes effect when it commits, and not at all when it is rolled back.
        """
        self._transport.check_callback(callback)
        if self._session.is_closed:
            raise closed_error(self._session)
        name = _checked_channel(channel)
        self._attend()
        callbacks = self._listeners.setdefault(channel, [])
        is_new = callback not in callbacks
        # Before the server is asked: a notification may come along with its answer.
        if is_new:
            callbacks.append(callback)
        if channel in self._channels:
            return
        try:
            await self.execute(f"LISTEN {name}")
        except BaseException:
            if is_new:
                self._forget(channel, callback)
            raise
        if not self.is_in_transaction():
            self._channels.add(channel)

    async def remove_listener(self, channel: str, callback: NotificationListener) -> None:
        """Call this function no more; the last one of a channel ends listening on the server."""
        if self._forget(channel, callback) and not self._session.is_closed:
            self._channels.discard(channel)
            await self.execute(f"UNLISTEN {_checked_channel(channel)}")

    def notifications(
        self,
        *channels: str,
        queue_size: int = QUEUE_SIZE,
        timeout: float | None = None,
        stop_after: int | None = None,
    ) -> ConnectionNotifications:
        """The notifications of channels as an iterator, within `async with`.

        A loop over it ends after `timeout` seconds (None: never; 0: with what is there already) and
        after `stop_after` notifications (None: never); the next loop goes on where it has ended.
        The iterator ends with ConnectionDoesNotExistError when the connection does;
        `colonnade.listen` has one that connects again.

        In asyncio, queries may run on the connection all the while; without, between two
        notifications. Of notifications that nobody takes, `queue_size` are kept and the ones after
        them dropped; the next that is kept has `gap` set.
        """
        return ConnectionNotifications(self, channels, queue_size, timeout, stop_after)

    def _forget(self, channel: str, callback: NotificationListener) -> bool:
        """Forget a channel's callback, and say whether it was the last one."""
        callbacks = self._listeners.get(channel, [])
        if callback not in callbacks:
            return False
        callbacks.remove(callback)
        if callbacks:
            return False
        del self._listeners[channel]
        return True

    # Messages

    def add_log_listener(self, callback: LogListener) -> None:
        """Call `callback(connection, message)` for each notice and warning of the server.

        `message` is a `PostgresLogMessage`. Until the first one is added, messages are dropped.
        """
        self._add(self._log_listeners, callback)

    def remove_log_listener(self, callback: LogListener) -> None:
        """Call this function no more."""
        _remove(self._log_listeners, callback)

    # The end

    def add_termination_listener(self, callback: TerminationListener) -> None:
        """Call `callback(connection)` when the connection is closed, by either side."""
        self._add(self._termination_listeners, callback)

    def remove_termination_listener(self, callback: TerminationListener) -> None:
        """Call this function no more."""
        _remove(self._termination_listeners, callback)

    # Queries

    def add_query_logger(self, callback: QueryLogger) -> None:
        """Call `callback(record)` with a `LoggedQuery` after each query, in good order or failed.

        Told are queries of every kind: of connections, prepared statements and pipelines, each
        fetch of a cursor, each COPY (by its SQL), and each stream of columns when it ends. What the
        driver asks for itself is not.
        """
        self._add(self._query_loggers, callback)

    def remove_query_logger(self, callback: QueryLogger) -> None:
        """Call this function no more."""
        _remove(self._query_loggers, callback)

    @contextlib.contextmanager
    def query_logger(self, callback: QueryLogger) -> Generator[None, None, None]:
        """A block during which `callback(record)` is called after each query."""
        self.add_query_logger(callback)
        try:
            yield
        finally:
            self.remove_query_logger(callback)

    # Inside

    def _add(self, callbacks: list[Any], callback: object) -> None:
        self._transport.check_callback(callback)
        self._attend()
        if callback not in callbacks:
            callbacks.append(callback)

    def _attend(self) -> None:
        """Hear of what comes out of turn; until somebody listens, the transport drops it."""
        if self._session.is_closed:
            return  # Its end was told, and nothing else comes.
        # Weak, so that the transport does not keep a connection that nobody uses.
        this = weakref.ref(self)

        def announced(announcement: _core.Notice | _core.Notification) -> None:
            if (connection := this()) is not None:
                connection._announced(announcement)  # noqa: SLF001 - itself, by a weak reference

        def closed() -> None:
            if (connection := this()) is not None:
                connection._tell_end()  # noqa: SLF001

        self._transport.listener = announced
        self._transport.closed_listener = closed

    def _tell_end(self) -> None:
        self._tell(self._termination_listeners, self._facing())
        if self._lost is not None:
            self._lost()

    def _when_lost(self, callback: Callable[[], None]) -> None:
        """Call a function of the pool's, at once, when the socket is closed."""
        self._lost = callback
        self._attend()

    def _announced(self, announcement: _core.Notice | _core.Notification) -> None:
        if isinstance(announcement, _core.Notice):
            if self._log_listeners:
                message = log_message_from_fields(announcement.fields)
                self._tell(self._log_listeners, self._facing(), message)
            return
        channel = announcement.channel
        if callbacks := self._listeners.get(channel):
            who = self._facing()
            self._tell(callbacks, who, announcement.process_id, channel, announcement.payload)

    def _facing(self) -> Any:
        """What callbacks get: what they were added to."""
        proxy = None if self._pooled is None else self._pooled()
        return self if proxy is None else proxy

    def _tell(self, callbacks: list[Any], *args: object) -> None:
        outer, self._is_telling = self._is_telling, True
        try:
            for callback in tuple(callbacks):
                self._transport.tell(callback, *args)
        finally:
            self._is_telling = outer

    def _queried(
        self,
        query: str,
        args: tuple[object, ...],
        timeout: float | None,
        elapsed: float,
        failure: BaseException | None,
    ) -> None:
        where, who, timing = self._addr, self._params, self.last_timing
        record = LoggedQuery(query, args, timeout, elapsed, failure, where, who, timing)
        self._tell(self._query_loggers, record)


def _checked_channel(channel: str) -> str:
    """The channel's name as SQL text."""
    check_name("channel", channel)
    length = len(channel.encode())
    if not 0 < length <= CHANNEL_BYTES_MAX or "\0" in channel:
        msg = (
            f"a channel's name has 1 to {CHANNEL_BYTES_MAX} bytes, none of them zero, "
            f"not {shown(channel)}"
        )
        raise InterfaceError(msg)
    return quote_identifier(channel)


def _remove(callbacks: list[Any], callback: object) -> None:
    if callback in callbacks:
        callbacks.remove(callback)
