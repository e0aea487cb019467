# Generated from colonnade/_driver/_async/pool/gather.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Runs many queries of a pool within one deadline, and tells the outcome of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colonnade._driver.gather.gathered import Gathered
from colonnade._driver.gather.plan import Job, Plan
from colonnade._driver.gather.query import Query
from colonnade._driver.gather.shared_errors import own
from colonnade._driver.gather.threads import Workers
from colonnade._driver.transport.threads import deadline
from colonnade._words.arguments import check_choice, check_count, check_whole, checked_timeout
from colonnade._words.shown import shown
from colonnade.errors import (
    ActiveSQLTransactionError,
    DeadlineError,
    InterfaceError,
    InvalidTransactionTerminationError,
    QueryCanceledError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver._sync.connection import Connection
    from colonnade._driver._sync.pool.lender import Borrow
    from colonnade._driver.gather.costs import QueryCosts
    from colonnade._driver.gather.threads import SharedReads
    from colonnade.errors._client import Phase

# After the deadline, the server's own word that it has ended a query is awaited for this time: then
# no cancel request is needed.
GRACE_S = 0.002
# The server counts whole milliseconds, so a query may end by that much too early.
_MILLISECOND = 0.001
# The server's message that it has ended a query is shorter.
_ERROR_BYTES_MAX = 1024
_NO_BLOCK = (
    "a gather with a deadline sends each query in a transaction with its statement_timeout: ask "
    "this one without a deadline, or by Pool.execute(..., timeout=...)"
)
_ON_ERROR = ("raise", "return")
_ORDERS = ("longest-first", "given")


class Gather:
    """One call of `Pool.gather`, for a pool that lends its connections by `borrow`."""

    def __init__(
        self,
        borrow: Borrow,
        costs: QueryCosts,
        shared_reads: SharedReads,
        connections: int,
        priority: int,
    ) -> None:
        self._borrow = borrow
        self._costs = costs
        self._shared_reads = shared_reads
        self._connections = connections
        check_whole("priority", priority)
        self._priority = priority
        self._workers = Workers()
        self._ends_at: float | None = None
        self._seconds: float | None = None
        self._raises = True
        # The errors that were raised with the name of their query.
        self._raised: list[Exception] = []

    def results(
        self,
        queries: Mapping[str, Query[Any]],
        seconds: float | None,
        on_error: str,
        limit: int | None,
        order: Any,
    ) -> Gathered:
        """Ask the queries, and return their results; see `Pool.gather`."""
        jobs = [Job(name, query, self._costs) for name, query in _checked(queries).items()]
        check_choice("on_error", on_error, _ON_ERROR)
        check_choice("order", order, _ORDERS)
        if limit is not None:
            check_count("limit", limit)
            self._connections = min(limit, self._connections)
        self._raises = on_error == "raise"
        self._seconds = checked_timeout(seconds, "deadline")
        if self._seconds is not None:
            self._ends_at = time.monotonic() + self._seconds
        count = min(self._connections, len(jobs))
        plan = Plan(jobs, count, order)

        def work() -> None:
            while bundle := plan.take():
                self._run(bundle)

        if jobs:
            self._workers.run(work, count, self._left())
        return self._gathered(jobs)

    def _gathered(self, jobs: list[Job]) -> Gathered:
        for job in jobs:
            if not job.is_done:
                self._fail(job, TimeoutError())
        results = {job.name: job.value for job in jobs if job.error is None}
        errors = {job.name: job.error for job in jobs if job.error is not None}
        return Gathered(tuple(job.name for job in jobs), results, errors)

    def _left(self) -> float | None:
        """The seconds for which the answers are awaited."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at + GRACE_S - time.monotonic())

    # One bundle

    def _run(self, bundle: list[Job]) -> None:
        if bundle[0].query.shared:
            self._join(bundle[0])
            return
        try:
            holder = self._borrow(self._priority, self._left())
        except Exception as error:  # noqa: BLE001 - it becomes the error of each query
            self._fail_all(bundle, error)
            return
        try:
            self._ask(holder.connection, bundle)
        finally:
            # The pool does not wait for cancelled queries, nor the gather for a reset.
            if not holder.give_back():
                holder.finish_in_background()

    def _join(self, job: Job) -> None:
        """Get the result of a shared query, which this or another gather runs."""

        def read(workers: Workers) -> Any:
            # Without this gather's deadline: other gathers may wait longer.
            holder = self._borrow(self._priority)
            conversation = holder.connection.conversation
            try:
                workers.begins(conversation)
                began = time.monotonic()
                try:
                    value = job.query.asked_of(holder.connection)
                finally:
                    workers.ended(conversation)
                # Once, and as long as it ran: its callers may have waited longer, or joined late.
                self._costs.note(job.query.sql, time.monotonic() - began)
                return value
            finally:
                if not holder.give_back():
                    holder.finish_in_background()

        try:
            with deadline(self._left()):
                key = job.query.key(job.name)
                value = self._shared_reads.join(key, read, self._workers, job)
        except Exception as error:  # noqa: BLE001 - it becomes the query's error
            self._fail(job, error)
        else:
            job.settle(value)

    def _ask(self, connection: Connection, bundle: list[Job]) -> None:
        conversation = connection.conversation
        limit = conversation.command_timeout
        if self._ends_at is not None:
            left = self._ends_at - time.monotonic()
            if left <= 0:
                for job in bundle:
                    self._fail(job, TimeoutError())
                return
            conversation.session.limit_queries(max(1, int(left / _MILLISECOND)))
            limit = left + GRACE_S if limit is None else min(limit, left + GRACE_S)
        try:
            self._workers.begins(conversation)
            if len(bundle) == 1:
                self._ask_one(connection, bundle[0], limit)
            else:
                self._ask_together(connection, bundle, limit)
        finally:
            self._workers.ended(conversation)
            if self._ends_at is not None:
                conversation.session.limit_queries(None)

    def _ask_one(self, connection: Connection, job: Job, limit: float | None) -> None:
        began = time.monotonic()
        job.connection = connection
        try:
            value = job.query.asked_of(connection, timeout=limit)
        except Exception as error:  # noqa: BLE001 - it becomes the query's error
            self._fail(job, error)
        else:
            self._costs.note(job.query.sql, time.monotonic() - began)
            job.settle(value)

    def _ask_together(self, connection: Connection, bundle: list[Job], limit: float | None) -> None:
        """Send several queries in one bundle; each has its own Sync, so its errors are its own."""
        began = time.monotonic()
        try:
            with connection.pipeline(timeout=limit) as pipeline:
                asked = []
                for job in bundle:
                    job.connection = connection
                    try:
                        asked.append((job, job.query.asked_of(pipeline)))
                    except Exception as error:  # noqa: BLE001 - it becomes the query's error
                        self._fail(job, error)
                for job, result in asked:
                    try:
                        value = result.wait()
                    except Exception as error:
                        if not result.is_done():
                            raise
                        self._fail(job, error)
                    else:
                        job.settle(value)
        except Exception as error:
            if any(error is raised for raised in self._raised):
                raise
            # Of the whole bundle: the first query without a result is the one it waited for.
            self._fail_all([job for job in bundle if not job.is_done], error)
            return
        self._note_together(bundle, time.monotonic() - began)

    def _note_together(self, bundle: Sequence[Job], seconds: float) -> None:
        for job in bundle:
            if job.error is None:
                self._costs.note(job.query.sql, seconds / len(bundle))

    def _fail_all(self, jobs: list[Job], error: Exception) -> None:
        """Record an error for each of several queries, or raise it."""
        errors = [error, *(own(error) for _ in jobs[1:])]
        for job, its in zip(jobs, errors, strict=False):
            self._fail(job, its)

    def _fail(self, job: Job, error: Exception) -> None:
        """Record a query's error, or raise it."""
        error = self._reason(job, error)
        if self._raises:
            error.add_note(f"in the query {shown(job.name)} of a gather")
            self._raised.append(error)
            raise error
        job.settle(error=error)

    def _reason(self, job: Job, error: Exception) -> Exception:
        """The error, or the deadline's if that has ended the query."""
        refusals = ActiveSQLTransactionError | InvalidTransactionTerminationError
        if self._ends_at is not None and isinstance(error, refusals):
            error.add_note(_NO_BLOCK)
            return error
        if (
            not isinstance(error, TimeoutError | QueryCanceledError)
            or isinstance(error, DeadlineError)
            or self._ends_at is None
            or self._seconds is None
            or time.monotonic() < self._ends_at - _MILLISECOND
        ):
            return error
        reason = DeadlineError(job.name, _phase(job), self._seconds)
        reason.__cause__ = error if error.args else None
        return reason


def _checked(queries: object) -> dict[str, Query[Any]]:
    """The queries as they are now: the caller's mapping may change while it is read."""
    if not isinstance(queries, Mapping):
        msg = f"gather takes a mapping of names to queries, not {shown(queries)}"
        raise TypeError(msg)
    checked = dict(queries)
    for name, query in checked.items():
        if not isinstance(name, str):
            msg = f"the names of a gather's queries must be str, not {shown(name)}"
            raise TypeError(msg)
        if not isinstance(query, Query):
            msg = (
                f"the query {shown(name)} of a gather must be a Query, such as "
                f"Query.columns(sql, ...), not {shown(query)}"
            )
            raise TypeError(msg)
        if query.shared:
            query.key(name)
    return checked


def _phase(job: Job) -> Phase:
    """How far a query had come when it ended, or when its gather did."""
    if job.query.shared:
        read = job.read
        return "running" if read is not None and read.has_begun else "waiting"
    # Another thread may record the result at this moment.
    connection = job.connection
    if connection is None:
        return "waiting"
    try:
        timing = connection.conversation.timing()
    except InterfaceError:
        # Another thread takes in its answer at this moment.
        return "arriving"
    # The message that the server has ended the query arrives, too.
    is_arriving = timing is not None and timing.bytes > _ERROR_BYTES_MAX
    return "arriving" if is_arriving else "running"
