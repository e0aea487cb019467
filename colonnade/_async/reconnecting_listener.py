# async-only: file
"""Listening that outlives its connection: it connects again, and listens again."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from colonnade._arguments import check_callable, check_number, checked_timeout
from colonnade._async.connect import connect
from colonnade._async.notification_iterator import Mailbox
from colonnade._notification import (
    PASSING,
    QUEUE_SIZE,
    STAYING,
    Notification,
    NotificationGap,
    checked_channels,
    pause_before,
)
from colonnade._transport.asyncio import Bell
from colonnade.errors import InterfaceError, InternalClientError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._async.connection import Connection

    # A coroutine function is waited for before the next notification is given.
    GapCallback = Callable[[NotificationGap], object]

_logger = logging.getLogger("colonnade")
_CLOSE_SECONDS_MAX = 5.0


class Listening:
    """Notifications of channels, over as many connections as it takes, one after the other.

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
        self._mailbox = Mailbox(queue_size, Bell(None))
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
        """The server process that listens now; None while there is no connection."""
        return None if self._connection is None else self._connection.get_server_pid()

    @property
    def queued(self) -> int:
        """How many notifications wait to be read."""
        return len(self._mailbox)

    async def __aenter__(self) -> Self:
        """Connect and listen; the first attempt is the only one."""
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
        """Listen no more, and close the connection. A waiting reader's loop ends."""
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
        """The next notification, once it comes, over whichever connection.

        Raises what kept it from connecting again, where that is not to be mended by waiting, or
        took longer than `give_up_after`.
        """
        if not self._is_entered:
            msg = 'nobody listens yet: use "async with"'
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
        """What it listens to, and how many notifications wait to be read."""
        channels = ", ".join(self._channels)
        state = "no connection" if self._connection is None else f"pid={self.connection_pid}"
        return f"<{type(self).__name__} {channels} {state} queued={len(self._mailbox)}>"

    # Inside

    async def _tell(self, gap: NotificationGap) -> None:
        """Tell of a gap; where that is cancelled, it is told again."""
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
        """Have a connection that listens, until this task is cancelled."""
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
        """Wait for the end of the connection, and ask now and then whether it is alive."""
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
        """Another connection, after as many attempts as it takes."""
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
        # An attempt that failed ends a connection too, which was none of ours yet.
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
    """Listen on channels, over a connection of its own that is made anew whenever it is lost.

        async with colonnade.listen(dsn, "orders", "users") as notifications:
            async for note in notifications:
                print(note.channel, note.payload, note.pid)

    `dsn` and `options` are those of `colonnade.connect`. Entering the block connects, and raises
    what `connect` raises. After that a lost connection is not an error: it is made again, with
    pauses that grow to 30 s, and listens again.

    PostgreSQL keeps no notification for who is not there. So `on_gap(gap)`, a function or a
    coroutine function, is called as soon as a new connection listens, in the task that iterates:
    look there for what may have been missed. The first notification after it has `gap` set.

    Of notifications that nobody takes, `queue_size` are kept. Those after them are dropped, which
    is such a gap too, with their number: the server is never held back by a slow reader.

    Every `health_interval` seconds the server is asked for a sign of life, so that a connection
    that was cut without a word is noticed; one that gives none for `health_timeout` seconds is
    lost. None asks never.

    `give_up_after` is the number of seconds without a connection after which the
    last error is raised; None tries forever. Options that cannot be used, and a server that fails
    to prove who it is, are raised at once.
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
