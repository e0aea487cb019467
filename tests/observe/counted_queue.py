"""A queue with jobs in each state, and a monitor that has counted them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import colonnade
from colonnade import jobs, observe
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SCHEMA = "observed_jobs"


@asynccontextmanager
async def counted_queue(dsn: str) -> AsyncIterator[observe.JobsMonitor]:
    """Two ready jobs, one delayed, one leased, and a dead letter; counted."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        await pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        retry = jobs.Retry(max_attempts=1)
        queue = await jobs.create_queue(pool, "mails", {"a": "int8"}, schema=SCHEMA, retry=retry)
        try:
            async with observe.JobsMonitor([queue], every=1000) as monitor:
                await fill(queue)
                # Started anew, it counts at once.
                await monitor.stop()
                monitor.start()
                await until(lambda: counted(monitor) == 4)
                yield monitor
        finally:
            await pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


async def fill(queue: jobs.Queue) -> None:
    """Add five jobs; one of them dies, and one is leased."""
    await queue.add({"a": [1]})
    await (await queue.get()).nack(reason="no")
    await queue.add({"a": [2, 3, 4]})
    await queue.add({"a": [5]}, delay=1000)
    await queue.get(limit=1)


def counted(monitor: observe.JobsMonitor) -> int | None:
    """The number of jobs of its first queue, if it is known."""
    stats = monitor.figures()[0].stats
    return None if stats is None else stats.total
