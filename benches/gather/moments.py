"""The overshoot of deadlines, and the time that shared flights save."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import asyncpg

import colonnade
import colonnade.sync
from benches.server_cpu import server_cpu
from colonnade import Query

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DEADLINE_S = 0.05
CONNECTIONS = 4
# Far longer than the deadline.
_SLOW = {str(n): Query.value(f"SELECT 1 FROM pg_sleep({n + 5})") for n in range(8)}


async def overshoot(dsn: str, count: int) -> dict[str, dict[str, float]]:
    """By how much gathers of slow queries exceed their deadline, in milliseconds.

    The control is a plain sleep of the same length, by turns: the machine's own lateness.
    """
    late, control = [], []
    async with colonnade.create_pool(dsn, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        await pool.gather(_SLOW, deadline=DEADLINE_S, on_error="return")
        for _ in range(count):
            began = time.perf_counter()
            await pool.gather(_SLOW, deadline=DEADLINE_S, on_error="return")
            late.append(time.perf_counter() - began - DEADLINE_S)
            began = time.perf_counter()
            await asyncio.sleep(DEADLINE_S)
            control.append(time.perf_counter() - began - DEADLINE_S)
    return {"gather": _quantiles(late), "asyncio.sleep": _quantiles(control)}


def blocking_overshoot(dsn: str, count: int) -> dict[str, float]:
    """The same with threads."""
    late = []
    with colonnade.sync.create_pool(dsn, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        pool.gather(_SLOW, deadline=DEADLINE_S, on_error="return")
        for _ in range(count):
            began = time.perf_counter()
            pool.gather(_SLOW, deadline=DEADLINE_S, on_error="return")
            late.append(time.perf_counter() - began - DEADLINE_S)
    return _quantiles(late)


def _quantiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    places = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {name: round(ordered[round(last * at)] * 1e3, 2) for name, at in places.items()}


async def flights(dsn: str, rounds: int, size: int) -> dict[str, Any]:
    """The milliseconds for forty short queries: together on connections, and each by itself.

    The processor times, means of a round, do not depend on the machine's load.
    """
    short = {str(n): Query.value(f"SELECT {n}") for n in range(40)}
    # A cost above the limit of short queries keeps them apart.
    apart = {name: Query.value(query.sql, cost=1.0) for name, query in short.items()}
    async with (
        colonnade.create_pool(dsn, min_size=size, max_size=size) as pool,
        asyncpg.create_pool(dsn, min_size=size, max_size=size) as theirs,
    ):

        async def as_written() -> object:
            return await asyncio.gather(*(theirs.fetchval(q.sql) for q in short.values()))

        peers: dict[str, Callable[[], Awaitable[object]]] = {
            "together": lambda: pool.gather(short),
            "together, with a deadline": lambda: pool.gather(short, deadline=10),
            "each by itself": lambda: pool.gather(apart),
            "asyncio.gather, asyncpg": as_written,
        }
        backends = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        pids = [row["pid"] for row in await theirs.fetch(backends)]
        wall: dict[str, list[float]] = {name: [] for name in peers}
        client, server = dict.fromkeys(peers, 0.0), dict.fromkeys(peers, 0.0)
        for turn in range(rounds + 10):
            for name, peer in peers.items():
                busy, used = sum(map(server_cpu, pids)), time.process_time()
                began = time.perf_counter()
                await peer()
                # The first turns prepare the statements and learn their times.
                if turn >= 10:
                    wall[name].append(time.perf_counter() - began)
                    client[name] += (time.process_time() - used) / rounds
                    server[name] += (sum(map(server_cpu, pids)) - busy) / rounds
    return {
        name: _quantiles(values)
        | {"min": _ms(min(values)), "client": _ms(client[name]), "server": _ms(server[name])}
        for name, values in wall.items()
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 2)
