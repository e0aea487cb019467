# async-only: file
"""Notifications of one connection as an iterator, and the queue in which they wait."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from colonnade.errors import ConnectionDoesNotExistError, InterfaceError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._async.listeners import ListenersMixin

QUEUE_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Notification:
    """What a NOTIFY said."""

    channel: str
    payload: str
    pid: int
    """The server process that sent it."""
    gap: bool = False
    """Whether notifications before this one may have been lost."""


@dataclass(frozen=True, slots=True)
class NotificationGap:
    """A place where notifications were lost, or may have been."""

    reason: Literal["reconnected", "overflow"]
    """The connection was lost and is there again, or the queue was full."""
    lost: int | None
    """How many were dropped because the queue was full; None where nobody can know."""
    seconds: float | None
    """How long nobody listened; None where the queue was full."""


class _Overflow:
    """Stands in the queue where notifications were dropped."""

    def __init__(self) -> None:
        self.lost = 0


class Mailbox:
    """A queue for one reader, which drops what does not fit, and remembers that it did."""

    def __init__(self, size: int) -> None:
        if size < 1:
            msg = f"queue_size must be 1 or more, not {size}"
            raise ValueError(msg)
        self._size = size
        self._items: deque[Notification | NotificationGap | _Overflow] = deque()
        self._note_count = 0
        self._end: Exception | None = None
        self._is_closed = False
        self._reader: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return self._note_count

    def put(self, note: Notification) -> None:
        """Append a notification; where the queue is full it is dropped and counted."""
        if self._note_count < self._size:
            self._note_count += 1
            self._items.append(note)
        else:
            if not isinstance(self._items[-1], _Overflow):
                self._items.append(_Overflow())
            overflow = self._items[-1]
            if isinstance(overflow, _Overflow):
                overflow.lost += 1
        self._wake()

    def put_gap(self, gap: NotificationGap) -> None:
        """Append a gap."""
        self._items.append(gap)
        self._wake()

    def end(self, error: Exception) -> None:
        """After what is in the queue, the reader gets this error."""
        self._end = error
        self._wake()

    def close(self) -> None:
        """After what is in the queue, the reader's loop ends."""
        self._is_closed = True
        self._wake()

    async def take(self) -> Notification | NotificationGap:
        """The next item, once there is one."""
        if self._reader is not None:
            msg = "notifications are read by another task already"
            raise InterfaceError(msg)
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            if self._end is not None:
                raise self._end
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        item = self._items.popleft()
        if isinstance(item, _Overflow):
            return NotificationGap("overflow", item.lost, None)
        if isinstance(item, Notification):
            self._note_count -= 1
        return item

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class ConnectionNotifications:
    """The notifications of channels, while one connection lasts.

    Made by `Connection.notifications`. A context manager, which begins to listen and ends it, and
    within it an iterator of `Notification`.
    """

    def __init__(
        self, connection: ListenersMixin, channels: tuple[str, ...], queue_size: int
    ) -> None:
        self._connection = connection
        self._channels = checked_channels(channels)
        self._mailbox = Mailbox(queue_size)
        self._is_entered = False
        self._is_after_gap = False

    async def __aenter__(self) -> Self:
        """Listen."""
        self._connection.add_termination_listener(self._ended)
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
        """Listen no more."""
        self._mailbox.close()
        self._connection.remove_termination_listener(self._ended)
        for channel in self._channels:
            await self._connection.remove_listener(channel, self._heard)

    def __aiter__(self) -> Self:
        """It is its own iterator."""
        return self

    async def __anext__(self) -> Notification:
        """The next notification, once it comes.

        Raises ConnectionDoesNotExistError where the connection is lost or closed, after all that
        came before.
        """
        if not self._is_entered:
            msg = 'nobody listens yet: use "async with"'
            raise InterfaceError(msg)
        while not isinstance(item := await self._mailbox.take(), Notification):
            self._is_after_gap = True
        is_after_gap, self._is_after_gap = self._is_after_gap, False
        return replace(item, gap=True) if is_after_gap else item

    def _heard(self, _connection: Any, pid: int, channel: str, payload: str) -> None:
        self._mailbox.put(Notification(channel, payload, pid))

    def _ended(self, _connection: Any) -> None:
        self._mailbox.end(ConnectionDoesNotExistError("connection was closed while listening"))

    def _forget(self) -> None:
        """Without a word to the server, which may be in the middle of something."""
        self._is_entered = False
        self._connection.remove_termination_listener(self._ended)
        for channel in self._channels:
            self._connection._forget(channel, self._heard)  # noqa: SLF001 - a part of it


def checked_channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    """The channels, each once."""
    if not channels:
        msg = "no channel is named to listen on"
        raise InterfaceError(msg)
    return tuple(dict.fromkeys(channels))
