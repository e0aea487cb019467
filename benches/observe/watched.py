"""Measures what watching adds to queries.

    python -m benches.observe.watched [--queries 5000] [--rounds 5]

Ten connections fetch one value, one row as columns, and 100,000 rows as columns, in one process for
each loop. The ways of watching take turns within each round; the least processor time of the client
per query counts, and its ratio to that without watching.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import colonnade
from benches.measure import machine
from colonnade import embedded, observe, tracing

CONNECTIONS = 10
LARGE = "SELECT n, n::float8 AS x FROM generate_series(1, 100000) AS n"

Query = Callable[[colonnade.Connection], Awaitable[Any]]
QUERIES: dict[str, tuple[Query, float]] = {
    "fetchval": (lambda connection: connection.fetchval("SELECT $1::int", 1), 1.0),
    "one row as columns": (lambda connection: connection.fetch_columns("SELECT $1::int", 1), 1.0),
    "100,000 rows as columns": (lambda connection: connection.fetch_columns(LARGE), 0.004),
}


@contextlib.asynccontextmanager
async def _nothing() -> Any:
    yield


@contextlib.asynccontextmanager
async def _metrics() -> Any:
    import prometheus_client

    metrics = observe.PrometheusMetrics(prometheus_client.CollectorRegistry())
    with metrics:
        yield


WAYS: dict[str, Callable[[], Any]] = {
    "unwatched": _nothing,
    "LoopMonitor": lambda: observe.LoopMonitor(logger=None),
    "PrometheusMetrics": _metrics,
    "trace()": observe.trace,
}


async def _measure(connections: Sequence[colonnade.Connection], query: Query, count: int) -> float:
    async def work(connection: colonnade.Connection) -> None:
        for _ in range(count // CONNECTIONS):
            await query(connection)

    start = time.process_time()
    await asyncio.gather(*(work(connection) for connection in connections))
    return (time.process_time() - start) / count * 1e6


async def _compare(dsn: str, queries: int, rounds: int) -> dict[str, dict[str, float]]:
    least: dict[str, dict[str, float]] = {name: {} for name in QUERIES}
    async with contextlib.AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(await colonnade.connect(dsn))
            for _ in range(CONNECTIONS)
        ]
        for _ in range(rounds):
            for name, (query, share) in QUERIES.items():
                count = max(CONNECTIONS, int(queries * share))
                for way, watching in WAYS.items():
                    async with watching():
                        # Warm, and past the first beats.
                        await _measure(connections, query, max(CONNECTIONS, count // 10))
                        cost = await _measure(connections, query, count)
                    least[name][way] = min(cost, least[name].get(way, cost))
                    assert tracing.active is None
    return least


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benches.observe.watched", description=__doc__)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(words)
    print(machine.describe())
    with embedded.start() as server:
        for loop in ("asyncio", "uvloop"):
            factory: Any = None
            if loop == "uvloop":
                import uvloop

                factory = uvloop.new_event_loop
            with asyncio.Runner(loop_factory=factory) as runner:
                compared = runner.run(_compare(server.dsn, arguments.queries, arguments.rounds))
            print(f"\n| {loop}, client CPU per query | " + " | ".join(WAYS) + " |")
            print("|---" * (len(WAYS) + 1) + "|")
            for name, costs in compared.items():
                bare = costs["unwatched"]
                cells = [f"{cost:.1f} us ({cost / bare:.2f})" for cost in costs.values()]
                print(f"| {name} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
