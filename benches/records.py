"""Copies records with Colonnade and asyncpg in turn: `python -m benches.records DSN`."""

from __future__ import annotations

import asyncio
import datetime as dt
import resource
import statistics
import sys
import time
import uuid
from decimal import Decimal
from typing import Any, NamedTuple

import asyncpg

import colonnade

ROUNDS = 5
SIZES = (100_000, 1_000_000)

# The type of each column, and a function from the row's number to its value.
_MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
COLUMNS: tuple[tuple[str, Any], ...] = (
    ("int8", lambda number: number * 7919),
    ("text", lambda number: f"instrument {number}"),
    ("float8", lambda number: number / 3),
    ("timestamptz", lambda number: _MOMENT + dt.timedelta(seconds=number)),
    ("int4", lambda number: number % 1000),
    ("bool", lambda number: number % 3 == 0),
    ("numeric", lambda number: Decimal(number).scaleb(-2)),
    ("date", lambda number: dt.date.fromordinal(730_000 + number % 10_000)),
    ("text", lambda number: None if number % 5 == 0 else "x" * (number % 40)),
    ("uuid", lambda number: uuid.UUID(int=number)),
)


class Cost(NamedTuple):
    """The cost of a copy in seconds."""

    wall: float
    cpu: float


async def main(dsn: str) -> None:
    """Print the medians of each driver, and their ratios."""
    drivers = {"colonnade": await colonnade.connect(dsn), "asyncpg": await asyncpg.connect(dsn)}
    for width in (4, 10):
        kinds = ", ".join(f"c{i} {kind}" for i, (kind, _) in enumerate(COLUMNS[:width]))
        table = f"copied_{width}"
        await drivers["asyncpg"].execute(
            f"DROP TABLE IF EXISTS {table}; CREATE UNLOGGED TABLE {table} ({kinds}) "
            "WITH (autovacuum_enabled = off)"
        )
        for size in SIZES:
            makers = [make for _, make in COLUMNS[:width]]
            records = [tuple(make(number) for make in makers) for number in range(size)]
            costs: dict[str, list[Cost]] = {name: [] for name in drivers}
            for number in range(ROUNDS):
                order = list(drivers.items())
                for name, connection in order if number % 2 else reversed(order):
                    await connection.execute(f"TRUNCATE {table}")
                    costs[name].append(await measured(connection, table, records))
            show(f"{width} columns, {size:,} rows", costs)
    for connection in drivers.values():
        await connection.close()


async def measured(connection: Any, table: str, records: list[tuple[Any, ...]]) -> Cost:
    """Measure one copy."""
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    await connection.copy_records_to_table(table, records=records)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def show(what: str, costs: dict[str, list[Cost]]) -> None:
    """Print one line for each driver, and one with the ratios."""
    medians = {
        name: Cost(*(statistics.median(column) for column in zip(*found, strict=True)))
        for name, found in costs.items()
    }
    print(what)
    for name, cost in medians.items():
        print(f"  {name:<10} wall {cost.wall * 1e3:8.0f} ms   CPU {cost.cpu * 1e3:8.0f} ms")
    ours, theirs = medians["colonnade"], medians["asyncpg"]
    wall, cpu = theirs.wall / ours.wall, theirs.cpu / ours.cpu
    print(f"  asyncpg / colonnade: wall {wall:.2f}, CPU {cpu:.2f}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
