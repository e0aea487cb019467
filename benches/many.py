"""Many sets of arguments, and pipelines, compared with asyncpg and psycopg.

    python -m benches.many [DSN] [--rounds 5] [--uvloop] [--output results.json]

The drivers take turns in one process; without a DSN, a private server is started.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import json
import os
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import psycopg
import uvloop

import colonnade
from benches.server_cpu import server_cpu
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROWS = 100_000
QUERIES = 100
TABLE = "CREATE UNLOGGED TABLE {} (id int, name text, price float8, seen timestamptz)"
INSERT = "INSERT INTO many_rows VALUES ($1, $2, $3, $4)"
SELECT = "SELECT $1::int + 1"


@dataclass(frozen=True)
class Figures:
    """The cost of one run in seconds; the server's in the kernel's ticks of 10 ms."""

    wall: float
    client_cpu: float
    server_cpu: float


async def measured(run: Callable[[], Awaitable[object]], pid: int) -> Figures:
    """Run `work` once and return its cost."""
    before, server, started = resource.getrusage(0), server_cpu(pid), time.perf_counter()
    await run()
    wall = time.perf_counter() - started
    after = resource.getrusage(0)
    client = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figures(wall, client, server_cpu(pid) - server)


async def compare(dsn: str, rounds: int) -> dict[str, dict[str, list[Figures]]]:
    """Measure both cases with every driver."""
    day = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    rows = [(n, f"instrument {n}", n / 7, day + dt.timedelta(seconds=n)) for n in range(ROWS)]
    ours = await colonnade.connect(dsn)
    theirs = await asyncpg.connect(dsn)
    psy = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    await ours.execute("DROP TABLE IF EXISTS many_rows")
    await ours.execute(TABLE.format("many_rows"))

    async def colonnade_pipeline() -> None:
        async with ours.pipeline() as pipeline:
            results = [pipeline.fetchval(SELECT, number) for number in range(QUERIES)]
        assert [result.result() for result in results] == list(range(1, QUERIES + 1))

    async def psycopg_many() -> None:
        async with psy.cursor() as cursor:
            await cursor.executemany("INSERT INTO many_rows VALUES (%b, %b, %b, %b)", rows)

    async def psycopg_pipeline() -> None:
        async with psy.pipeline():
            cursors = [
                await psy.execute("SELECT %b::int + 1", (number,), prepare=True)
                for number in range(QUERIES)
            ]
            values = [await cursor.fetchone() for cursor in cursors]
        assert values == [(number,) for number in range(1, QUERIES + 1)]

    async def awaited(fetchval: Callable[..., Awaitable[Any]]) -> None:
        for number in range(QUERIES):
            assert await fetchval(SELECT, number) == number + 1

    pids = (ours.get_server_pid() or 0, theirs.get_server_pid(), psy.info.backend_pid)
    cases: dict[str, list[tuple[str, Callable[[], Awaitable[object]], int]]] = {
        f"executemany of {ROWS} rows x 4 columns": [
            ("Colonnade", lambda: ours.executemany(INSERT, rows), pids[0]),
            ("asyncpg", lambda: theirs.executemany(INSERT, rows), pids[1]),
            ("psycopg", psycopg_many, pids[2]),
        ],
        f"{QUERIES} queries": [
            ("Colonnade, pipeline", colonnade_pipeline, pids[0]),
            ("psycopg, pipeline", psycopg_pipeline, pids[2]),
            ("Colonnade, awaited", lambda: awaited(ours.fetchval), pids[0]),
            ("asyncpg, awaited", lambda: awaited(theirs.fetchval), pids[1]),
        ],
    }
    figures: dict[str, dict[str, list[Figures]]] = {}
    for case, runs in cases.items():
        of_case = figures[case] = {name: [] for name, _, _ in runs}
        for turn in range(rounds + 1):
            for name, run, pid in runs[turn % len(runs) :] + runs[: turn % len(runs)]:
                await ours.execute("TRUNCATE many_rows")
                taken = await measured(run, pid)
                # The first round prepares the statements.
                if turn:
                    of_case[name].append(taken)
    await ours.execute("DROP TABLE many_rows")
    await ours.close()
    await theirs.close()
    await psy.close()
    return figures


def show(figures: dict[str, dict[str, list[Figures]]]) -> dict[str, Any]:
    """Print and return medians and minima, with their ratios to the first driver's."""
    shown: dict[str, Any] = {}
    for case, drivers in figures.items():
        print(f"\n{case}, in ms: median (minimum), and as a multiple of the first")
        first: dict[str, tuple[float, float]] = {}
        for name, runs in drivers.items():
            line = f"{name:<22}"
            for what in ("wall", "client_cpu", "server_cpu"):
                taken = [getattr(run, what) * 1e3 for run in runs]
                median, least = statistics.median(taken), min(taken)
                base = first.setdefault(what, (median, least))
                ratios = [a / b if b else 0.0 for a, b in zip((median, least), base, strict=True)]
                line += f" {what} {median:7.1f} ({least:7.1f}) x{ratios[0]:.2f} (x{ratios[1]:.2f})"
                shown.setdefault(case, {}).setdefault(name, {})[what] = {
                    "ms": taken,
                    "ratio_of_medians": ratios[0],
                    "ratio_of_least": ratios[1],
                }
            print(line)
    return shown


def main() -> None:
    """Measure, print, and write the figures to the file of `--output`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dsn", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    run = uvloop.run if options.uvloop else asyncio.run
    load_before = os.getloadavg()
    if options.dsn:
        figures = run(compare(options.dsn, options.rounds))
    else:
        with embedded.start() as server:
            figures = run(compare(server.dsn, options.rounds))
    results = {
        "loop": "uvloop" if options.uvloop else "asyncio",
        "versions": {
            "colonnade": colonnade.__version__,
            "asyncpg": asyncpg.__version__,
            "psycopg": psycopg.__version__,
        },
        "load": [load_before, os.getloadavg()],
        "cases": show(figures),
    }
    print("load average before and after:", *results["load"])
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
