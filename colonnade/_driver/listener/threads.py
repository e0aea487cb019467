"""The blocking `listen`: the iterating thread reads and reconnects; there is no background task."""

from __future__ import annotations

import contextlib
import inspect
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from colonnade._driver._sync.connect import connect
from colonnade._driver._sync.notification_iterator import LoopLimits, Mailbox
from colonnade._driver.notifications.notification import Notification, NotificationGap
from colonnade._driver.notifications.rules import (
    PASSING,
    QUEUE_SIZE,
    STAYING,
    checked_channels,
    pause_before,
)
from colonnade._driver.transport.threads import MessageSignal, deadline, remaining
from colonnade._words.arguments import check_callable, check_number, checked_timeout
from colonnade._words.shown import shown
from colonnade.errors import (
    ConnectionDoesNotExistError,
    InterfaceError,
    InterfaceTypeError,
    InternalClientError,
    PostgresError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade._driver._sync.connection import Connection

    GapCallback = Callable[[NotificationGap], object]

_logger = logging.getLogger("colonnade")
_CLOSE_SECONDS_MAX = 5.0


class Listening:
    """The notifications of some channels, over a connection that is replaced when it is lost.

    Made by `colonnade.sync.listen`. It is a context manager, and within its block an iterator of
    `Notification`. `timeout` and `stop_after` start again with each loop.
    """

    def __init__(
        self,
        dsn: str | None,
        channels: tuple[str, ...],
        options: dict[str, Any],
        *,
        timeout: float | None,
        stop_after: int | None,
        on_gap: GapCallback | None,
        queue_size: int,
        health_interval: float | None,
        health_timeout: float,
        give_up_after: float | None,
    ) -> None:
        if inspect.iscoroutinefunction(on_gap):
            msg = f"on_gap must be a function that is not a coroutine function, not {shown(on_gap)}"
            raise InterfaceTypeError(msg)
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
        self._loop_limits = LoopLimits(timeout, stop_after)
        self._on_gap = on_gap
        # Reading puts notifications here, and `__next__` takes them.
        self._mailbox = Mailbox(queue_size, MessageSignal(None))
        self._health_interval = checked_timeout(health_interval)
        self._health_timeout = health_timeout
        self._give_up_after = checked_timeout(give_up_after)
        self._connection: Connection | None = None
        self._is_entered = False
        self._is_closed = False
        self._untold: NotificationGap | None = None
        self._is_after_gap = False
        self._lost_at = 0.0
        self._attempts = 0
        self._next_attempt_at = 0.0

    @property
    def connection_pid(self) -> int | None:
        """The process ID of the listening server process; None while there is no connection."""
        return None if self._connection is None else self._connection.get_server_pid()

    @property
    def queued(self) -> int:
        """The number of received notifications that were not yet iterated over."""
        return len(self._mailbox)

    def __enter__(self) -> Self:
        """Connect and listen, in one attempt. Raises the errors of `colonnade.sync.connect`."""
        if self._is_entered:
            msg = "notifications cannot be listened to twice: call listen() again"
            raise InterfaceError(msg)
        self._is_entered = True
        self._connection = self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Stop listening and close the connection; a loop ends after the received notifications."""
        self._is_closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError, PostgresError, InternalClientError):
                connection.close(timeout=_CLOSE_SECONDS_MAX)

    def __iter__(self) -> Self:
        """Begin a loop: the object is its own iterator."""
        self._loop_limits.begin()
        return self

    def __next__(self) -> Notification:
        """Wait for the next notification, and reconnect if the connection is lost.

        Raises the error of the last attempt to connect, if waiting cannot help or `give_up_after`
        has passed.
        """
        if not self._is_entered:
            msg = 'not listening yet: use "with"'
            raise InterfaceError(msg)
        if self._loop_limits.is_full:
            raise StopIteration
        while True:
            if self._untold is not None:
                self._tell(self._untold)
            if not len(self._mailbox):
                self._read_what_is_there()
            limit = deadline(self._loop_limits.seconds_left())
            try:
                with limit:
                    item = self._taken()
            except TimeoutError:
                if limit.expired():
                    raise StopIteration from None
                raise
            if isinstance(item, Notification):
                break
            self._untold, self._is_after_gap = item, True
        self._loop_limits.count()
        is_after_gap, self._is_after_gap = self._is_after_gap, False
        return replace(item, gap=True) if is_after_gap else item

    def __repr__(self) -> str:
        """The channels, and the number of notifications that wait."""
        channels = ", ".join(self._channels)
        state = "no connection" if self._connection is None else f"pid={self.connection_pid}"
        return f"<{type(self).__name__} {channels} {state} queued={len(self._mailbox)}>"

    # Internals

    def _tell(self, gap: NotificationGap) -> None:
        """Call `on_gap`. After a KeyboardInterrupt the next loop calls it again."""
        try:
            if self._on_gap is not None:
                self._on_gap(gap)
        except Exception:
            self._untold = None
            raise
        self._untold = None

    def _read_what_is_there(self) -> None:
        """Read the data that has arrived, so that even a loop with a timeout of 0 gets it."""
        connection = self._connection
        if connection is not None and not connection.is_closed():
            connection.conversation.transport.give_turn()

    def _taken(self) -> Notification | NotificationGap:
        """Wait for the next item, and reconnect as often as needed."""
        while not self._mailbox.has_items:
            if self._is_closed:
                raise StopIteration
            connection = self._connection
            if connection is None:
                self._connect_again()
            elif connection.is_closed() or not self._hears(connection):
                self._lose(connection)
        return self._mailbox.take()

    def _hears(self, connection: Connection) -> bool:
        """Wait for data; return False if the connection is lost."""
        limit = deadline(self._health_interval)
        try:
            with limit:
                MessageSignal(connection.conversation).wait()
        except TimeoutError:
            if not limit.expired():
                raise
            return self._is_healthy(connection)
        except (ConnectionDoesNotExistError, OSError) as error:
            _logger.warning("a connection that listens is lost: %r", error)
            return False
        return True

    def _is_healthy(self, connection: Connection) -> bool:
        limit = deadline(self._health_timeout)
        try:
            with limit:
                connection.execute("")
        except PASSING as error:
            if isinstance(error, TimeoutError) and not limit.expired():
                raise
            _logger.warning("a connection that listens is lost: %r", error)
            return False
        return True

    def _lose(self, connection: Connection) -> None:
        connection.terminate()
        self._connection = None
        self._lost_at = time.monotonic()
        self._attempts = 0
        self._next_attempt_at = self._lost_at + pause_before(0)

    def _connect_again(self) -> None:
        """Make one more attempt, after its pause; if the loop ends first, the next one makes it."""
        _pause(self._next_attempt_at - time.monotonic())
        self._attempts += 1
        self._next_attempt_at = time.monotonic() + pause_before(self._attempts)
        try:
            self._connection = self._opened()
        except PASSING as error:
            gone = time.monotonic() - self._lost_at
            is_late = self._give_up_after is not None and gone >= self._give_up_after
            if is_late or isinstance(error, STAYING):
                raise
            _logger.warning("no connection to listen on, attempt %d: %r", self._attempts, error)
            return
        gone = time.monotonic() - self._lost_at
        _logger.warning("listening again after %.1f s without a connection", gone)
        self._mailbox.put_gap(NotificationGap("reconnected", None, gone))

    def _opened(self) -> Connection:
        """Return a connection that listens on all channels."""
        connection: Connection = connect(self._dsn, **self._options)
        try:
            with deadline(self._health_timeout):
                for channel in self._channels:
                    connection.add_listener(channel, self._heard)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _heard(self, _connection: Any, pid: int, channel: str, payload: str) -> None:
        self._mailbox.put(Notification(channel, payload, pid))


def _pause(seconds: float) -> None:
    """Sleep; raise TimeoutError if the enclosing deadline ends first."""
    left = remaining()
    if left is not None and left < seconds:
        time.sleep(left)
        raise TimeoutError
    time.sleep(max(0.0, seconds))


def listen(
    dsn: str | None,
    *channels: str,
    timeout: float | None = None,
    stop_after: int | None = None,
    on_gap: GapCallback | None = None,
    queue_size: int = QUEUE_SIZE,
    health_interval: float | None = 30.0,
    health_timeout: float = 10.0,
    give_up_after: float | None = None,
    **options: Any,
) -> Listening:
    """Listen on channels, over a separate connection that is replaced whenever it is lost.

        with colonnade.sync.listen(dsn, "orders", "users") as notifications:
            for note in notifications:
                print(note.channel, note.payload, note.pid)

    `dsn` and `options` are as in `colonnade.sync.connect`, except for `timeout`: a loop ends after
    that many seconds (None: no limit; 0: after the notifications that have arrived), or after
    `stop_after` notifications (None: no limit). The next loop continues where the last one ended.

    Entering the block connects, and raises the errors of `connect`. A connection that is lost later
    is not an error: the iterating thread reconnects, with pauses that grow to 30 s, and listens
    again.

    PostgreSQL does not keep notifications for a client that is not connected. So the iterating
    thread calls the function `on_gap(gap)` as soon as a new connection listens: use it to look for
    changes that were missed. The next notification has `gap` set.

    Only iterating reads from the connection. Between loops, notifications wait in the socket, and
    then on the server. If one read receives more than `queue_size` notifications, the later ones
    are dropped; this is a gap, too, and `on_gap` gets their number.

    After `health_interval` seconds of silence the connection is tested with an empty query, because
    a connection can be cut without notice; it is replaced if no answer arrives within
    `health_timeout` seconds. With `health_interval=None` it is never tested.

    `give_up_after` limits the seconds without a connection: then the error of the last attempt is
    raised. None retries forever. Invalid options and failed authentication are raised at once.
    """
    return Listening(
        dsn,
        channels,
        options,
        timeout=timeout,
        stop_after=stop_after,
        on_gap=on_gap,
        queue_size=queue_size,
        health_interval=health_interval,
        health_timeout=health_timeout,
        give_up_after=give_up_after,
    )
