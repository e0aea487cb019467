"""An iterator over the notifications of one connection, and its queue."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from colonnade._driver.notifications.notification import Notification, NotificationGap
from colonnade._driver.notifications.rules import checked_channels
from colonnade._driver.transport.asyncio import MessageSignal, deadline
from colonnade._words.arguments import check_count, checked_timeout
from colonnade.errors import ConnectionDoesNotExistError, InterfaceError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._driver._async.callbacks import NotificationListener
    from colonnade._driver._async.conversation import Conversation


class ListeningConnection(Protocol):
    """The part of a connection that the iterator needs."""

    conversation: Conversation

    async def add_listener(self, channel: str, callback: NotificationListener) -> None:
        """Call a function for each notification of a channel."""

    async def remove_listener(self, channel: str, callback: NotificationListener) -> None:
        """Stop calling this function."""


class _Overflow:
    """Marks the place in the queue where notifications were dropped."""

    def __init__(self) -> None:
        self.lost = 0


class Mailbox:
    """A queue for one reader, which drops items when it is full and records that it did."""

    def __init__(self, size: int, signal: MessageSignal) -> None:
        check_count("queue_size", size)
        self._size = size
        self._items: deque[Notification | NotificationGap | _Overflow] = deque()
        self._note_count = 0
        self._end: Exception | None = None
        self._is_closed = False
        self._signal = signal

    def __len__(self) -> int:
        return self._note_count

    @property
    def has_items(self) -> bool:
        """Whether an item, even just a gap, can be taken."""
        return bool(self._items)

    def put(self, note: Notification) -> None:
        """Append a notification; if the queue is full, it is dropped and counted."""
        if self._note_count < self._size:
            self._note_count += 1
            self._items.append(note)
        else:
            if not isinstance(self._items[-1], _Overflow):
                self._items.append(_Overflow())
            overflow = self._items[-1]
            if isinstance(overflow, _Overflow):
                overflow.lost += 1
        self._signal.notify()

    def put_gap(self, gap: NotificationGap) -> None:
        """Append a gap."""
        self._items.append(gap)
        self._signal.notify()

    def end(self, error: Exception) -> None:
        """Raise this error in the reader after the queue's items."""
        self._end = error
        self._signal.notify()

    def close(self) -> None:
        """End the reader's loop after the queue's items."""
        self._is_closed = True
        self._signal.notify()

    async def take(self) -> Notification | NotificationGap:
        """The next item, once there is one."""
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            if self._end is not None:
                raise self._end
            await self._signal.wait()
        item = self._items.popleft()
        if isinstance(item, _Overflow):
            return NotificationGap("overflow", item.lost, None)
        if isinstance(item, Notification):
            self._note_count -= 1
        return item


class LoopLimits:
    """The limits of a loop over notifications in time and number."""

    def __init__(self, timeout: float | None, stop_after: int | None) -> None:
        self._timeout = checked_timeout(timeout)
        if stop_after is not None:
            check_count("stop_after", stop_after)
        self._stop_after = stop_after
        self._ends_at: float | None = None
        self._left = stop_after

    def begin(self) -> None:
        """Begin a loop."""
        self._ends_at = None if self._timeout is None else time.monotonic() + self._timeout
        self._left = self._stop_after

    @property
    def is_full(self) -> bool:
        """Whether the loop has had its number of notifications."""
        return self._left == 0

    def count(self) -> None:
        """Count a notification given to the loop."""
        if self._left is not None:
            self._left -= 1

    def seconds_left(self) -> float | None:
        """The rest of the loop's time; None without a limit."""
        if self._timeout is None:
            return None
        if self._ends_at is None:
            self.begin()
        return max(0.0, (self._ends_at or 0.0) - time.monotonic())


class ConnectionNotifications:
    """The notifications of channels, for the life of one connection.

    Made by `Connection.notifications`. A context manager, which begins to listen and ends it, and
    within it an iterator of `Notification`. `timeout` and `stop_after` apply to each loop anew.
    """

    def __init__(
        self,
        connection: ListeningConnection,
        channels: tuple[str, ...],
        queue_size: int,
        timeout: float | None,
        stop_after: int | None,
    ) -> None:
        self._connection = connection
        self._callbacks = connection.conversation.callbacks
        self._channels = checked_channels(channels)
        self._mailbox = Mailbox(queue_size, MessageSignal(connection.conversation))
        self._loop_limits = LoopLimits(timeout, stop_after)
        self._is_entered = False
        self._is_after_gap = False

    async def __aenter__(self) -> Self:
        """Listen."""
        self._callbacks.add(self._callbacks.termination_listeners, self._ended)
        self._is_entered = True
        try:
            for channel in self._channels:
                await self._connection.add_listener(channel, self._heard)
        except BaseException:
            self._forget()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening."""
        self._mailbox.close()
        self._callbacks.remove(self._callbacks.termination_listeners, self._ended)
        for channel in self._channels:
            await self._connection.remove_listener(channel, self._heard)

    def __aiter__(self) -> Self:
        """It is its own iterator."""
        self._loop_limits.begin()
        return self

    async def __anext__(self) -> Notification:
        """Wait for the next notification.

        Raises ConnectionDoesNotExistError if the connection is lost or closed, after all earlier
        notifications.
        """
        if not self._is_entered:
            msg = 'not listening yet: use "async with"'
            raise InterfaceError(msg)
        if self._loop_limits.is_full:
            raise StopAsyncIteration
        while not isinstance(item := await self._taken(), Notification):
            self._is_after_gap = True
        self._loop_limits.count()
        is_after_gap, self._is_after_gap = self._is_after_gap, False
        return replace(item, gap=True) if is_after_gap else item

    async def _taken(self) -> Notification | NotificationGap:
        """The next item; ends the loop when its time has run out."""
        if not len(self._mailbox) and not self._connection.conversation.session.is_closed:
            # Items already in the queue come without a wait.
            await self._connection.conversation.transport.give_turn()
        limit = deadline(self._loop_limits.seconds_left())
        try:
            async with limit:
                return await self._mailbox.take()
        except TimeoutError:
            if limit.expired():
                raise StopAsyncIteration from None
            raise

    def _heard(self, _connection: Any, pid: int, channel: str, payload: str) -> None:
        self._mailbox.put(Notification(channel, payload, pid))

    def _ended(self, _connection: Any) -> None:
        self._mailbox.end(ConnectionDoesNotExistError("connection was closed while listening"))

    def _forget(self) -> None:
        """Forget without telling the server, which may be busy."""
        self._is_entered = False
        self._callbacks.remove(self._callbacks.termination_listeners, self._ended)
        for channel in self._channels:
            self._callbacks.remove_listener(channel, self._heard)
