"""A queue of jobs, and its verbs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from colonnade._arguments import check_callable, check_count
from colonnade.errors import InterfaceError
from colonnade.jobs._async.adding import add_jobs
from colonnade.jobs._async.consumer import Consumer
from colonnade.jobs._async.getting import get
from colonnade.jobs._async.upkeep import Upkeep
from colonnade.jobs._layouts import layout_of
from colonnade.jobs._sources import Beside
from colonnade.jobs.definition import check_connection, check_ids, check_seconds
from colonnade.jobs.observing import tell
from colonnade.jobs.stats import QueueStats

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import colonnade
    from colonnade.columns import Columns
    from colonnade.jobs._async.batch import Batch
    from colonnade.jobs._sources import OnConflict
    from colonnade.jobs.definition import Definition

_SWEEP_S = 1.0
# The rounds of housekeeping take at most this part of the time.
_SWEEP_PART = 0.02


class Queue:
    """A queue of jobs whose payload is a table; made by `create_queue` and `open_queue`.

    At least once: a job is handed out again if its lease ends, so a job may run twice, and two
    workers may run it at once if one is slower than its lease. Jobs are handed out by priority,
    lowest number first, and then by id; a job that comes back keeps its place.
    """

    def __init__(self, pool: colonnade.Pool, definition: Definition, poll: float = 1.0) -> None:
        check_seconds("poll", poll)
        self.pool = pool
        self.definition = definition
        self.layout = layout_of(definition)
        self._upkeep = Upkeep(pool, self.layout)
        self.poll = poll
        self._next_sweep = 0.0

    async def add(
        self,
        table: Any,
        *,
        delay: Any = None,
        priority: Any = None,
        ttl: Any = None,
        key: Any = None,
        on_conflict: OnConflict = "ignore",
        trace: str | None = None,
        connection: colonnade.Connection | None = None,
    ) -> int:
        """Add a table of jobs, all or none of them; return how many were added.

        `table` is anything that `copy_columns_to_table` takes, or a list of tuples in the payload's
        order. `delay` (seconds until the jobs are ready), `priority` (int, 0 by default; lower is
        sooner), `ttl` (seconds) and `trace` (a trace context) are values for all jobs; the first
        three can also be arrays with a value for each job.

        `key` names a column of the payload, or is an array of keys: at most one job with a key is
        in the queue. Otherwise `on_conflict` decides: "ignore" leaves the job in the queue alone,
        and "replace" gives it the new payload, takes it from the worker that holds it, and begins
        its attempts anew. Of equal keys in `table` the first is taken, or to replace the last.

        Without `connection` the jobs are committed, and durable, when it returns. With it, they are
        part of the caller's transaction, and nobody sees them or is woken before it commits; if
        add fails, a savepoint keeps the transaction usable. If the connection fails before the
        answer, the jobs may be there or not: with a key they can be added again.

        Raises QueueFullError if the queue would be longer than its `max_length`, and EncodeError or
        the server's error, with the row and the column, for a value that does not fit.
        """
        beside = Beside(
            self.definition,
            delay=delay,
            priority=priority,
            ttl=ttl,
            key=key,
            trace=trace,
            on_conflict=on_conflict,
        )
        if connection is not None:
            check_connection("add(connection=...)", connection)
            if not connection.is_in_transaction():
                msg = "add(connection=...) needs an open transaction; without one, leave it out"
                raise InterfaceError(msg)
            async with connection.transaction():
                return await add_jobs(connection, self.layout, table, beside)
        async with (
            self.pool.acquire() as own,
            own.transaction(isolation="read_committed"),
        ):
            return await add_jobs(own, self.layout, table, beside)

    async def get(
        self,
        limit: int = 1000,
        *,
        lease: float | None = 60.0,
        timeout: float | None = None,
    ) -> Batch:
        """Get up to `limit` jobs that are ready, and hold them for `lease` seconds.

        Waits up to `timeout` seconds for the first job (None: without an end, 0: not at all), and
        returns what there is then, without waiting for more. A batch without jobs is false.

        The lease is committed when it returns: nobody else gets these jobs before its end. After
        it, they come back by themselves, which counts as an attempt. With `lease=None` the jobs are
        removed at once, so that each is handed out at most once: what this process does not finish
        is lost.
        """
        return await get([self], limit=limit, lease=lease, timeout=timeout)

    def consume(
        self,
        handler: Callable[[Batch], Awaitable[object]],
        *,
        limit: int = 1000,
        lease: float = 60.0,
        concurrency: int = 1,
        prefetch: int = 1,
        stop_within: float = 30.0,
    ) -> Consumer:
        """Return a worker that calls `handler(batch)` for one batch after another.

        `await consumer.run()` works until `consumer.stop()`, and `await consumer.drain()` until no
        job is ready. `Consumer` says what happens to the jobs.
        """
        check_callable("handler", handler)
        return Consumer(
            [self],
            handler,
            limit=limit,
            lease=lease,
            concurrency=concurrency,
            prefetch=prefetch,
            stop_within=stop_within,
        )

    async def length(self) -> int:
        """The number of jobs: ready, delayed and leased. It counts rows, so it takes time."""
        return await self._count(self.layout.length)

    async def stats(self) -> QueueStats:
        """The numbers of jobs by state, in one snapshot. It counts rows, so it takes time."""
        rows = await self.pool.fetch_plain(self.layout.stats)
        total, ready, leased, dead, oldest = rows[0]
        return QueueStats(total, ready, total - ready - leased, leased, dead, max(oldest, 0.0))

    async def peek(self, limit: int = 10) -> Columns:
        """The first jobs in order, whatever their state, without leasing them."""
        check_count("limit", limit)
        return await self.pool.fetch_columns(self.layout.peek, limit)

    async def dead(self, limit: int = 1000) -> Columns:
        """The first dead letters: payload, `job_reason`, and in `job_errors` all reasons before."""
        check_count("limit", limit)
        return await self.pool.fetch_columns(self.layout.dead, limit)

    async def requeue(self, ids: Any = None) -> int:
        """Make dead letters (without `ids` all) jobs again, with new attempts; return how many.

        They keep id, priority and key, and `job_errors` has all reasons so far. If a job with one
        of their keys has been added since, this is a UniqueViolationError, and none of them moves.
        """
        if ids is None:
            count = await self._count(self.layout.requeue)
        else:
            count = await self._count(self.layout.requeue_some, _as_ids(ids))
        await self.notify()
        return count

    async def purge(self) -> int:
        """Remove all jobs, leased ones too, and return how many. Dead letters stay."""
        return await self._count(self.layout.purge)

    async def purge_dead(self) -> int:
        """Remove all dead letters, and return how many."""
        return await self._count(self.layout.purge_dead)

    async def sweep(self) -> None:
        """Make dead letters of jobs that are expired or without attempts; `get` calls this.

        In the layout segments it also empties what is done. It looks at all jobs or ranges, so it
        runs once a second, or less often if it takes long.
        """
        began = time.monotonic()
        if began < self._next_sweep:
            return
        self._next_sweep = began + _SWEEP_S
        status = await self.pool.execute(self.layout.sweep)
        tell(self.definition, "dead", int(status.split()[-1]))
        await self._upkeep.run()
        took = time.monotonic() - began
        self._next_sweep = began + max(_SWEEP_S, took / _SWEEP_PART)

    async def notify(self) -> None:
        """Wake the callers of `get` that wait for this queue; its other verbs call this."""
        await self.pool.fetch_plain(self.layout.notify, self.definition.channel)

    async def _count(self, query: str, *arguments: Any) -> int:
        rows = await self.pool.fetch_plain(query, *arguments)
        return int(rows[0][0])

    def __repr__(self) -> str:
        """Its name, and the payload's columns."""
        return f"<Queue {self.definition}: {', '.join(self.definition.payload)}>"


def _as_ids(ids: Any) -> Any:
    import numpy as np

    wanted = np.atleast_1d(np.asarray(ids))
    if not len(wanted):
        return np.empty(0, np.int64)
    check_ids(ids, wanted.dtype.kind)
    return wanted.astype(np.int64, copy=False)
