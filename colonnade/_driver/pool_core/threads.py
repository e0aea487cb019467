"""Connections shared by threads: their owners, the waiting callers, and their number.

There is no thread for them. The thread that acquires or releases a connection opens, closes or
resets it.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import queue
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade._driver.pool_core.state import (
    CLOSE_SECONDS_MAX,
    NO_ROOM,
    OUTRANKED,
    RETRY_SECONDS_MAX,
    RETRY_SECONDS_MIN,
    H,
    PoolState,
)
from colonnade._driver.pool_core.waiting import WaitingList
from colonnade._driver.transport.threads import RECOVERY_TIMEOUT_S, deadline, least, remaining
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver.pool_core.options import PoolOptions
    from colonnade._driver.pool_core.stats import PoolStats
    from colonnade.errors import PoolExhaustedError

P = TypeVar("P", bound=contextlib.AbstractContextManager[Any])

logger = logging.getLogger("colonnade.pool")

# A waiting thread checks for itself after this time: Ctrl-C may have interrupted the thread that
# was about to serve it.
LOOK_AGAIN_S = 1.0
# If a connection for the minimum cannot be opened, the thread tries for at most this time.
OPEN_SECONDS_MAX = 2.0


def made(pool: P) -> P:
    """A new pool as `create_pool` returns it: already open."""
    opened: P = pool.__enter__()
    return opened


def check_callback(name: str, callback: Callable[..., Any] | None) -> None:
    """Refuse a coroutine function, which would not be awaited."""
    if inspect.iscoroutinefunction(callback):
        raise TypeError(
            f"{name} is expected to be a function that is not a coroutine function, "
            f"got {shown(callback)}"
        )


class _Opening:
    """A connection that is being opened: it counts while this object exists."""

    __slots__ = ("__weakref__",)


class PoolCore(PoolState[H]):
    """Lends connections and takes them back.

    A new caller does not go past those already waiting: a free connection goes to the first thread
    of the waiting list. So does a free place, and then that thread opens the connection. A
    connection belongs to the owner of its holder object: the idle ones, a waiting caller's queue,
    or a caller.
    The pool itself has only a weak reference. So if Ctrl-C, which may strike between any two
    steps, drops a holder, its place becomes free and cannot be lost.

    A holder changes owners in a single call of a deque or a queue. The lock separates the threads
    that serve others; it is reentrant, because a finalizer may run within such a step.
    """

    def __init__(
        self,
        options: PoolOptions,
        connect: Callable[[], Any],
        holder_class: Callable[[Any, Any, int], H],
        pool: object,
    ) -> None:
        super().__init__(options, connect, holder_class, pool)
        # The one used last is used next, so the first one has been idle the longest.
        self._idle: deque[H] = deque()
        self._members: set[weakref.ref[H]] = set()
        self._openings: set[weakref.ref[_Opening]] = set()
        # Each waiting caller gets a connection, leave to open one, or an error.
        self._waiting: WaitingList[queue.SimpleQueue[H | _Opening | Exception]] = WaitingList()
        self._waiters = self._waiting.callers
        self._drains: deque[queue.SimpleQueue[None]] = deque()
        self._lock = threading.RLock()
        self._is_serving = False
        self._is_stopping = False
        self._is_terminated = False
        # Counted on request: a finalizer must not wait for a lock.
        self._ended: deque[str] = deque()
        self._retry_pause = RETRY_SECONDS_MIN
        self._retry_due = 0.0

    # Out

    def take(self) -> H | None:
        """An idle connection, unless callers wait for one; None if there is none."""
        holder = None
        while holder is None:
            with self._lock:
                if self._waiters or not self._idle:
                    break
                holder = self._idle.pop()
            if not self._is_fit(holder):
                holder = None
        if self._waiters:
            self._serve()
        self._do_due_work()
        if holder is not None:
            self._hand_out(holder, 0.0)
        return holder

    def wait(self, priority: int = 0, timeout: float | None = None) -> H:
        """A free connection, when it is this caller's turn.

        The caller's `deadline` ends the wait by TimeoutError; `timeout`, in seconds, only counts
        for the turn. Raises PoolExhaustedError if there is no room in the waiting list.
        """
        began = time.monotonic()
        given = self._given(priority, math.inf if timeout is None else began + timeout)
        if isinstance(given, Exception):
            raise given
        holder = None
        # If the connection turns out to be lost, the caller keeps its place and its turn.
        opening = given if isinstance(given, _Opening) else self._new_opening()
        if not isinstance(given, _Opening) and self._is_fit(given):
            holder = given
            self._give_up(opening)
        while holder is None:
            holder = self._opened(opening)
            if self._is_terminated:
                self.discard(holder, "pool")
                raise InterfaceError("pool is closed")
            if holder.epoch != self.epoch:
                opening = self._new_opening()
                self.retire(holder, "expired")
                holder = None
        seconds = time.monotonic() - began
        self.tally.note_wait(seconds)
        self._hand_out(holder, seconds)
        return holder

    # Back

    def put_back(self, holder: H) -> None:
        """Take back a reset connection: it goes to the first waiting caller, or becomes idle."""
        if holder.lent_at is not None:
            self._note_return(holder, holder.lent_at)
        if self._is_terminated:
            self.discard(holder, "pool")
            return
        holder.idle_since = time.monotonic()
        self._idle.append(holder)
        if self._waiters or self._drains:
            self._serve()

    def put_back_unsent(self, holder: H) -> None:
        """The same, if its session must send a reset whose answer no caller awaits."""
        connection = holder.connection
        # A failure here is not reported: the releasing caller has its results.
        with contextlib.suppress(Exception):
            connection.conversation.transport.flush()
        if connection.conversation.session.is_closed:
            self.discard(holder, "lost")
        else:
            self.put_back(holder)

    def retire(self, holder: H, reason: str) -> None:
        """Close a connection gracefully."""
        holder.ending = reason
        try:
            holder.connection.close(timeout=CLOSE_SECONDS_MAX)
        except Exception:  # noqa: BLE001 - it is closed anyway
            holder.connection.terminate()
        self._forget(holder, reason)

    def discard(self, holder: H, reason: str) -> None:
        """Discard a connection that is closed or must be: its place becomes free."""
        if holder.conversation.session.is_closed:
            holder.conversation.transport.abort()
        else:
            holder.connection.terminate()
        self._forget(holder, reason)

    # Life

    def start(self) -> None:
        """Open the first connections, one after the other."""
        try:
            for _ in range(self.options.init_size):
                self.put_back(self._opened(self._new_opening()))
        except BaseException:
            self.terminate()
            raise

    def drain(self, warn_after: float, warn: Callable[[], None]) -> None:
        """Wait until all connections are released and no caller waits; open none for the minimum.

        `warn` is called if that takes longer than `warn_after` seconds.
        """
        self._is_stopping = True
        drained: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._drains.append(drained)
        warn_at: float | None = time.monotonic() + warn_after
        try:
            while not self._is_drained():
                pause = LOOK_AGAIN_S
                if warn_at is not None:
                    pause = max(0.0, min(pause, warn_at - time.monotonic()))
                with contextlib.suppress(queue.Empty):
                    drained.get(timeout=least(pause, remaining()))
                if warn_at is not None and time.monotonic() >= warn_at:
                    warn_at = None
                    if not self._is_drained():
                        warn()
        finally:
            self._drains.remove(drained)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            with contextlib.suppress(IndexError):
                self.retire(self._idle.pop(), "pool")
        self.terminate()

    def terminate(self) -> None:
        """Close every socket at once; waiting and working callers fail."""
        self._is_stopping = self._is_terminated = True
        for member in self._members.copy():
            holder = member()
            if holder is not None:
                holder.detach()
                holder.connection.terminate()
                self._forget(holder, "pool")
        self._idle.clear()
        self._serve()

    def leave_to_parent(self) -> None:
        """Serve no caller, in a forked child: the threads that waited are not here."""
        self._is_stopping = self._is_terminated = True
        self._is_serving = False
        self._lock = threading.RLock()
        self._waiting.clear()
        self._drains.clear()

    def finish(self, work: Callable[..., None], *args: object) -> None:
        """Do work on a connection, while the caller waits."""
        work(*args)

    def finish_unattended(self, work: Callable[..., None], *args: object) -> None:
        """Work on a connection without a result; it must not take long."""
        with contextlib.suppress(Exception), deadline(RECOVERY_TIMEOUT_S):
            work(*args)

    # Figures

    @property
    def size(self) -> int:
        """The number of open connections."""
        return len(self._members)

    @property
    def idle(self) -> int:
        """The number of idle connections."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """The number of waiting callers."""
        return len(self._waiters)

    def stats(self) -> PoolStats:
        """The current figures."""
        with self._lock:
            while self._ended:
                self.tally.closed[self._ended.popleft()] += 1
            return self._figures(
                size=self.size, idle=self.idle, opening=len(self._openings), waiting=self.waiting
            )

    # Inside, lending

    def _given(self, priority: int, due: float) -> H | _Opening | Exception:
        """The result of a caller's wait."""
        own: queue.SimpleQueue[H | _Opening | Exception] = queue.SimpleQueue()
        try:
            refusal = self._admit(own, priority, due)
            if refusal is not None:
                return refusal
            self._serve()
            if own.empty():
                self.tally.waited += 1
            while True:
                try:
                    return own.get(timeout=least(LOOK_AGAIN_S, remaining()))
                except queue.Empty:
                    self._serve()
        except BaseException:
            self.tally.given_up += 1
            self._leave(own)
            raise

    def _admit(
        self, own: queue.SimpleQueue[H | _Opening | Exception], priority: int, due: float
    ) -> PoolExhaustedError | None:
        """Let a caller wait; if there is no room, refuse it or one of lower priority."""
        with self._lock:
            try:
                # A finalizer must not serve in the middle of this; `_serve` follows.
                self._is_serving = True
                if not self._has_room():
                    lowest, last = self._waiting.last() if self._waiters else (priority, own)
                    if lowest >= priority:
                        return self._refusal(NO_ROOM)
                    last.put(self._refusal(OUTRANKED))
                    self._waiting.remove(last)
                self._waiting.add(own, priority, due)
            finally:
                self._is_serving = False
        return None

    def _has_room(self) -> bool:
        """Whether another caller may wait. Callers with a connection in sight do not count."""
        most = self.options.max_waiting
        return most is None or len(self._waiters) < most + len(self._idle) + self._free_places

    def _leave(self, own: queue.SimpleQueue[H | _Opening | Exception]) -> None:
        """Stop waiting, and pass on a connection that has arrived nevertheless."""
        with self._lock:
            self._waiting.remove(own)
        with contextlib.suppress(queue.Empty):
            given = own.get_nowait()
            if isinstance(given, _Opening):
                self._give_up(given)
            elif not isinstance(given, Exception):
                self.put_back(given)
        self._serve()

    def _serve(self) -> None:
        """Serve the waiting callers in order, and notify callers that wait to close."""
        while self._can_serve():
            with self._lock:
                if self._is_serving:
                    # A finalizer, within a step of this same thread, which then checks again.
                    return
                try:
                    self._is_serving = True
                    self._serve_first()
                finally:
                    self._is_serving = False
        if self._drains and self._is_drained():
            for drained in tuple(self._drains):
                drained.put(None)

    def _can_serve(self) -> bool:
        return bool(self._waiters) and (
            bool(self._idle) or self._free_places > 0 or self._is_terminated
        )

    def _serve_first(self) -> None:
        if not self._can_serve():
            return
        # A caller that is gone, or is served twice, drops the connection, and its place becomes
        # free.
        first = self._waiting.first()
        if self._is_terminated:
            first.put(InterfaceError("pool is closed"))
        elif self._idle:
            first.put(self._idle.pop())
        else:
            first.put(self._new_opening())
        self._waiting.note_served(first)

    def _is_drained(self) -> bool:
        return not self._waiters and not self._openings and len(self._members) == len(self._idle)

    def _is_fit(self, holder: H) -> bool:
        """Whether an idle connection is alive and young enough; otherwise it is closed."""
        connection = holder.connection
        # An idle connection is not read: check now whether the server is gone.
        with contextlib.suppress(Exception):
            connection.conversation.transport.give_turn()
        if connection.conversation.session.is_closed:
            self.discard(holder, "lost")
            return False
        # Usually there is no limit, and no call.
        is_young = holder.expires_at is None and holder.epoch == self.epoch
        reason = None if is_young else self.age_of(holder)
        if reason is not None:
            self.retire(holder, reason)
        return reason is None

    def _forget(self, holder: H, reason: str) -> None:
        """Stop counting a connection."""
        member = weakref.ref(holder)
        if member in self._members:
            self._members.discard(member)
            self._ended.append(reason)
        with contextlib.suppress(ValueError):
            self._idle.remove(holder)
        self._serve()
        if holder.lent_at is not None:
            self._note_return(holder, holder.lent_at)

    def _dropped(self, member: weakref.ref[H]) -> None:
        """A connection was dropped without being released."""
        if member in self._members:
            self._members.discard(member)
            self._ended.append("dropped")
            self._serve()

    # Inside, opening

    @property
    def _free_places(self) -> int:
        return self.options.max_size - len(self._members) - len(self._openings)

    def _new_opening(self) -> _Opening:
        opening = _Opening()
        self._openings.add(weakref.ref(opening, self._opening_dropped))
        return opening

    def _give_up(self, opening: _Opening) -> None:
        self._opening_dropped(weakref.ref(opening))

    def _opening_dropped(self, opening: weakref.ref[_Opening]) -> None:
        self._openings.discard(opening)
        self._serve()

    def _opened(self, opening: _Opening) -> H:
        """A new connection, after the user's `init`, in the place of the opening."""
        # A connection opened with the current arguments expires with them.
        epoch = self.epoch
        began = time.monotonic()
        try:
            connection = self._connected()
        except BaseException:
            self.tally.open_failures += 1
            # Not only when it is dropped, because an error keeps the frames of its traceback.
            self._give_up(opening)
            raise
        holder = self._holder_of(connection, epoch)
        self._members.add(weakref.ref(holder, self._dropped))
        self._openings.discard(weakref.ref(opening))
        self._note_created(holder, began)
        return holder

    def _connected(self) -> Any:
        connection = self._connect()
        try:
            self._share_catalog(connection)
            self.options.init(connection)
        except BaseException:
            connection.terminate()
            raise
        if connection.is_closed():
            raise InterfaceError("connection was closed while the pool was opening it")
        return connection

    # Inside: the minimum and the idle

    def _do_due_work(self) -> None:
        """Due work, done by the calling thread: close idle connections, open missing ones."""
        lifetime = self.options.max_inactive_connection_lifetime
        if lifetime and len(self._members) > self.options.min_size:
            self._close_inactive(time.monotonic() - lifetime)
        if self.options.max_lifetime is not None:
            self._close_old()
        if len(self._members) < self.options.min_size:
            self._restore_minimum()

    def _close_inactive(self, latest: float) -> None:
        while len(self._members) > self.options.min_size:
            with self._lock:
                if not self._idle or self._idle[0].idle_since > latest:
                    return
                holder = self._idle.popleft()
            self.retire(holder, "inactive")

    def _close_old(self) -> None:
        for holder in tuple(self._idle):
            reason = self.age_of(holder)
            if reason is not None:
                try:
                    self._idle.remove(holder)
                except ValueError:
                    continue  # Another thread has it.
                self.retire(holder, reason)

    def _restore_minimum(self) -> None:
        """Open one missing connection, with longer pauses after each failure."""
        with self._lock:
            count = len(self._members) + len(self._openings)
            if (
                self._is_stopping
                or time.monotonic() < self._retry_due
                or count >= self.options.min_size
            ):
                return
            opening = self._new_opening()
        try:
            with deadline(OPEN_SECONDS_MAX):
                holder = self._opened(opening)
        except Exception as error:  # noqa: BLE001 - the calling thread did not ask for it
            pause = self._retry_pause
            self._retry_due = time.monotonic() + pause
            self._retry_pause = min(2 * pause, RETRY_SECONDS_MAX)
            logger.warning(
                "the pool has fewer than %d connections, and opening one failed; "
                "the next attempt follows in %.1f s or later: %r",
                self.options.min_size,
                pause,
                error,
            )
            return
        self._retry_pause = RETRY_SECONDS_MIN
        self.put_back(holder)
