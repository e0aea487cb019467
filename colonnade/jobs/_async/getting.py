"""Getting jobs from queues, and waiting for them."""

from __future__ import annotations

import contextlib
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from colonnade.errors import DecodeError
from colonnade.jobs._async.asking import ask, ask_columns, columns_of, own_transaction_on
from colonnade.jobs._async.batch import Batch, ack_together
from colonnade.jobs._async.leases import EXTENSIONS_PER_LEASE
from colonnade.jobs._tasks.asyncio import Signal, in_background
from colonnade.jobs._tasks.hub.asyncio import set_by
from colonnade.jobs.logs import logger, of_queue
from colonnade.jobs.observing import tell

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    import colonnade
    from colonnade.jobs._async.tables import Tables
    from colonnade.jobs._tasks.hub.asyncio import Hub
    from colonnade.jobs.pace import Pace

    _AskOne = Callable[[colonnade.Connection, Tables], Awaitable[Any]]

_LEASE_BITS = 63
# A job that is due in a moment is not asked for more often than this.
_WAIT_LEAST_S = 0.005
# Anybody may send notifications: the server is not asked more often than this because of them.
_LOOK_LEAST_S = 0.01
_GIVE_BACK_S = 5.0
# A `get` that takes longer may have a bad plan.
_SLOW_S = 0.05
_PLAN_S = 1.0
# One call puts at most this many jobs that cannot be read out of the way.
_UNREADABLE_MOST = 10
# The lease of a job that is to be removed at once.
_SHORT_LEASE_S = 60.0
# At least this many jobs whose time has come get in line at once: those of one time in their order.
_LINED_UP = 10_000


class _NoConnectionError(TimeoutError):
    """No connection of the pool was free in time."""


async def get_until(asker: Asker, stop: Signal) -> Batch | None:
    """Get jobs as `get` does; `stop` ends the wait, too, even before anything is asked."""
    batch = None if asker.was_in_vain else await asker.jobs(stop)
    if batch or stop.is_set():
        return batch
    if asker.is_hasty:
        return await asker.look(stop)
    channels = [queue.definition.channel for queue in asker.queues]
    signal = Signal()
    with stop.sets(signal):
        async with set_by(asker.queues[0].pool, channels, signal):
            return await _waited(asker, batch, signal, stop)


async def _waited(asker: Asker, batch: Batch | None, signal: Signal, stop: Signal) -> Batch | None:
    """The jobs that come while `signal` tells of new ones; the clock tells of the others."""
    is_last = False
    try:
        batch = await asker.look(stop)
        while not (batch or is_last or stop.is_set()):
            await signal.wait(asker.pause)
            is_told = signal.is_set()
            signal.clear()
            looked, is_last = time.monotonic(), asker.is_late
            if is_told:
                batch = await asker.jobs(stop)
            if not batch:
                batch = await asker.look(stop)
            if not (batch or is_last):
                await stop.wait(looked + _LOOK_LEAST_S - time.monotonic())
    except _NoConnectionError:
        # There was time for a look, and none for another one.
        if batch is None:
            raise
    return batch


class Asker:
    """A caller of `get`: it asks on one connection at a time, and leaves no lease behind.

    A lease whose answer did not arrive is given back on the same connection, which the server
    serves again only after it has ended the statement. A caller that is cancelled does not wait
    for it.

    A worker that is late with its duties, such as one whose loop was blocked, takes no jobs. The
    server could hand out its own again: their leases may have ended, or lie in an unread answer.
    """

    def __init__(
        self,
        queues: Sequence[Tables],
        pace: Pace,
        lease: float | None,
        seconds: float | None,
        hub: Hub | None = None,
    ) -> None:
        self.queues = queues
        self.is_hasty = seconds == 0
        """Whether it does not wait for jobs; there still is a wait for a connection."""
        self.pause = 0.0
        """The seconds until the next look."""
        self._pace = pace
        self._lease = lease
        self._hub = hub
        self._give_up = time.monotonic() + seconds if seconds else None
        # Jobs that are ready, and were not got, are locked: mostly for the moment of another `get`.
        self._pause_if_locked = _WAIT_LEAST_S
        # Whether nobody was asked, because duties have come due.
        self._is_put_off = False
        # The queue and token of a lease that the server may have given, while nobody has its jobs.
        self._unclaimed: tuple[Tables, int] | None = None

    @property
    def was_in_vain(self) -> bool:
        """Whether the last answers had no jobs: so it is better to look first."""
        return all(queue.nothing is not None for queue in self.queues)

    @property
    def is_late(self) -> bool:
        """Whether the time for waiting is over."""
        return self._left == 0

    @property
    def _left(self) -> float | None:
        return None if self._give_up is None else max(self._give_up - time.monotonic(), 0.0)

    async def jobs(self, stop: Signal) -> Batch | None:
        """The jobs of the first queue that has any; else a batch without jobs, of the first one.

        There may be jobs nevertheless, whose time has come: `look` lets them in line. None if it
        was stopped before it could ask.
        """
        batch = await self._asked(self._in_line, stop)
        if batch:
            self._pace.note(len(batch))
        return batch

    async def look(self, stop: Signal) -> Batch | None:
        """The same, but it begins with a question that changes nothing; it sets `pause`."""
        self.pause = min(queue.poll for queue in self.queues)
        batch = await self._asked(self._after_a_look, stop)
        self._pace.note(len(batch) if batch else 0)
        self._pause_if_locked *= 2
        left = self._left
        if left is not None:
            self.pause = min(self.pause, left)
        return batch

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncGenerator[colonnade.Connection]:
        """A connection; if the block fails, leases are given back with it."""
        pool = self.queues[0].pool
        try:
            connection = await pool.acquire(timeout=self._left)
        except TimeoutError as error:
            raise _NoConnectionError(*error.args) from None
        is_lent = True
        try:
            yield connection
            is_lent = False
            await pool.release(connection)
        except BaseException:
            lent = connection if is_lent else None
            if self._hub is None:
                await in_background(self._end, lent)
            else:
                # A worker ends when everything is given back.
                await self._end(lent)
            raise
        self._unclaimed = None

    async def _asked(self, ask_one: _AskOne, stop: Signal) -> Batch | None:
        while True:
            self._is_put_off = False
            if self._hub is not None:
                await self._hub.caught_up(stop)
            if stop.is_set():
                return None
            try:
                async with self._connection() as connection:
                    batch = await self._first(connection, ask_one)
            finally:
                # Its caller holds the jobs before another task runs.
                self._answered()
            if not self._is_put_off:
                return batch

    async def _first(self, connection: colonnade.Connection, ask_one: _AskOne) -> Batch | None:
        """Ask the queues, from left to right."""
        empty: Batch | None = None
        for queue in self.queues:
            await queue.sweep(connection)
            batch: Batch | None = await ask_one(connection, queue)
            if batch or self._is_put_off:
                return batch
            if empty is None:
                empty = batch
        return empty

    async def _in_line(self, connection: colonnade.Connection, queue: Tables) -> Batch | None:
        """Jobs in line, if none that waits has to get in line before: so it is one statement."""
        return await self._got(connection, queue, in_order=True)

    async def _after_a_look(self, connection: colonnade.Connection, queue: Tables) -> Batch | None:
        ((comes, ready, is_all),) = await ask(connection, queue.layout.next_ready)
        due = min(seconds for seconds in (comes, ready, queue.poll) if seconds is not None)
        if due > 0 and is_all and queue.nothing is not None:
            self.pause = min(self.pause, max(due, _WAIT_LEAST_S))
            return Batch(queue, queue.nothing, None, None)
        if comes is not None and comes <= 0:
            await ask(connection, queue.layout.line_up, max(self._pace.limit, _LINED_UP))
        batch = await self._got(connection, queue, in_order=False)
        self.pause = min(self.pause, due if due > 0 else self._pause_if_locked)
        return batch

    async def _is_behind(self, hub: Hub, connection: colonnade.Connection, queue: Tables) -> bool:
        """Whether duties are due at the moment in which the next statement is sent.

        A statement that the connection does not know yet is prepared first, and the loop may be
        blocked before the answer: so it is run without effect.
        """
        pid = connection.get_server_pid()
        if pid not in queue.known_by:
            layout = queue.layout
            await ask_columns(connection, layout, layout.lease, 0, _SHORT_LEASE_S, 0, False)
            queue.known_by.add(pid)
        return hub.is_behind

    async def _got(
        self, connection: colonnade.Connection, queue: Tables, *, in_order: bool
    ) -> Batch | None:
        """Get jobs, or None if duties have come due meanwhile.

        A job with a value that columns cannot hold must not keep all others from it.

        Fewer jobs are tried until they can be read. If it is the first one, it keeps its lease: so
        it is out of the way, and becomes a dead letter when it has no attempts left. After several
        such jobs the error is raised, because it may be this caller that cannot read any.
        """
        if self._hub is not None and await self._is_behind(self._hub, connection, queue):
            self._is_put_off = True
            return None
        limit, unreadable = self._pace.limit, 0
        while True:
            try:
                if self._lease is not None:
                    return await self._leased(connection, queue, in_order, limit, self._lease)
                taken = self._taken if limit > 1 else self._taken_by_lease
                return await taken(connection, queue, in_order, limit)
            except DecodeError as error:
                if limit == 1:
                    unreadable += 1
                    self._unclaimed = None
                    logger.warning(
                        "a job of the queue %s cannot be read, and waits for the end of its lease:"
                        " %s",
                        *(queue.definition, error),
                        extra=of_queue(queue.definition),
                    )
                await self._give_back(connection)
                if unreadable == _UNREADABLE_MOST:
                    raise
                limit = max(limit // 2, 1)

    async def _taken(
        self, connection: colonnade.Connection, queue: Tables, in_order: bool, limit: int
    ) -> Batch:
        """Remove jobs; unreadable ones stay."""
        layout = queue.layout
        async with own_transaction_on(connection):
            columns = await columns_of(connection, layout, layout.take, limit, in_order)
        return _told(Batch(queue, columns, None, None))

    async def _taken_by_lease(
        self, connection: colonnade.Connection, queue: Tables, in_order: bool, limit: int
    ) -> Batch:
        """Remove the first job, or lease it if it cannot be read."""
        batch = await self._leased(connection, queue, in_order, limit, _SHORT_LEASE_S)
        await ack_together([batch], connection)
        self._unclaimed = None
        return Batch(queue, batch.columns, None, None)

    async def _leased(
        self,
        connection: colonnade.Connection,
        queue: Tables,
        in_order: bool,
        limit: int,
        lease: float,
    ) -> Batch:
        token = secrets.randbits(_LEASE_BITS)
        # Earlier than the server's clock begins the lease, so never too late.
        until = datetime.now(UTC) + timedelta(seconds=lease)
        self._unclaimed = queue, token
        layout = queue.layout
        began = time.monotonic()
        if self._hub is not None:
            self._hub.await_answer(self, began + lease / EXTENSIONS_PER_LEASE)
        columns = await ask_columns(connection, layout, layout.lease, limit, lease, token, in_order)
        batch = _told(Batch(queue, columns, token, until))
        if len(batch) == limit and time.monotonic() > max(began + _SLOW_S, queue.plan_until):
            await self._plan_anew(connection, queue)
        if not batch:
            self._unclaimed = None
            self._answered()
        return batch

    def _answered(self) -> None:
        if self._hub is not None:
            self._hub.note_answer(self)

    async def _plan_anew(self, connection: colonnade.Connection, queue: Tables) -> None:
        """Let the server forget the plans of this connection, but not each time.

        It keeps them until vacuum has seen to the table. While a table is nearly empty, the best
        plan is to read it whole, and to compare each row with the places of all jobs.
        """
        queue.plan_until = time.monotonic() + _PLAN_S
        await ask(connection, "DISCARD PLANS")

    async def _end(self, connection: Any) -> None:
        """Give back what nobody has got, and the connection; else the lease ends by itself."""
        pool = self.queues[0].pool
        with contextlib.suppress(Exception):
            if connection is None:
                async with pool.acquire(timeout=_GIVE_BACK_S) as another:
                    await self._give_back(another)
                return
            try:
                await self._give_back(connection)
            finally:
                await pool.release(connection)

    async def _give_back(self, connection: colonnade.Connection) -> None:
        if self._unclaimed is None:
            return
        queue, token = self._unclaimed
        self._unclaimed = None
        rows = await ask(connection, queue.layout.release_all, token, timeout=_GIVE_BACK_S)
        if rows[0][0]:
            await queue.wake(connection)


def _told(batch: Batch) -> Batch:
    batch.queue.nothing = None if batch else batch.columns
    if batch:
        tell(batch.queue.definition, "got", len(batch))
        tell(batch.queue.definition, "retried", (batch.attempts > 1).sum())
        if batch.token is None:
            tell(batch.queue.definition, "done", len(batch))
    return batch
