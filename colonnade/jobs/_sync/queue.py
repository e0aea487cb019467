# Generated from colonnade/jobs/_async/queue.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A queue of jobs, and how it hands them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._words.arguments import (
    check_callable,
    check_count,
    check_seconds,
    check_values,
    checked_timeout,
)
from colonnade._words.shown import class_name
from colonnade.errors import InterfaceValueError
from colonnade.jobs._sync.consumer import Consumer
from colonnade.jobs._sync.getting import Asker, get_until
from colonnade.jobs._sync.tables import Tables
from colonnade.jobs._tasks.threads import Signal
from colonnade.jobs.pace import EvenPace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade.jobs._sync.batch import Batch


class Queue(Tables):
    """A queue of jobs whose payload is a table; made by `create_queue` and `open_queue`.

    At least once: a job is handed out again if its lease ends, so a job may run twice, and two
    workers may run it at once if one is slower than its lease. Jobs are handed out by priority,
    lowest number first, and then by id; a job that comes back keeps its place.
    """

    def get(
        self,
        limit: int = 1000,
        *,
        lease: float | None = 60.0,
        timeout: float | None = None,
    ) -> Batch:
        """Get up to `limit` jobs that are ready, and hold them for `lease` seconds.

        Waits up to `timeout` seconds for the first job (None: without an end, 0: not at all), and
        returns what there is then, without waiting for more. A batch without jobs is false. The
        wait for a connection of the pool counts, except for 0: raises TimeoutError if none was free
        in that time, so that nobody knows whether there are jobs.

        The lease is committed when it returns: nobody else gets these jobs before its end. After
        it, they come back by themselves, which counts as an attempt. With `lease=None` the jobs are
        removed at once, so that each is handed out at most once: jobs that this process does not
        finish are lost.
        """
        return get([self], limit=limit, lease=lease, timeout=timeout)

    def consume(
        self,
        handler: Callable[[Batch], object],
        *,
        limit: int = 1000,
        lease: float = 60.0,
        concurrency: int = 1,
        prefetch: int = 1,
        stop_within: float = 30.0,
    ) -> Consumer:
        """Return a worker that calls `handler(batch)` for one batch after another.

        `consumer.run()` works until `consumer.stop()`, and `consumer.drain()` until no
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

    def __repr__(self) -> str:
        """Its name, and the payload's columns."""
        return f"<Queue {self.definition}: {', '.join(self.definition.payload)}>"


# Python's errors about arguments have this name.
Tables.add.__qualname__ = "Queue.add"


def get(
    queues: Sequence[Queue],
    *,
    limit: int = 1000,
    lease: float | None = 60.0,
    timeout: float | None = None,
) -> Batch:
    """Get jobs from the first of several queues that has any, from left to right.

    All queues must have been opened with one pool. The options are those of `Queue.get`; a batch
    without jobs is of the first queue.
    """
    check_count("limit", limit)
    if lease is not None:
        check_seconds("lease", lease)
    seconds = checked_timeout(timeout)
    _check_queues(queues)
    batch = get_until(Asker(queues, EvenPace(limit), lease, seconds), Signal())
    assert batch is not None  # noqa: S101 - nobody has stopped it
    return batch


def _check_queues(queues: Sequence[Queue]) -> None:
    check_values("queues", queues)
    if not queues:
        raise InterfaceValueError("get() needs at least one queue")
    for queue in queues:
        if not hasattr(queue, "pool"):
            kind = class_name(queue)
            msg = f"get() needs queues that create_queue or open_queue returned, not {kind}"
            raise TypeError(msg)
    if any(queue.pool is not queues[0].pool for queue in queues):
        raise InterfaceValueError("get() needs queues that were opened with one pool")
