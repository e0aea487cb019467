"""A worker whose handler is hostile.

`python -m tests.jobs.hostile_worker DSN DOOR DEED LIMIT LANES` drains the queue `work` with so many
handlers at once, acknowledges each job by itself, and does its deed at the job `POISON`. The deed
`kill` is done by a handler that leaves it to the worker to acknowledge.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import colonnade
import colonnade.sync
from colonnade import jobs
from colonnade.jobs import sync as blocking_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

POISON = 2
# Of a process that is ended, some jobs come back only when their lease ends.
_LEASE_S, _SHORT_LEASE_S = 60.0, 0.5


def kill() -> None:
    """End the process as the kernel does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    """Press Ctrl-C, which cancels the task of `asyncio.run`."""
    signal.raise_signal(signal.SIGINT)


def raise_interrupt() -> None:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def leave() -> None:
    """Exit."""
    sys.exit("the deed")


DEEDS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (kill, interrupt, raise_interrupt, leave)
}


def lease_for(deed: Callable[[], None]) -> float:
    """The seconds of a lease."""
    return _SHORT_LEASE_S if deed is leave else _LEASE_S


async def work(
    dsn: str, deed: Callable[[], None], limit: int, lanes: int, *, is_inner: bool
) -> None:
    """Drain, and do the deed in the handler's task or in one that it awaits."""

    async def act() -> None:
        deed()
        await asyncio.Event().wait()

    async def handler(batch: jobs.Batch) -> None:
        for number, job in zip(batch.columns["a"].tolist(), batch.ids.tolist(), strict=True):
            if number == POISON:
                await (asyncio.ensure_future(act()) if is_inner else act())
            if deed is not kill:
                await batch.ack(job)

    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        queue = await jobs.open_queue(pool, "work")
        options = {"limit": limit, "concurrency": lanes}
        await queue.consume(handler, lease=lease_for(deed), **options).drain()


def work_in_threads(dsn: str, deed: Callable[[], None], limit: int, lanes: int) -> None:
    """Drain in threads."""

    def handler(batch: blocking_jobs.Batch) -> None:
        for number, job in zip(batch.columns["a"].tolist(), batch.ids.tolist(), strict=True):
            if number == POISON:
                deed()
            if deed is not kill:
                batch.ack(job)

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=4) as pool:
        queue = blocking_jobs.open_queue(pool, "work")
        options = {"limit": limit, "concurrency": lanes}
        queue.consume(handler, lease=lease_for(deed), **options).drain()


def main(dsn: str, door: str, deed: str, limit: str, lanes: str) -> None:
    """Work by the door "tasks", "inner" (a task that the handler awaits) or "threads"."""
    if door == "threads":
        work_in_threads(dsn, DEEDS[deed], int(limit), int(lanes))
    else:
        is_inner = door == "inner"
        asyncio.run(work(dsn, DEEDS[deed], int(limit), int(lanes), is_inner=is_inner))


if __name__ == "__main__":
    main(*sys.argv[1:])
