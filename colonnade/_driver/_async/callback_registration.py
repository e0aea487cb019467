"""Callbacks: for notifications, messages of the server, the connection's end, and its queries."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from colonnade._driver._async.long_names import name_bytes_max
from colonnade._driver.notifications.rules import QUEUE_SIZE
from colonnade._driver.sql.quoting import NAME_BYTES_MAX, is_long, is_name, quote_identifier, whole
from colonnade._driver.transport.closed_error import closed_error
from colonnade._words.arguments import check_name, check_text
from colonnade._words.shown import shown
from colonnade.errors import InterfaceValueError

if TYPE_CHECKING:
    from collections.abc import Generator

    from colonnade._driver._async.callbacks import (
        LogListener,
        NotificationListener,
        QueryLogger,
        TerminationListener,
    )
    from colonnade._driver._async.connection_base import ConnectionBase
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.notification_iterator import (
        ConnectionNotifications,
        ListeningConnection,
    )

    class Listener(Protocol):
        """A connection, whose own `execute` runs LISTEN and UNLISTEN."""

        conversation: Conversation

        async def execute(self, query: str) -> str: ...


# Notifications


async def add_listener(self: Listener, channel: str, callback: NotificationListener) -> None:
    """Call `callback(connection, pid, channel, payload)` for each notification of a channel.

    The channel's first callback sends LISTEN to the server. Within a transaction that takes effect
    when it commits, and not at all when it is rolled back.
    """
    conversation, callbacks = self.conversation, self.conversation.callbacks
    conversation.transport.check_callback(callback)
    if conversation.session.is_closed:
        raise closed_error(conversation.session)
    name = await _checked_channel(conversation, channel)
    callbacks.attend()
    listeners = callbacks.listeners.setdefault(channel, [])
    is_new = callback not in listeners
    # Before the server is asked: a notification may arrive together with its answer.
    if is_new:
        listeners.append(callback)
    if channel in callbacks.channels:
        return
    try:
        await self.execute(f"LISTEN {name}")
    except BaseException:
        if is_new:
            callbacks.remove_listener(channel, callback)
        raise
    if not conversation.is_in_transaction:
        callbacks.channels.add(channel)


async def remove_listener(self: Listener, channel: str, callback: NotificationListener) -> None:
    """Stop calling this function; removing a channel's last one ends listening on the server."""
    callbacks = self.conversation.callbacks
    if callbacks.remove_listener(channel, callback) and not self.conversation.session.is_closed:
        callbacks.channels.discard(channel)
        await self.execute(f"UNLISTEN {await _checked_channel(self.conversation, channel)}")


def notifications(
    self: ListeningConnection,
    *channels: str,
    queue_size: int = QUEUE_SIZE,
    timeout: float | None = None,
    stop_after: int | None = None,
) -> ConnectionNotifications:
    """The notifications of channels as an iterator, within `async with`.

    A loop over it ends after `timeout` seconds (None: never; 0: after the notifications already
    there) and after `stop_after` notifications (None: never); the next loop continues where it
    ended. The iterator ends with ConnectionDoesNotExistError when the connection does;
    `colonnade.listen` returns one that reconnects.

    In asyncio, queries may run on the connection at any time; without asyncio, between two
    notifications. At most `queue_size` unread notifications are kept and later ones are dropped;
    the next one kept has `gap` set.
    """
    # Imported here: few programs listen.
    from colonnade._driver._async.notification_iterator import ConnectionNotifications

    return ConnectionNotifications(self, channels, queue_size, timeout, stop_after)


# Messages


def add_log_listener(self: ConnectionBase, callback: LogListener) -> None:
    """Call `callback(connection, message)` for each notice and warning of the server.

    `message` is a `PostgresLogMessage`. Until the first one is added, messages are dropped.
    """
    callbacks = self.conversation.callbacks
    callbacks.add(callbacks.log_listeners, callback)


def remove_log_listener(self: ConnectionBase, callback: LogListener) -> None:
    """Stop calling this function."""
    callbacks = self.conversation.callbacks
    callbacks.remove(callbacks.log_listeners, callback)


# The end


def add_termination_listener(self: ConnectionBase, callback: TerminationListener) -> None:
    """Call `callback(connection)` when the connection is closed, by either side."""
    callbacks = self.conversation.callbacks
    callbacks.add(callbacks.termination_listeners, callback)


def remove_termination_listener(self: ConnectionBase, callback: TerminationListener) -> None:
    """Stop calling this function."""
    callbacks = self.conversation.callbacks
    callbacks.remove(callbacks.termination_listeners, callback)


# Queries


def add_query_logger(self: ConnectionBase, callback: QueryLogger) -> None:
    """Call `callback(record)` with a `LoggedQuery` after each query, whether it succeeds or fails.

    All kinds of queries are logged: those of connections, prepared statements and pipelines, each
    fetch of a cursor, each COPY (by its SQL), and each stream of columns when it ends. The driver's
    own queries are not.
    """
    callbacks = self.conversation.callbacks
    callbacks.add(callbacks.query_loggers, callback)


def remove_query_logger(self: ConnectionBase, callback: QueryLogger) -> None:
    """Stop calling this function."""
    callbacks = self.conversation.callbacks
    callbacks.remove(callbacks.query_loggers, callback)


@contextlib.contextmanager
def query_logger(self: ConnectionBase, callback: QueryLogger) -> Generator[None, None, None]:
    """A block during which `callback(record)` is called after each query."""
    add_query_logger(self, callback)
    try:
        yield
    finally:
        remove_query_logger(self, callback)


async def _checked_channel(conversation: Conversation, channel: str) -> str:
    """The channel's name as SQL text. The server would notify under a name that it has cut."""
    check_text("channel", channel)
    most = await name_bytes_max(conversation) if is_long(channel) else NAME_BYTES_MAX
    if not is_name(channel, most):
        msg = f"channel must have 1 to {most} bytes, none of them zero, not {shown(channel)}"
        raise InterfaceValueError(msg)
    check_name("channel", channel)
    return quote_identifier(whole(channel, most))
