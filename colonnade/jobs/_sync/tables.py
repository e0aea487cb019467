# Generated from colonnade/jobs/_async/tables.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The tables of a queue, and the verbs that need no batch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_count, check_seconds, check_switch
from colonnade.jobs._add_arguments import AddOptions
from colonnade.jobs._layouts import layout_of
from colonnade.jobs._sync.adding import add_jobs
from colonnade.jobs._sync.asking import ask, ask_columns, own_transaction
from colonnade.jobs._sync.outbox import in_transaction, savepoint
from colonnade.jobs._sync.upkeep import Upkeep
from colonnade.jobs._sync.waking import wake, wake_after_ours, wake_after_theirs
from colonnade.jobs.definition import check_ids
from colonnade.jobs.errors import PASSING
from colonnade.jobs.logs import logger, of_queue
from colonnade.jobs.observing import tell
from colonnade.jobs.stats import QueueStats

if TYPE_CHECKING:
    import colonnade
    from colonnade.columns import Columns
    from colonnade.jobs._add_arguments import OnConflict
    from colonnade.jobs.definition import Definition

_SWEEP_S = 1.0
# The rounds of housekeeping take at most this part of the time.
_SWEEP_PART = 0.02


class Tables:
    """The tables of a queue, reached through a pool, as its batches and workers need them."""

    def __init__(
        self,
        pool: colonnade.sync.Pool,
        definition: Definition,
        poll: float = 1.0,
        *,
        notify: bool = True,
    ) -> None:
        check_seconds("poll", poll)
        check_switch("notify", notify)
        self.pool = pool
        self.definition = definition
        self.layout = layout_of(definition)
        self._upkeep = Upkeep(self.layout)
        self.poll = poll
        self.notifies = notify
        """Whether its verbs notify waiting workers; `notify` does it in any case."""
        self._next_sweep = 0.0
        self.nothing: Columns | None = None
        """The last answer of `get` if it was without jobs: then the next one begins with a look."""
        self.plan_until = 0.0
        """Until then, by `time.monotonic`, no plan is made anew because a `get` was slow."""
        self.known_by: set[int | None] = set()
        """The process IDs of the servers that have prepared `layout.lease`."""

    def add(
        self,
        table: Any,
        *,
        delay: Any = None,
        priority: Any = None,
        ttl: Any = None,
        key: Any = None,
        on_conflict: OnConflict = "ignore",
        trace: str | None = None,
        connection: Any = None,
    ) -> int:
        """Add a table of jobs, all or none of them; return how many were added.

        `table` is anything that `copy_columns_to_table` takes, or a list of tuples in the payload's
        order. `delay` (seconds until the jobs are ready), `priority` (int, 0 by default; lower is
        sooner), `ttl` (seconds) and `trace` (a trace context) are values for all jobs; the first
        three can also be arrays with a value for each job.

        `key` names a column of the payload, or is an array of keys: at most one job with a key is
        in the queue. Otherwise `on_conflict` decides: "ignore" leaves the job in the queue alone,
        and "replace" gives it the new payload, takes it from the worker that holds it, and begins
        its attempts anew. "again" leaves a job alone that waits to be handed out; beside one that a
        worker holds, it adds another, which is handed out when that one is done or a dead letter.
        At most one waits so. Of equal keys in `table` the first counts; with "replace", the last.

        Without `connection` the jobs are committed, and durable, when it returns. With it, they are
        part of the caller's transaction, however that was begun, and nobody sees them or is woken
        before it commits; if add fails, a savepoint keeps the transaction usable. It is the
        driver's connection, or one of `colonnade.dbapi`. If the connection fails before the answer,
        the jobs may be there or not: with a key they can be added again.

        Raises QueueFullError if the queue would be longer than its `max_length`, and EncodeError or
        the server's error, with the row and the column, for a value that does not fit.
        """
        options = AddOptions(
            self.definition,
            table,
            delay=delay,
            priority=priority,
            ttl=ttl,
            key=key,
            trace=trace,
            on_conflict=on_conflict,
        )
        if connection is not None:
            theirs = in_transaction("add(connection=...)", connection, "without one, leave it out")
            with savepoint(theirs):
                count = add_jobs(theirs, self.layout, table, options)
                if count and self.notifies:
                    wake_after_theirs(theirs, self.definition)
            return count
        with own_transaction(self.pool) as own:
            count = add_jobs(own, self.layout, table, options)
            if count and self.notifies:
                wake_after_ours(own, self.definition)
        return count

    def length(self) -> int:
        """The number of jobs: ready, delayed and leased. It counts rows, so it takes time."""
        return self._count(self.layout.length)

    def stats(self) -> QueueStats:
        """The numbers of jobs by state, in one snapshot. It counts rows, so it takes time."""
        rows = ask(self.pool, self.layout.stats)
        total, ready, leased, dead, oldest = rows[0]
        return QueueStats(total, ready, total - ready - leased, leased, dead, max(oldest, 0.0))

    def peek(self, limit: int = 10) -> Columns:
        """The first jobs in order, whatever their state, without leasing them."""
        check_count("limit", limit)
        return self._columns(self.layout.peek, limit)

    def dead(self, limit: int = 1000) -> Columns:
        """The first dead letters: payload, `job_reason`, and in `job_errors` all reasons before."""
        check_count("limit", limit)
        return self._columns(self.layout.dead, limit)

    def requeue(self, ids: Any = None) -> int:
        """Make dead letters (without `ids` all) jobs again, with new attempts; return how many.

        They keep id, priority and key, and `job_errors` has all reasons so far. If a job with one
        of their keys has been added since, this is a UniqueViolationError, and none of them moves.
        """
        if ids is None:
            count = self._count(self.layout.requeue)
        else:
            count = self._count(self.layout.requeue_some, _as_ids(ids))
        self.wake()
        return count

    def purge(self) -> int:
        """Remove all jobs, leased ones too, and return how many. Dead letters stay."""
        return self._count(self.layout.purge)

    def purge_dead(self) -> int:
        """Remove all dead letters, and return how many."""
        return self._count(self.layout.purge_dead)

    def sweep(self, connection: colonnade.sync.Connection | None = None) -> None:
        """Make dead letters of jobs that are expired or without attempts; `get` calls this.

        In the layout segments it also empties finished slots. It looks at all jobs or ranges, so it
        runs once a second, or less often if it takes long. Without `connection` it takes one of the
        pool.
        """
        if time.monotonic() < self._next_sweep:
            return
        if connection is not None:
            self._sweep(connection)
            return
        with self.pool.acquire() as own:
            self._sweep(own)

    def _sweep(self, connection: colonnade.sync.Connection) -> None:
        began = time.monotonic()
        self._next_sweep = began + _SWEEP_S
        rows = ask(connection, self.layout.sweep)
        self._note_dead(rows[0][0])
        self.free(connection)
        self._upkeep.run(connection)
        took = time.monotonic() - began
        self._next_sweep = began + max(_SWEEP_S, took / _SWEEP_PART)

    def _note_dead(self, count: int) -> None:
        tell(self.definition, "dead", count)
        if count:
            logger.error(
                "%d jobs of the queue %s are dead letters: expired, or without attempts left when"
                " their lease ended",
                *(count, self.definition),
                extra=of_queue(self.definition),
            )

    def notify(self, place: Any = None) -> None:
        """Wake the callers of `get` that wait for this queue, even if its verbs do not notify.

        `place` is the connection or pool to use, by default the queue's pool. A failure is logged.
        """
        wake(place or self.pool, self.definition)

    def wake(self, place: Any = None) -> None:
        """Notify, unless the queue was opened with `notify=False`; the verbs call this."""
        if self.notifies:
            self.notify(place)

    def free(self, place: Any) -> None:
        """Let jobs into line that waited for jobs now gone, and wake workers that wait for them."""
        if self.layout.free:
            rows = ask(place, self.layout.free)
            if rows[0][0]:
                self.wake(place)

    def free_soon(self, place: Any) -> None:
        """Call `free`; if it fails, the next sweep does it, and the settled jobs stay settled."""
        try:
            self.free(place)
        except PASSING as error:
            logger.warning(
                "jobs of the queue %s that waited for others get in line later: %r",
                *(self.definition, error),
                extra=of_queue(self.definition),
            )

    def _columns(self, query: str, limit: int) -> Columns:
        return ask_columns(self.pool, self.layout, query, limit)

    def _count(self, query: str, *arguments: Any) -> int:
        rows = ask(self.pool, query, *arguments)
        return int(rows[0][0])


def _as_ids(ids: Any) -> Any:
    import numpy as np

    wanted = np.atleast_1d(np.asarray(ids))
    if not len(wanted):
        return np.empty(0, np.int64)
    check_ids(ids, wanted.dtype.kind)
    return wanted.astype(np.int64, copy=False)
