"""Listening that outlives its connection: it reconnects and listens again."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from colonnade._driver._async.connect import connect
from colonnade._driver._async.notification_iterator import Mailbox
from colonnade._driver.notifications.notification import Notification, NotificationGap
from colonnade._driver.notifications.rules import (
    PASSING,
    QUEUE_SIZE,
    STAYING,
    checked_channels,
    pause_before,
)
from colonnade._driver.transport.asyncio import MessageSignal
from colonnade._words.arguments import check_callable, check_number, checked_timeout
from colonnade.errors import InterfaceError, InternalClientError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._driver._async.connection import Connection

    # A coroutine function runs to its end before the next notification is returned.
    GapCallback = Callable[[NotificationGap], object]

_logger = logging.getLogger("colonnade")
_CLOSE_SECONDS_MAX = 5.0


class Listening:
    """Notifications of channels, over as many consecutive connections as necessary.

    Made by `colonnade.listen`: a context manager, and within it an iterator of `Notification`.
    """

    def __init__(
        self,
        dsn: str | None,
        channels: tuple[str, ...],
        options: dict[str, Any],
        *,
        on_gap: GapCallback | None,
        queue_size: int,
        health_interval: float | None,
        health_timeout: float,
        give_up_after: float | None,
    ) -> None:
        check_callable("on_gap", on_gap)
        for option, seconds in (
            ("health_interval", health_interval),
            ("health_timeout", health_timeout),
            ("give_up_after", give_up_after),
        ):
            if seconds is not None or option == "health_timeout":
                check_number(option, seconds)
        self._dsn = dsn
        self._channels = checked_channels(channels)
        self._options = options
        self._on_gap = on_gap
        self._mailbox = Mailbox(queue_size, MessageSignal(None))
        self._health_interval = checked_timeout(health_interval)
        self._health_timeout = health_timeout
        self._give_up_after = checked_timeout(give_up_after)
        self._connection: Connection | None = None
        self._lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._is_entered = False
        self._untold: NotificationGap | None = None
        self._is_after_gap = False

    @property
    def connection_pid(self) -> int | None:
        """The process ID of the server backend that listens; None without a connection."""
        return None if self._connection is None else self._connection.get_server_pid()

    @property
    def queued(self) -> int:
        """The number of unread notifications."""
        return len(self._mailbox)

    async def __aenter__(self) -> Self:
        """Connect and listen; the first attempt is not repeated."""
        if self._is_entered:
            msg = "notifications cannot be listened to twice: call listen() again"
            raise InterfaceError(msg)
        self._is_entered = True
        self._connection = await self._opened()
        self._keeper = asyncio.create_task(self._keep(), name="colonnade.listen")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening, and close the connection. A waiting reader's loop ends."""
        self._mailbox.close()
        keeper, self._keeper = self._keeper, None
        try:
            if keeper is not None:
                keeper.cancel()
                await asyncio.wait([keeper])
            connection = self._connection
            if connection is not None:
                with contextlib.suppress(OSError, PostgresError, InternalClientError):
                    await connection.close(timeout=_CLOSE_SECONDS_MAX)
        finally:
            self._drop()

    def __aiter__(self) -> Self:
        """It is its own iterator."""
        return self

    async def __anext__(self) -> Notification:
        """Wait for the next notification, over any connection.

        Raises the error that prevented reconnecting, if waiting cannot fix it, or if it took longer
        than `give_up_after`.
        """
        if not self._is_entered:
            msg = 'not listening yet: use "async with"'
            raise InterfaceError(msg)
        while True:
            if self._untold is not None:
                await self._tell(self._untold)
            item = await self._mailbox.take()
            if isinstance(item, Notification):
                break
            self._untold, self._is_after_gap = item, True
        is_after_gap, self._is_after_gap = self._is_after_gap, False
        return replace(item, gap=True) if is_after_gap else item

    def __repr__(self) -> str:
        """Its channels, and the number of unread notifications."""
        channels = ", ".join(self._channels)
        state = "no connection" if self._connection is None else f"pid={self.connection_pid}"
        return f"<{type(self).__name__} {channels} {state} queued={len(self._mailbox)}>"

    # Inside

    async def _tell(self, gap: NotificationGap) -> None:
        """Report a gap; if that is cancelled, it is reported again."""
        try:
            if self._on_gap is not None:
                answer = self._on_gap(gap)
                if inspect.isawaitable(answer):
                    await answer
        except Exception:
            self._untold = None
            raise
        self._untold = None

    async def _keep(self) -> None:
        """Keep a connection that listens, until this task is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._until_lost()
                lost_at = loop.time()
                self._drop()
                self._connection = await self._reconnected(lost_at)
                gone = loop.time() - lost_at
                _logger.warning("listening again after %.1f s without a connection", gone)
                self._mailbox.put_gap(NotificationGap("reconnected", None, gone))
        except Exception as error:  # noqa: BLE001 - the reader gets it
            self._mailbox.end(error)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def _until_lost(self) -> None:
        """Wait for the end of the connection, and check periodically that it is alive."""
        connection = self._connection
        while connection is not None and not connection.is_closed():
            try:
                async with asyncio.timeout(self._health_interval):
                    await self._lost.wait()
            except TimeoutError:
                if await self._is_healthy(connection):
                    continue
            return

    async def _is_healthy(self, connection: Connection) -> bool:
        try:
            # Not the timeout of a call, which would first try to cancel the query.
            async with asyncio.timeout(self._health_timeout):
                await connection.execute("")
        except PASSING as error:
            _logger.warning("a connection that listens is lost: %r", error)
            return False
        return True

    async def _reconnected(self, lost_at: float) -> Connection:
        """A new connection, after as many attempts as necessary."""
        loop = asyncio.get_running_loop()
        attempts = 0
        while True:
            await asyncio.sleep(pause_before(attempts))
            attempts += 1
            try:
                return await self._opened()
            except PASSING as error:
                is_late = (
                    self._give_up_after is not None and loop.time() - lost_at >= self._give_up_after
                )
                if is_late or isinstance(error, STAYING):
                    raise
                _logger.warning("no connection to listen on, attempt %d: %r", attempts, error)

    async def _opened(self) -> Connection:
        """A connection that listens on all channels."""
        connection = await connect(self._dsn, **self._options)
        try:
            self._lost.clear()
            connection.add_termination_listener(self._ended)
            async with asyncio.timeout(self._health_timeout):
                for channel in self._channels:
                    await connection.add_listener(channel, self._heard)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _heard(self, _connection: Any, pid: int, channel: str, payload: str) -> None:
        self._mailbox.put(Notification(channel, payload, pid))

    def _ended(self, connection: Any) -> None:
        # The end of a failed attempt's connection, which was never in use.
        if connection is self._connection:
            self._lost.set()


def listen(
    dsn: str | None,
    *channels: str,
    on_gap: GapCallback | None = None,
    queue_size: int = QUEUE_SIZE,
    health_interval: float | None = 30.0,
    health_timeout: float = 10.0,
    give_up_after: float | None = None,
    **options: Any,
) -> Listening:
    """Listen on channels, over a separate connection that is restored whenever it is lost.

        async with colonnade.listen(dsn, "orders", "users") as notifications:
            async for note in notifications:
                print(note.channel, note.payload, note.pid)

    `dsn` and `options` are those of `colonnade.connect`. Entering the block connects, and raises
    the errors of `connect`. After that a lost connection is not an error: a new one is made, with
    pauses that grow to 30 s, and listens again.

    PostgreSQL keeps no notifications for absent listeners. So `on_gap(gap)`, a function or a
    coroutine function, is called as soon as a new connection listens, in the task that iterates:
    use it to check for anything missed. The first notification after a gap has `gap` set.

    At most `queue_size` unread notifications are kept. Later ones are dropped, which is also a gap,
    with their number: a slow reader never holds the server back.

    Every `health_interval` seconds a query checks the connection, so that a silently cut connection
    is noticed; without an answer within `health_timeout` seconds it is lost. None never checks.

    `give_up_after` is the number of seconds without a connection after which the last error is
    raised; None tries forever. Invalid options, and a server that fails to prove its identity,
    raise an error immediately.
    """
    return Listening(
        dsn,
        channels,
        options,
        on_gap=on_gap,
        queue_size=queue_size,
        health_interval=health_interval,
        health_timeout=health_timeout,
        give_up_after=give_up_after,
    )
