# Generated from colonnade/jobs/_async/getting.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Getting jobs from queues, and waiting for them."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from colonnade._arguments import check_count, check_values, checked_timeout
from colonnade._shown import class_name
from colonnade.errors import DecodeError, InterfaceError
from colonnade.jobs._sync.batch import Batch
from colonnade.jobs._tasks.threads import Signal, rung_by
from colonnade.jobs.definition import check_seconds
from colonnade.jobs.observing import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs._sync.queue import Queue

_logger = logging.getLogger("colonnade.jobs")
_LEASE_BITS = 63
# A job that is due in a moment is not asked for more often than this.
_WAIT_LEAST_S = 0.005
_GIVE_BACK_S = 1.0
# So many jobs that cannot be read are put out of the way by one call.
_UNREADABLE_MOST = 10
# The lease of a job that is to be removed at once.
_SHORT_LEASE_S = 60.0


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
    return get_until(queues, limit, lease, timeout, Signal())


def get_until(
    queues: Sequence[Queue],
    limit: int,
    lease: float | None,
    timeout: float | None,
    stop: Signal,
) -> Batch:
    """Get jobs as `get` does; `stop` ends the wait, too."""
    check_count("limit", limit)
    if lease is not None:
        check_seconds("lease", lease)
    seconds = checked_timeout(timeout)
    check_values("queues", queues)
    if not queues:
        raise InterfaceError("get() needs at least one queue")
    for queue in queues:
        if not hasattr(queue, "pool"):
            kind = class_name(queue)
            msg = f"get() needs queues that create_queue or open_queue returned, not {kind}"
            raise TypeError(msg)
    if any(queue.pool is not queues[0].pool for queue in queues):
        raise InterfaceError("get() needs queues that were opened with one pool")
    give_up = None if seconds is None else time.monotonic() + seconds
    batch = _first(queues, limit, lease)
    if batch or seconds == 0 or stop.is_set():
        return batch
    channels = [queue.definition.channel for queue in queues]
    bell = Signal()
    # Jobs that are ready, and were not got, are locked: mostly for the moment of another `get`.
    pause_if_locked = _WAIT_LEAST_S
    with stop.rings(bell):
        with rung_by(queues[0].pool, channels, bell):
            while True:
                left = None if give_up is None else give_up - time.monotonic()
                if stop.is_set() or (left is not None and left <= 0):
                    return batch
                bell.wait(_pause(queues, left, pause_if_locked))
                bell.clear()
                pause_if_locked *= 2
                batch = _first(queues, limit, lease)
                if batch:
                    return batch


def _pause(queues: Sequence[Queue], left: float | None, if_locked: float) -> float:
    """The seconds until the next look: the soonest of a job's time, the poll and the timeout."""
    pauses = [queue.poll for queue in queues]
    for queue in queues:
        rows = queue.pool.fetch_plain(queue.layout.next_ready)
        if rows[0][0] is not None:
            pauses.append(max(rows[0][0], _WAIT_LEAST_S) if rows[0][0] > 0 else if_locked)
    if left is not None:
        pauses.append(max(left, 0.0))
    return min(pauses)


def _first(queues: Sequence[Queue], limit: int, lease: float | None) -> Batch:
    empty: Batch | None = None
    for queue in queues:
        queue.sweep()
        batch = _got(queue, limit, lease)
        if batch:
            return batch
        if empty is None:
            empty = batch
    assert empty is not None  # noqa: S101 - there is at least one queue
    return empty


def _got(queue: Queue, limit: int, lease: float | None) -> Batch:
    """Get jobs; one with a value that columns cannot hold must not keep all others from it.

    Fewer jobs are tried until they can be read. If it is the first one, it keeps its lease: so it
    is out of the way, and becomes a dead letter when it has no attempts left. After several such
    jobs the error is raised, because it may be this caller that cannot read any.
    """
    unreadable = 0
    while True:
        try:
            if lease is not None:
                return _leased(queue, limit, lease)
            return _taken(queue, limit) if limit > 1 else _taken_by_lease(queue)
        except DecodeError as error:
            if limit == 1:
                unreadable += 1
                _logger.warning(
                    "a job of the queue %s cannot be read, and waits for the end of its lease: %s",
                    *(queue.definition, error),
                )
            if unreadable == _UNREADABLE_MOST:
                raise
            limit = max(limit // 2, 1)


def _taken(queue: Queue, limit: int) -> Batch:
    """Remove jobs; what cannot be read stays."""
    with (
        queue.pool.acquire() as connection,
        connection.transaction(isolation="read_committed"),
    ):
        columns = connection.fetch_columns(queue.layout.take, limit)
    return _told(Batch(queue, columns, None, None))


def _taken_by_lease(queue: Queue) -> Batch:
    """Remove the first job, or lease it if it cannot be read."""
    batch = _leased(queue, 1, _SHORT_LEASE_S)
    if batch:
        batch.ack()
    return Batch(queue, batch.columns, None, None)


def _leased(queue: Queue, limit: int, lease: float) -> Batch:
    token = secrets.randbits(_LEASE_BITS)
    # Earlier than the server's clock begins the lease, so never too late.
    until = datetime.now(UTC) + timedelta(seconds=lease)
    try:
        columns = queue.pool.fetch_columns(queue.layout.lease, limit, lease, token)
    except BaseException as error:
        if isinstance(error, DecodeError) and limit == 1:
            raise
        # The server may have leased jobs before the answer was lost; the token finds them.
        _given_back(queue, token)
        raise
    return _told(Batch(queue, columns, token, until))


def _told(batch: Batch) -> Batch:
    if batch:
        tell(batch.queue.definition, "got", len(batch))
        tell(batch.queue.definition, "retried", (batch.attempts > 1).sum())
        if batch.token is None:
            tell(batch.queue.definition, "done", len(batch))
    return batch


def _given_back(queue: Queue, token: int) -> None:
    """Give back what an unanswered `get` has leased; else it comes back when the lease ends."""
    with contextlib.suppress(Exception):
        queue.pool.fetch_plain(queue.layout.release_all, token, timeout=_GIVE_BACK_S)
