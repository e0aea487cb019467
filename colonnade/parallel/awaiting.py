"""The coroutines of `parallel`, over threads that block."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from colonnade._words.signatures import options_of
from colonnade.parallel.calls import Call, Stopped
from colonnade.parallel.plan_request import Request, check_request
from colonnade.parallel.reading import Reading
from colonnade.parallel.snapshot_plan import Partitions, close

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from colonnade import Columns
    from colonnade.parallel.plan_request import Options

T = TypeVar("T")


@options_of(Request)
async def read(
    table_or_query: str,
    dsn: str,
    *,
    connections: int = 2,
    parts: int | None = None,
    ordered: bool = True,
    **options: Unpack[Options],
) -> Columns:
    """Read a table or query over several connections at the same time, as `Columns`.

    The rows are those of a single read. With `ordered`, they are in physical order, or sorted by
    `partition_by`, NULL last; without it, in the order in which partitions finish. `parts`
    partitions are read by `connections` threads; None means two for each. The other parameters are
    those of `plan`.

    The reading has its own threads, because the loop's single thread cannot decode two results at
    the same time. If one thread fails, or if the task is cancelled, once or several times, the
    queries are cancelled, and the call ends after all connections are closed. Raises the first
    error.
    """
    check_request(read, options)
    reading = Reading(
        table_or_query, dsn, connections=connections, parts=parts, ordered=ordered, **options
    )
    return await _outcome(reading, reading.run)


@options_of(Request)
async def plan(table_or_query: str, dsn: str, *, parts: int, **options: Unpack[Options]) -> Plan:
    """Split a table or a query into partitions that several workers can read at the same time.

    A text that is a name, such as `flights` or `public."Flights"`, is a table; any other is a query
    whose `$1`, `$2`, ... take the values of `args`. There are `parts` partitions, or fewer for
    little data; every row is in exactly one.

    A table is split by the physical positions of its rows, unless `partition_by` names a column. A
    query needs one. It is split either into parts of about the same number of rows
    (`cuts="quantile"`, which runs the query once more, or reads a sample of a large table), or into
    steps of equal width between minimum and maximum (`cuts="range"`, for numbers, dates and
    timestamps). Rows whose key is NULL are in the last partition.

    Use it as `async with await plan(...)`. A partition is read by a worker, often in another
    process, so its `read` blocks.

    All partitions see one snapshot, which the plan exports and keeps until it is closed: they see
    the database at one moment, and no later write. `snapshot` may be the name of a
    snapshot that another session has exported and keeps. With None there is no snapshot: each
    partition sees the database when it is read, and a row that moves between two of them is read
    twice or never.

    `schema` and `infinity` are as in `fetch_columns`; `connect_options` are further arguments of
    `colonnade.sync.connect`, for the plan and for the partitions.

    Raises InterfaceError if it cannot be split in this way, or if its rows may differ each time it
    runs (LIMIT, DISTINCT ON, `now()`, volatile functions), and the server's errors for the query.
    """
    check_request(plan, options)
    request = Request(table_or_query, dsn, parts=parts, **options)
    planning = _Planning(request)
    return await _outcome(planning, planning.run)


class Plan(Partitions):
    """The partitions of a table or query; `colonnade.parallel.plan` creates it.

    A sequence of `Partition`. Its own connection keeps their snapshot until the plan is closed:
    close it, or leave its `async with` block, after all of them have been read.
    """

    async def __aenter__(self) -> Self:
        """The plan itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """Release the snapshot: reading a partition afterwards raises InterfaceError."""
        threads = ThreadPoolExecutor(1, "colonnade-close")
        try:
            await asyncio.get_running_loop().run_in_executor(threads, self._finalizer)
        finally:
            threads.shutdown(wait=False)


class _Planning(Call):
    """One call of `plan`."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._request = request

    def run(self) -> Plan:
        """Make the plan, which closes its connection if nobody takes it; once."""
        try:
            coordinator = self._request.source.connect()
            with self.working(coordinator):
                planned = self._request.plan(coordinator)
            if self.is_stopped.is_set():
                close(coordinator)
                raise Stopped
            return Plan(*planned)
        finally:
            self.has_ended.set()


async def _outcome(call: Call, run: Callable[[], T]) -> T:
    """Return the result of a call. Cancelling the task ends the call, and then the task."""
    # Its own executor: in the loop's, running and ending could wait for each other's threads.
    threads = ThreadPoolExecutor(2, "colonnade-read")
    running = asyncio.get_running_loop().run_in_executor(threads, run)
    try:
        await asyncio.wait({running})
    except asyncio.CancelledError:
        threads.submit(call.end)
        while not running.done():
            # It is already being ended; further cancellations cannot make it faster.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        # Its exception is the requested end.
        running.exception()
        raise
    finally:
        threads.shutdown(wait=False)
    return running.result()
