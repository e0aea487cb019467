"""Measures what metrics and Server-Timing add to a query.

    python -m benches.observe.queries [--rounds 20]

One value is fetched from a pool, again and again. The observers take turns in slices of two
thousand queries in the same process, so that other load affects all of them. The figures are
medians per query: the processor time of the process, and the time that the caller waited.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import colonnade
from benches.measure import machine
from colonnade import embedded, observe

QUERIES = 2000
PER_REQUEST = 10
QUERY = "SELECT 1"

Slice = Callable[[colonnade.Pool], Awaitable[None]]


async def _queries(pool: colonnade.Pool) -> None:
    for _ in range(QUERIES):
        await pool.fetchval(QUERY)


async def _prometheus(pool: colonnade.Pool) -> None:
    from prometheus_client import CollectorRegistry

    with observe.PrometheusMetrics(CollectorRegistry(), [pool]):
        await _queries(pool)


async def _open_telemetry(pool: colonnade.Pool) -> None:
    with observe.OpenTelemetryMetrics(_provider(), [pool]):
        await _queries(pool)


def _provider() -> Any:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    return MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)


async def _nothing(*_: Any) -> None:
    pass


async def _requests(pool: colonnade.Pool, *, expose: bool) -> None:
    """The same queries in requests of an ASGI application that the middleware wraps."""

    async def app(_: Any, __: Any, send: Any) -> None:
        for _query in range(PER_REQUEST):
            await pool.fetchval(QUERY)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    timed: Any = observe.ServerTiming(app, expose=expose)
    for _ in range(QUERIES // PER_REQUEST):
        await timed({"type": "http", "method": "GET", "headers": []}, _nothing, _nothing)


async def _server_timing(pool: colonnade.Pool) -> None:
    await _requests(pool, expose=True)


async def _server_timing_off(pool: colonnade.Pool) -> None:
    await _requests(pool, expose=False)


SLICES: dict[str, Slice] = {
    "none": _queries,
    "PrometheusMetrics": _prometheus,
    "OpenTelemetryMetrics": _open_telemetry,
    "ServerTiming": _server_timing,
    "ServerTiming, not exposed": _server_timing_off,
}


async def _measure(dsn: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Microseconds per query of each slice: of the processor, and of the caller."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    names = list(SLICES)
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        for number in range(rounds + 1):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                wall, processor = time.perf_counter(), time.process_time()
                await SLICES[name](pool)
                spent = time.process_time() - processor, time.perf_counter() - wall
                # The first round warms up.
                if number:
                    found[name].append((spent[0] / QUERIES * 1e6, spent[1] / QUERIES * 1e6))
    return found


def _loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    with contextlib.suppress(ImportError):
        import uvloop

        loops["uvloop"] = uvloop.new_event_loop
    return loops


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on each loop that is installed, and print a table."""
    parser = argparse.ArgumentParser(prog="benches.observe.queries", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args(arguments).rounds
    print(machine.describe())
    with embedded.start() as server:
        for loop, factory in _loops().items():
            with asyncio.Runner(loop_factory=factory) as runner:
                found = runner.run(_measure(server.dsn, rounds))
            print(f"\n{loop}: microseconds per query (median of {rounds} slices)")
            print(f"{'':28}{'processor':>10}{'added':>8}{'wall':>10}{'added':>8}")
            medians = {
                name: [statistics.median(column) for column in zip(*slices, strict=True)]
                for name, slices in found.items()
            }
            least = medians["none"]
            for name, (processor, wall) in medians.items():
                added = processor - least[0], wall - least[1]
                print(f"{name:28}{processor:10.1f}{added[0]:8.1f}{wall:10.1f}{added[1]:8.1f}")


if __name__ == "__main__":
    main()
