"""Connections shared by tasks: their owners, the waiting callers, and their number."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import _get_running_loop
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
from colonnade._driver.transport.loops import of_another_loop
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from colonnade._driver.pool_core.options import PoolOptions
    from colonnade._driver.pool_core.stats import PoolStats
    from colonnade._driver.transport.asyncio import Transport

P = TypeVar("P")

logger = logging.getLogger("colonnade.pool")


def made(pool: P) -> P:
    """A new pool as `create_pool` returns it: the caller awaits it."""
    return pool


def check_callback(name: str, callback: Callable[..., Any] | None) -> None:
    """Any callable is accepted: its result is awaited."""
    del name, callback


class PoolCore(PoolState[H]):
    """Lends connections and takes them back.

    Two rules make it fair and lose no connection. A new caller does not go past those already
    waiting: a free connection goes to the first of the waiting list. And at each moment a
    connection belongs either to the idle ones, to a caller, or to a task of the pool.

    Separate tasks open connections, so a caller that stops waiting does not stop the opening.
    """

    def __init__(
        self,
        options: PoolOptions,
        connect: Callable[[], Any],
        holder_class: Callable[[Any, Any, int], H],
        pool: object,
    ) -> None:
        super().__init__(options, connect, holder_class, pool)
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        # The one used last is used next, so the first one has been idle the longest.
        self._idle: deque[H] = deque()
        self._holders: set[H] = set()
        self._expiries: dict[H, asyncio.TimerHandle] = {}
        # Connections being closed; they count while the server may still have them.
        self._retiring: set[H] = set()
        self._opening = 0
        self._waiting: WaitingList[asyncio.Future[H]] = WaitingList()
        self._waiters = self._waiting.callers
        self._tasks: set[asyncio.Task[None]] = set()
        self._openers: set[asyncio.Task[None]] = set()
        self._restoring: asyncio.Task[None] | None = None
        self._reaper: asyncio.TimerHandle | None = None
        self._unsent: list[Transport] = []
        self._drained: asyncio.Future[None] | None = None
        self._stopping = asyncio.Event()
        self._is_terminated = False

    # Out

    def take(self) -> H | None:
        """An idle connection, unless callers wait for one; None if there is none."""
        if _get_running_loop() is not self._loop:
            raise of_another_loop("pool", self._loop)
        if self._waiters:
            return None
        idle = self._idle
        while idle:
            holder = idle.pop()
            if holder.conversation.session.is_closed:
                self.discard(holder, "lost")
                continue
            # Usually there is no limit, and no call.
            is_young = holder.expires_at is None and holder.epoch == self.epoch
            reason = None if is_young else self.age_of(holder)
            if reason is None:
                self._hand_out(holder, 0.0)
                return holder
            self.retire(holder, reason)
        return None

    async def wait(self, priority: int = 0, timeout: float | None = None) -> H:
        """A free connection, when it is this caller's turn.

        The caller ends the wait after `timeout` seconds; here they only count for the turn. Raises
        PoolExhaustedError if there is no room in the waiting list.
        """
        tally = self.tally
        began = time.monotonic()
        if self.options.max_waiting is not None:
            self._make_room(self.options.max_waiting, priority)
        waiter: asyncio.Future[H] = self._loop.create_future()
        if timeout is None:
            self._waiting.add(waiter, priority)
        else:
            self._waiting.add(waiter, priority, began + timeout)
        self._grow()
        tally.waited += 1
        try:
            holder = await waiter
        except BaseException:
            self._waiting.remove(waiter)
            if waiter.done() and not waiter.cancelled():
                if waiter.exception() is None:
                    # It arrived, but the caller no longer takes it.
                    self._free(waiter.result())
            else:
                tally.given_up += 1
                self._check_drained()
            raise
        seconds = time.monotonic() - began
        tally.note_wait(seconds)
        self._hand_out(holder, seconds)
        return holder

    # Back

    def put_back(self, holder: H) -> None:
        """Take back a reset connection: it goes to the first waiting caller, or becomes idle."""
        if holder.lent_at is not None:
            self._note_return(holder, holder.lent_at)
        if self._waiters:
            self._hand_on(holder)
            return
        holder.idle_since = self._loop.time()
        self._idle.append(holder)
        if self._reaper is None:
            self._watch_idle()
        if self._drained is not None:
            self._check_drained()

    def put_back_unsent(self, holder: H) -> None:
        """The same, if its session must send a reset whose answer no caller awaits.

        It is sent before the loop's next iteration ends. If a query comes before that, one packet
        contains both.
        """
        self.put_back(holder)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(holder.conversation.transport)

    def retire(self, holder: H, reason: str) -> None:
        """Close a connection gracefully, in the background."""
        if not self._forget(holder, reason):
            return
        self._retiring.add(holder)
        self._spawn(self._close(holder))

    def discard(self, holder: H, reason: str) -> None:
        """Discard a connection that is closed or must be: its place becomes free."""
        if holder.conversation.session.is_closed:
            holder.conversation.transport.abort()
        else:
            holder.connection.terminate()
        if self._forget(holder, reason):
            self._make_up()

    # Life

    async def start(self) -> None:
        """Open the first connections: one alone, to surface errors, and then the others."""
        count = self.options.init_size
        try:
            if count:
                self.put_back(await self._opened())
            if count > 1:
                await self._open_together(count - 1)
        except BaseException:
            self.terminate()
            raise

    def check_loop(self) -> None:
        """Refuse to wait in another loop than the pool's own."""
        if _get_running_loop() is not self._loop and not self._loop.is_closed():
            raise of_another_loop("pool", self._loop)

    async def drain(self, warn_after: float, warn: Callable[[], None]) -> None:
        """Wait until all connections are released and no caller waits; open none for the minimum.

        `warn` is called if that takes longer than `warn_after` seconds.
        """
        if self._loop.is_closed():
            # Lent connections can no longer be released.
            self.terminate()
            return
        self._stopping.set()
        if self._drained is None:
            self._drained = self._loop.create_future()
        self._check_drained()
        warning = self._loop.call_later(warn_after, warn)
        try:
            await asyncio.shield(self._drained)
        finally:
            warning.cancel()

    async def close(self) -> None:
        """Close the idle connections, and wait for all that are being closed."""
        if self._is_terminated:
            return
        for opener in self._openers:
            opener.cancel()
        while self._idle:
            self.retire(self._idle.pop(), "pool")
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self.terminate()

    def terminate(self) -> None:
        """Close every socket at once; waiting and working callers fail."""
        self._is_terminated = True
        if self._loop.is_closed():
            self._end_after_loop()
            return
        self._stopping.set()
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        for task in self._tasks:
            task.cancel()
        waiters = list(self._waiters)
        self._waiting.clear()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(InterfaceError("pool is closed"))
        for holder in (*self._holders, *self._retiring):
            holder.detach()
            self._forget(holder, "pool")
            holder.connection.terminate()
        self._idle.clear()
        self._retiring.clear()
        self._check_drained()

    def _end_after_loop(self) -> None:
        """Close every socket after the loop is closed: no caller waits, and no task can run."""
        self._waiting.clear()
        self._tasks.clear()
        self._reaper = self._drained = None
        for holder in (*self._holders, *self._retiring):
            holder.detach()
            self._forget(holder, "pool")
            holder.connection.terminate()

    def leave_to_parent(self) -> None:
        """Serve no caller, in a forked child: the loop is the parent's."""
        self._is_terminated = True
        self._stopping.set()
        self._waiting.clear()
        self._reaper = self._drained = None

    async def finish(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Wait for work on a connection, which continues if the caller is cancelled."""
        if _get_running_loop() is not self._loop:
            raise of_another_loop("pool", self._loop)
        task = self._spawn(work(*args))
        # A failure after the caller was cancelled is not reported.
        task.add_done_callback(_seen)
        await asyncio.wait([task])
        task.result()

    def finish_unattended(
        self, work: Callable[..., Coroutine[Any, Any, None]], *args: object
    ) -> None:
        """Work on a connection in the background."""
        self._spawn(work(*args)).add_done_callback(_seen)

    # Figures

    @property
    def size(self) -> int:
        """The number of open connections."""
        return len(self._holders)

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
        return self._figures(
            size=self.size, idle=self.idle, opening=self._opening, waiting=self.waiting
        )

    # Inside, lending

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """A task that the closing pool waits for."""
        # Not by the loop's task factory: an eager task would run in the middle of this code.
        task = asyncio.Task(coroutine, loop=self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _make_room(self, most: int, priority: int) -> None:
        """Refuse the new caller, or one of lower priority, if as many wait as may.

        Callers for whom there is a place, or will be when a connection is closed, do not count.
        """
        if len(self._waiters) < most + self.options.max_size - len(self._holders):
            return
        if self._waiters:
            lowest, last = self._waiting.last()
            if lowest < priority:
                self._waiting.remove(last)
                # One whose task was cancelled has left already.
                if not last.done():
                    last.set_exception(self._refusal(OUTRANKED))
                return
        raise self._refusal(NO_ROOM)

    def _next_waiter(self) -> asyncio.Future[H] | None:
        """The next caller to be served, which from now on does not wait."""
        while self._waiters:
            waiter = self._waiting.first()
            self._waiting.note_served(waiter)
            if not waiter.done():
                return waiter
        return None

    def _hand_on(self, holder: H) -> None:
        waiter = self._next_waiter()
        if waiter is None:
            self.put_back(holder)
        else:
            waiter.set_result(holder)

    def _free(self, holder: H) -> None:
        """Offer a new connection, or one whose caller did not take it."""
        if holder.connection.is_closed() or self._is_terminated:
            self.discard(holder, "lost")
        elif (reason := self.age_of(holder)) is not None:
            self.retire(holder, reason)
        else:
            self.put_back(holder)

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        for transport in unsent:
            transport.send()

    def _forget(self, holder: H, reason: str) -> bool:
        """Stop counting a connection; False if it was not counted."""
        if holder not in self._holders:
            return False
        self._holders.remove(holder)
        expiry = self._expiries.pop(holder, None)
        if expiry is not None:
            expiry.cancel()
        if holder in self._idle:
            self._idle.remove(holder)
        self.tally.closed[reason] += 1
        if holder.lent_at is not None:
            self._note_return(holder, holder.lent_at)
        return True

    def _make_up(self) -> None:
        """A place is free: for waiting callers, then for the minimum."""
        self._grow()
        self._keep_minimum()
        self._check_drained()

    def _check_drained(self) -> None:
        drained = self._drained
        if drained is None or drained.done():
            return
        if not self._waiters and len(self._holders) == len(self._idle):
            drained.set_result(None)

    # Inside, opening

    @property
    def _free_places(self) -> int:
        return self.options.max_size - len(self._holders) - len(self._retiring) - self._opening

    def _grow(self) -> None:
        """Open a connection for each waiting caller, while there are places."""
        while (
            self._opening < len(self._waiters) and self._free_places > 0 and not self._is_terminated
        ):
            self._opening += 1
            self._spawn_opener(self._open_for_waiter())

    def _spawn_opener(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """A task that a closing pool cancels."""
        task = self._spawn(coroutine)
        self._openers.add(task)
        task.add_done_callback(self._openers.discard)
        return task

    async def _open_for_waiter(self) -> None:
        await self._open_one()

    async def _open_one(self) -> Exception | None:
        """Open a connection already counted as opening.

        A failure goes to the first waiting caller, and is also returned.
        """
        try:
            holder = await self._opened()
        except BaseException as error:
            self._opening -= 1
            self.tally.open_failures += 1
            self._fail_first(error)
            self._make_up()
            if not isinstance(error, Exception):
                raise
            return error
        self._opening -= 1
        self._free(holder)
        return None

    def _fail_first(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            failure: Exception = InterfaceError("the opening of a connection was cancelled")
            failure.__cause__ = error
        else:
            failure = error
        waiter = self._next_waiter()
        if waiter is not None:
            waiter.set_exception(failure)

    async def _opened(self) -> H:
        """A new connection, after the user's `init`, that counts."""
        # A connection opened with the current arguments expires with them.
        epoch = self.epoch
        began = time.monotonic()
        connection = await self._connect()
        try:
            self._share_catalog(connection)
            await self.options.init(connection)
        except BaseException:
            connection.terminate()
            raise
        if connection.is_closed():
            raise InterfaceError("connection was closed while the pool was opening it")
        holder = self._holder_of(connection, epoch)
        self._holders.add(holder)
        if holder.expires_at is not None:
            seconds = holder.expires_at - time.monotonic()
            self._expiries[holder] = self._loop.call_later(seconds, self._close_old, holder)
        connection.conversation.callbacks.when_lost(lambda: self._lost(holder))
        self._note_created(holder, began)
        return holder

    async def _open_together(self, count: int) -> None:
        tasks = [asyncio.ensure_future(self._opened()) for _ in range(count)]
        try:
            for holder in await asyncio.gather(*tasks):
                self.put_back(holder)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    # Inside: the minimum, the idle and the lost

    def _keep_minimum(self) -> None:
        if self._restoring is None and not self._stopping.is_set() and self._lacks():
            self._restoring = self._spawn_opener(self._restore_minimum())

    def _lacks(self) -> bool:
        count = len(self._holders) + self._opening
        return count < self.options.min_size and self._free_places > 0

    async def _restore_minimum(self) -> None:
        """Open connections up to `min_size`, with longer pauses after each failure."""
        pause = RETRY_SECONDS_MIN
        try:
            while self._lacks() and not self._stopping.is_set():
                self._opening += 1
                failure = await self._open_one()
                if failure is None:
                    pause = RETRY_SECONDS_MIN
                    continue
                # There may be no waiting caller to tell.
                logger.warning(
                    "the pool has fewer than %d connections, and opening one failed; "
                    "the next attempt follows in %.1f s: %r",
                    self.options.min_size,
                    pause,
                    failure,
                )
                try:
                    async with asyncio.timeout(pause):
                        await self._stopping.wait()
                except TimeoutError:
                    pause = min(2 * pause, RETRY_SECONDS_MAX)
        finally:
            self._restoring = None

    def _watch_idle(self) -> None:
        """One timer for all: the first idle connection is the first to be closed."""
        lifetime = self.options.max_inactive_connection_lifetime
        if lifetime and self._idle and len(self._holders) > self.options.min_size:
            due = self._idle[0].idle_since + lifetime
            self._reaper = self._loop.call_at(due, self._close_inactive)

    def _close_inactive(self) -> None:
        self._reaper = None
        latest = self._loop.time() - self.options.max_inactive_connection_lifetime
        while (
            self._idle
            and len(self._holders) > self.options.min_size
            and self._idle[0].idle_since <= latest
        ):
            self.retire(self._idle.popleft(), "inactive")
        self._watch_idle()

    def _close_old(self, holder: H) -> None:
        """The lifetime of a connection is over. A lent one is closed when it is given back."""
        if holder in self._idle:
            self.retire(holder, "max_lifetime")

    def _lost(self, holder: H) -> None:
        """The socket of a connection was closed."""
        if self._forget(holder, holder.ending):
            self._make_up()

    async def _close(self, holder: H) -> None:
        connection = holder.connection
        try:
            await connection.close(timeout=CLOSE_SECONDS_MAX)
        except Exception:  # noqa: BLE001 - it is closed anyway
            connection.terminate()
        finally:
            self._retiring.discard(holder)
            if not self._is_terminated:
                self._make_up()


def _seen(task: asyncio.Task[None]) -> None:
    """Log the error that ended a connection without a caller."""
    if not task.cancelled():
        task.exception()
