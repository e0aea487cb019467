"""The measures of a queue: rates, processor time, dead rows and the time to arrive."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benches.server_cpu import server_cpu

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import asyncpg

    from benches.jobs.rivals.rival import Rival

_BACKENDS = (
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid <> pg_backend_pid()"
)
# A row that is updated or deleted is dead afterwards; TRUNCATE leaves none.
_DEAD = "SELECT coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables"
_ARRIVAL_MOST_S = 30.0
_IDLE_S = 0.02
_PAUSE_S = 0.02


@dataclass(frozen=True)
class Cost:
    """The cost of some work."""

    seconds: float
    client_s: float
    server_s: float


async def cost_of(work: Awaitable[object], admin: asyncpg.Connection) -> Cost:
    """The time of some work, and the processor time of this process and of its backends."""
    pids = [row[0] for row in await admin.fetch(_BACKENDS)]
    server = {pid: server_cpu(pid) for pid in pids}
    client, began = time.process_time(), time.perf_counter()
    await work
    seconds, used = time.perf_counter() - began, time.process_time() - client
    spent = sum(server_cpu(pid) - before for pid, before in server.items())
    return Cost(seconds, used, spent)


async def round_of(
    rival: Rival, dsn: str, admin: asyncpg.Connection, jobs: int, batch: int
) -> dict[str, float]:
    """Add jobs, and work them off."""
    count = min(jobs, rival.jobs_most)
    before = int(await admin.fetchval(_DEAD))
    await rival.open(dsn)
    # The first use imports modules and prepares statements.
    await rival.add(batch)
    await rival.work_off(batch)
    adding = await cost_of(rival.add(count), admin)
    working = await cost_of(rival.work_off(batch), admin)
    await rival.close()
    dead = await _dead(admin) - before
    return {
        "add/s": count / adding.seconds,
        "get + ack/s": count / working.seconds,
        "client us/job": (adding.client_s + working.client_s) / count * 1e6,
        "server us/job": (adding.server_s + working.server_s) / count * 1e6,
        "dead rows/job": dead / (count + batch),
    }


async def _dead(admin: asyncpg.Connection) -> int:
    """The rows that are dead; backends report them when they end."""
    while await admin.fetchval(f"SELECT EXISTS ({_BACKENDS})"):  # noqa: ASYNC110 - they tell nobody
        await asyncio.sleep(_PAUSE_S)
    return int(await admin.fetchval(_DEAD))


async def arrivals(rival: Rival, dsn: str, times: int) -> dict[str, float]:
    """The time from the call of add to the handler, of single jobs in an idle queue."""
    await rival.open(dsn)
    arrived: asyncio.Queue[int] = asyncio.Queue()
    serving = asyncio.create_task(rival.serve(arrived.put_nowait))
    taken = []
    try:
        # The first ones open connections and prepare statements.
        for number in range(-3, times):
            began = time.perf_counter()
            await rival.add_one(number)
            async with asyncio.timeout(_ARRIVAL_MOST_S):
                while await arrived.get() != number:
                    pass
            if number >= 0:
                taken.append(time.perf_counter() - began)
            await asyncio.sleep(_IDLE_S)
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        await rival.close()
    p50, p99 = np.percentile(taken, [50, 99])
    return {"arrival p50 ms": p50 * 1000, "arrival p99 ms": p99 * 1000}
