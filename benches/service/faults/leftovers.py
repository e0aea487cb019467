"""The remains of a fault: connections, tasks, leases of jobs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

import colonnade
from benches.service.faults.faults import APPLICATION
from benches.service.load.watch import metric
from colonnade import jobs
from examples.service.jobs import QUEUE

if TYPE_CHECKING:
    from benches.service.load.http_client import Client

#: Work that was under way must have ended by then; a lease of a job ends by itself after 60 s.
SECONDS_MAX = 75.0
_CONNECTIONS = f"""
    SELECT count(*) FROM pg_stat_activity WHERE application_name = '{APPLICATION}'
"""


@dataclass(frozen=True)
class Held:
    """The resources that the service holds while it has no requests."""

    tasks: int
    busy: int
    waiting: int
    connections: int
    leased: int
    jobs: int

    def is_clean(self, before: Held, pool_size: int) -> bool:
        """Whether nothing is held that was not held before, and no job is left."""
        return (
            self.tasks <= before.tasks
            # The queue waits for jobs on a connection of the pool.
            and self.busy <= 1
            and self.waiting + self.leased + self.jobs == 0
            and self.connections <= pool_size
        )


async def held(client: Client, pool: colonnade.Pool) -> Held:
    """Look."""
    ready = orjson.loads((await client.get("/readyz")).body)
    shown = (await client.get("/metrics")).body.decode()
    stats = await (await jobs.open_queue(pool, QUEUE)).stats()
    return Held(
        tasks=int(metric(shown, "colonnade_loop_tasks")),
        busy=ready["pool"]["busy"],
        waiting=ready["pool"]["waiting"],
        connections=await pool.fetchval(_CONNECTIONS),
        leased=stats.leased,
        jobs=stats.ready,
    )


async def settled(client: Client, dsn: str, before: Held | None, pool_size: int) -> Held:
    """Look until all is clean, for a time; return what is held then."""
    give_up = time.monotonic() + SECONDS_MAX
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        while True:
            found = await held(client, pool)
            if found.is_clean(before or found, pool_size) or time.monotonic() > give_up:
                return found
            await asyncio.sleep(0.2)
