"""Measures the cost of a pool: `python -m benches.pool [--rounds N] [--output results.json]`.

It measures one value by `fetchval`, from a bare connection and from a pool, and many tasks on few
connections. Peers take turns in slices of a few milliseconds, so that other load affects all of
them.

The placement of client and server matters more than the client: on a quiet machine the kernel runs
both on one processor as long as answers are short, and waking a sleeping processor can take longer
than the query. `--processors` fixes the placement; `apart` resembles a server on another machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import platform
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg

import colonnade
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Fetch = Callable[[], Awaitable[Any]]

POOL_SIZE = 10
CALLS = 100
TASKS = 10_000
QUERY = "SELECT 1"
PLACEMENTS = ["any", "apart", "together"]


def main() -> None:
    """Measure on every installed loop; print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--processors", choices=PLACEMENTS, default="any")
    arguments = parser.parse_args()
    results: dict[str, Any] = {
        "machine": {"processors": os.cpu_count(), "python": platform.python_version()},
        "versions": {"colonnade": colonnade.__version__, "asyncpg": asyncpg.__version__},
        "load": [os.getloadavg()],
        "processors": arguments.processors,
        "pool_size": POOL_SIZE,
        "tasks": TASKS,
        "loops": {},
    }
    with embedded.start() as server:
        place(server.pid, arguments.processors)
        for name, factory in loop_factories().items():
            with asyncio.Runner(loop_factory=factory) as runner:
                results["loops"][name] = runner.run(measure(server.socket_dsn, arguments.rounds))
            show(name, results["loops"][name])
    results["load"].append(os.getloadavg())
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


def place(server_pid: int, placement: str) -> None:
    """Pin this process to the first processor, and the server to the same one or the others."""
    if placement == "any":
        return
    first, *others = sorted(os.sched_getaffinity(0))
    if placement == "apart" and not others:
        raise SystemExit("this machine has one processor, so client and server cannot be apart")
    os.sched_setaffinity(0, {first})
    # Each connection's process is a child of the server's and inherits its processors.
    os.sched_setaffinity(server_pid, set(others) if placement == "apart" else {first})


def loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The installed event loops."""
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]]
    factories = {"asyncio": asyncio.new_event_loop}
    with contextlib.suppress(ImportError):
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    return factories


async def measure(dsn: str, rounds: int) -> dict[str, Any]:
    """Measure every subject on the running loop."""
    calls: dict[str, list[tuple[float, float]]] = defaultdict(list)
    rates: dict[str, list[float]] = defaultdict(list)
    async with contextlib.AsyncExitStack() as stack:
        subjects = {name: await stack.enter_async_context(subject) for name, subject in all_of(dsn)}
        for fetch in subjects.values():
            await called(fetch)
        for _ in range(rounds):
            for name, fetch in subjects.items():
                calls[name].append(await called(fetch))
        for _ in range(max(rounds // 12, 3)):
            for name, fetch in subjects.items():
                if name.endswith("pool"):
                    rates[name].append(await served(fetch))
    return {
        "fetchval_us": {name: summary(values) for name, values in calls.items()},
        "tasks_per_second": {
            name: {"median": round(statistics.median(values)), "best": round(max(values))}
            for name, values in rates.items()
        },
    }


def all_of(dsn: str) -> list[tuple[str, Any]]:
    """The subjects, each as a context that gives its `fetchval`."""
    subjects: list[tuple[str, Any]] = [
        ("colonnade bare", bare(colonnade, dsn)),
        ("colonnade pool", pooled(colonnade, dsn)),
        ("asyncpg bare", bare(asyncpg, dsn)),
        ("asyncpg pool", pooled(asyncpg, dsn)),
    ]
    with contextlib.suppress(ImportError):
        psycopg_pool = importlib.import_module("psycopg_pool")

        subjects.append(("psycopg_pool pool", of_psycopg(psycopg_pool, dsn)))
    return subjects


@contextlib.asynccontextmanager
async def bare(driver: Any, dsn: str) -> AsyncIterator[Fetch]:
    """The `fetchval` of a connection."""
    connection = await driver.connect(dsn)
    yield lambda: connection.fetchval(QUERY)
    await connection.close()


@contextlib.asynccontextmanager
async def pooled(driver: Any, dsn: str) -> AsyncIterator[Fetch]:
    """The `fetchval` of a pool."""
    async with driver.create_pool(dsn, min_size=POOL_SIZE, max_size=POOL_SIZE) as pool:
        yield lambda: pool.fetchval(QUERY)


@contextlib.asynccontextmanager
async def of_psycopg(module: Any, dsn: str) -> AsyncIterator[Fetch]:
    """The same query through psycopg's pool, which resets nothing."""
    kwargs = {"autocommit": True}
    pool = module.AsyncConnectionPool(
        dsn, min_size=POOL_SIZE, max_size=POOL_SIZE, kwargs=kwargs, open=False
    )

    async def fetch() -> Any:
        async with pool.connection() as connection:
            row = await (await connection.execute(QUERY, prepare=True)).fetchone()
            return row[0]

    async with pool:
        yield fetch


async def called(fetch: Fetch) -> tuple[float, float]:
    """Microseconds per call: wall time, and the client's processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        await fetch()
    spent = time.process_time() - processor
    return (time.perf_counter() - wall) / CALLS * 1e6, spent / CALLS * 1e6


async def served(fetch: Fetch) -> float:
    """Calls per second with many tasks at once."""
    began = time.perf_counter()
    await asyncio.gather(*(fetch() for _ in range(TASKS)))
    return TASKS / (time.perf_counter() - began)


def summary(values: list[tuple[float, float]]) -> dict[str, float]:
    """Median, first decile and minimum of the wall times; median of the processor times."""
    walls = sorted(wall for wall, _ in values)
    return {
        "wall_median": round(statistics.median(walls), 1),
        "wall_decile": round(walls[len(walls) // 10], 1),
        "wall_least": round(walls[0], 1),
        "cpu_median": round(statistics.median(spent for _, spent in values), 1),
    }


def show(loop: str, figures: dict[str, Any]) -> None:
    """Print the figures of one loop."""
    print(loop)
    for name, values in figures["fetchval_us"].items():
        print(f"  {name:<18}", "  ".join(f"{key} {value:7.1f}" for key, value in values.items()))
    for driver in ("colonnade", "asyncpg"):
        of = {kind: figures["fetchval_us"][f"{driver} {kind}"] for kind in ("pool", "bare")}
        ratios = {key: of["pool"][key] / of["bare"][key] for key in of["pool"]}
        print(f"  {driver} pool ÷ bare", {key: round(ratio, 2) for key, ratio in ratios.items()})
    for name, rates in figures["tasks_per_second"].items():
        print(f"  {name:<18} {rates['median']:7.0f} tasks/s (median), {rates['best']:.0f} (best)")


if __name__ == "__main__":
    main()
