# async-only: file
"""The connections of a pool: who has one, who waits for one, and how many there are."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._async.pool.holder import PoolConnectionHolder
from colonnade._async.pool.stats import PoolStats, Tally
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from colonnade._async.connection import Connection
    from colonnade._async.pool.options import PoolOptions
    from colonnade._transport.asyncio import AsyncioTransport

logger = logging.getLogger("colonnade.pool")

# After a connection of the floor could not be opened, the next attempt waits so long, and after
# each further one twice as long.
RETRY_SECONDS_MIN = 0.1
RETRY_SECONDS_MAX = 30.0
# A server that is asked to end a connection in good order gets this much time.
CLOSE_SECONDS_MAX = 10.0
# Connections that were opened together do not end together.
LIFETIME_JITTER = 0.1


class Supply:
    """Hands connections out and takes them back.

    Two rules make it fair and lose no connection. Whoever comes while others wait waits behind
    them: a connection that becomes free goes to the one who has waited longest. And a connection
    belongs at each moment to one of: the idle ones, a caller, a task of the supply's own.

    Connections are opened by tasks of their own, so that a caller who stops waiting stops nothing.
    """

    def __init__(self, options: PoolOptions, connect: Callable[[], Awaitable[Connection]]) -> None:
        self.options = options
        self.epoch = 0
        """Connections of an earlier one are replaced before they are handed out again."""
        self.tally = Tally()
        self._connect = connect
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        # The one used last is used next, so the first one has been idle for longest.
        self._idle: deque[PoolConnectionHolder] = deque()
        self._holders: set[PoolConnectionHolder] = set()
        # They are being closed, and count as long as the server may have them.
        self._retiring: set[PoolConnectionHolder] = set()
        self._opening = 0
        # In order, and quick to leave from the middle.
        self._waiters: OrderedDict[asyncio.Future[PoolConnectionHolder], None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._openers: set[asyncio.Task[None]] = set()
        self._floor: asyncio.Task[None] | None = None
        self._reaper: asyncio.TimerHandle | None = None
        self._unsent: list[AsyncioTransport] = []
        self._drained: asyncio.Future[None] | None = None
        self._stopping = asyncio.Event()
        self._is_terminated = False
        self._catalogs: dict[tuple[str, str], _core.Catalog] = {}

    # Out

    def take(self) -> PoolConnectionHolder | None:
        """An idle connection, unless somebody waits for one; None where there is none."""
        if self._waiters:
            return None
        idle = self._idle
        while idle:
            holder = idle.pop()
            if holder.connection._session.is_closed:
                self.discard(holder, "lost")
            elif holder.epoch != self.epoch:
                self.retire(holder, "expired")
            else:
                self.tally.acquired += 1
                holder.connection._pool_wait = 0.0
                return holder
        return None

    async def wait(self) -> PoolConnectionHolder:
        """The next connection that is free, after all who wait already."""
        tally = self.tally
        waiter: asyncio.Future[PoolConnectionHolder] = self._loop.create_future()
        self._waiters[waiter] = None
        self._grow()
        tally.waited += 1
        began = self._loop.time()
        try:
            holder = await waiter
        except BaseException:
            self._waiters.pop(waiter, None)
            if waiter.done() and not waiter.cancelled():
                if waiter.exception() is None:
                    # It came and nobody takes it.
                    self._free(waiter.result())
            else:
                tally.given_up += 1
                self._check_drained()
            raise
        seconds = self._loop.time() - began
        tally.acquired += 1
        tally.note_wait(seconds)
        holder.connection._pool_wait = seconds
        return holder

    # Back

    def put_back(self, holder: PoolConnectionHolder) -> None:
        """A connection that is as good as new: for who has waited longest, else idle."""
        if self._waiters:
            self._hand_on(holder)
            return
        holder.idle_since = self._loop.time()
        self._idle.append(holder)
        if self._reaper is None:
            self._watch_idle()
        if self._drained is not None:
            self._check_drained()

    def send_soon(self, transport: AsyncioTransport) -> None:
        """Send what waits in a session before the loop's next turn is over.

        Where the next query comes first, one packet carries both.
        """
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(transport)

    def end_of(self, holder: PoolConnectionHolder) -> str | None:
        """Why a connection is not to be used again, or None."""
        if holder.epoch != self.epoch:
            return "expired"
        if holder.connection._session.exchanges >= self.options.max_queries:
            return "max_queries"
        if holder.expires_at is not None and self._loop.time() >= holder.expires_at:
            return "max_lifetime"
        return None

    def retire(self, holder: PoolConnectionHolder, reason: str) -> None:
        """Close a connection in good order, in the background."""
        if not self._forget(holder, reason):
            return
        self._retiring.add(holder)
        self.spawn(self._close(holder))

    def discard(self, holder: PoolConnectionHolder, reason: str) -> None:
        """A connection that is closed or must be: its place is free for another one."""
        if holder.connection._session.is_closed:
            holder.connection._transport.abort()
        else:
            holder.connection.terminate()
        if self._forget(holder, reason):
            self._make_up()

    def expire(self) -> None:
        """Replace every connection before it is handed out again."""
        self.epoch += 1

    # Life

    async def start(self) -> None:
        """Open the first connections: one alone, so that what is wrong shows, and the others."""
        count = self.options.init_size
        try:
            if count:
                self.put_back(await self._opened())
            if count > 1:
                await self._open_together(count - 1)
        except BaseException:
            self.terminate()
            raise

    async def drain(self) -> None:
        """Wait until every connection is given back and nobody waits; open none for the floor."""
        self._stopping.set()
        if self._drained is None:
            self._drained = self._loop.create_future()
        self._check_drained()
        await asyncio.shield(self._drained)

    async def close(self) -> None:
        """Close what is idle, and wait for what is being closed."""
        for opener in self._openers:
            opener.cancel()
        while self._idle:
            self.retire(self._idle.pop(), "pool")
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self.terminate()

    def terminate(self) -> None:
        """Close every socket at once; who waits or works fails."""
        self._is_terminated = True
        self._stopping.set()
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        for task in self._tasks:
            task.cancel()
        while self._waiters:
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_exception(InterfaceError("pool is closed"))
        for holder in (*self._holders, *self._retiring):
            holder.detach()
            self._forget(holder, "pool")
            holder.connection.terminate()
        self._idle.clear()
        self._retiring.clear()
        self._check_drained()

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """A task that the pool waits for when it is closed."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Figures

    @property
    def size(self) -> int:
        """How many connections are open."""
        return len(self._holders)

    @property
    def idle(self) -> int:
        """How many of them are idle."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """How many callers wait."""
        return len(self._waiters)

    def stats(self) -> PoolStats:
        """The figures of this moment."""
        tally = self.tally
        return PoolStats(
            size=self.size,
            idle=self.idle,
            busy=self.size - self.idle,
            opening=self._opening,
            waiting=self.waiting,
            min_size=self.options.min_size,
            max_size=self.options.max_size,
            acquired=tally.acquired,
            waited=tally.waited,
            wait_seconds_total=tally.wait_seconds_total,
            wait_seconds_max=tally.wait_seconds_max,
            given_up=tally.given_up,
            opened=tally.opened,
            open_failures=tally.open_failures,
            closed=dict(tally.closed),
        )

    # Inside, handing on

    def _hand_on(self, holder: PoolConnectionHolder) -> None:
        while self._waiters:
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_result(holder)
                return
        self.put_back(holder)

    def _free(self, holder: PoolConnectionHolder) -> None:
        """A new connection, or one that was handed to somebody who did not take it."""
        if holder.connection.is_closed() or self._is_terminated:
            self.discard(holder, "lost")
        elif holder.epoch != self.epoch:
            self.retire(holder, "expired")
        else:
            self.put_back(holder)

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        for transport in unsent:
            transport.send()

    def _forget(self, holder: PoolConnectionHolder, reason: str) -> bool:
        """Count a connection no more; False where it is not counted."""
        if holder not in self._holders:
            return False
        self._holders.remove(holder)
        if holder in self._idle:
            self._idle.remove(holder)
        self.tally.closed[reason] += 1
        return True

    def _make_up(self) -> None:
        """A place is free: for those who wait, then for the floor."""
        self._grow()
        self._keep_floor()
        self._check_drained()

    def _check_drained(self) -> None:
        drained = self._drained
        if drained is None or drained.done():
            return
        if not self._waiters and len(self._holders) == len(self._idle):
            drained.set_result(None)

    # Inside, opening

    @property
    def _places(self) -> int:
        return self.options.max_size - len(self._holders) - len(self._retiring) - self._opening

    def _grow(self) -> None:
        """Open a connection for everybody who waits, as far as there are places."""
        while self._opening < len(self._waiters) and self._places > 0 and not self._is_terminated:
            self._opening += 1
            self._spawn_opener(self._open_for_waiter())

    def _spawn_opener(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """A task that a closing pool has no use for."""
        task = self.spawn(coroutine)
        self._openers.add(task)
        task.add_done_callback(self._openers.discard)
        return task

    async def _open_for_waiter(self) -> None:
        await self._open_one()

    async def _open_one(self) -> Exception | None:
        """Open a connection that is counted as opening; a failure goes to who waits longest.

        It is returned, too.
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
        while self._waiters:
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_exception(failure)
                return

    async def _opened(self) -> PoolConnectionHolder:
        """A new connection, after the user's `init`, that counts."""
        # What is made with the arguments of this moment expires with them.
        epoch = self.epoch
        connection = await self._connect()
        try:
            self._share_catalog(connection)
            if self.options.init is not None:
                await self.options.init(connection)
        except BaseException:
            connection.terminate()
            raise
        if connection.is_closed():
            raise InterfaceError("connection was closed while the pool was opening it")
        holder = PoolConnectionHolder(self, connection, epoch)
        if self.options.max_lifetime is not None:
            shortened = 1 - LIFETIME_JITTER * random.random()  # noqa: S311 - no secret
            holder.expires_at = self._loop.time() + self.options.max_lifetime * shortened
        self._holders.add(holder)
        self.tally.opened += 1
        connection._when_lost(lambda: self._lost(holder))
        return holder

    def _share_catalog(self, connection: Connection) -> None:
        """Connections to the same database learn its types once."""
        key = (str(connection._transport.address), connection._database)
        catalog = self._catalogs.setdefault(key, _core.Catalog())
        connection._session.share_catalog(catalog)

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

    # Inside, the floor, the idle and the lost

    def _keep_floor(self) -> None:
        if self._floor is None and not self._stopping.is_set() and self._lacks():
            self._floor = self._spawn_opener(self._restore_floor())

    def _lacks(self) -> bool:
        count = len(self._holders) + self._opening
        return count < self.options.min_size and self._places > 0

    async def _restore_floor(self) -> None:
        """Open connections until there are `min_size`, the more seldom the longer it fails."""
        pause = RETRY_SECONDS_MIN
        try:
            while self._lacks() and not self._stopping.is_set():
                self._opening += 1
                failure = await self._open_one()
                if failure is None:
                    pause = RETRY_SECONDS_MIN
                    continue
                # Nobody may be waiting who would be told.
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
            self._floor = None

    def _watch_idle(self) -> None:
        """One timer for all: the first of the idle is the first to be closed."""
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

    def _lost(self, holder: PoolConnectionHolder) -> None:
        """The socket of a connection was closed."""
        if self._forget(holder, holder.ending):
            self._make_up()

    async def _close(self, holder: PoolConnectionHolder) -> None:
        connection = holder.connection
        try:
            await connection.close(timeout=CLOSE_SECONDS_MAX)
        except Exception:  # noqa: BLE001 - it is closed all the same
            connection.terminate()
        finally:
            self._retiring.discard(holder)
            if not self._is_terminated:
                self._make_up()
