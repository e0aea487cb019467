"""The program that callgrind runs for whole queries: a DSN on stdin, a line per case on stdout.

A line has the kind, the case, and the divisor of its instructions: the number of queries, or of
values that became Python objects. Each case runs once uncounted, to prepare the statement and fill
caches. `os.getloadavg` marks the beginning and end of a case: nothing else calls this function of
the C library, so callgrind can end a part there.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING

import uvloop

import colonnade
from benches.small import raw
from colonnade import sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Options for callgrind: a part ends where the mark is called.
OPTIONS = ("--dump-before=getloadavg",)
QUERIES = 40
ROWS = 500
COLUMNS = 4
#: By type, the expressions whose values are fetched as Python objects.
ROW_VALUES = {
    "bool": "i % 3 = 0",
    "int4": "i",
    "int8": "i * 1000000007::int8",
    "float8": "i / 7.0::float8",
    "numeric": "(i / 100.0)::numeric(15, 2)",
    "text": "'text of a value ' || i",
    "bytea": "decode(md5(i::text), 'hex')",
    "date": "date '1992-01-02' + i",
    "timestamptz": "timestamptz '2020-01-01 00:00+00' + i * interval '1 second'",
    "uuid": "md5(i::text)::uuid",
    "jsonb": "jsonb_build_object('key', i)",
    "int4[]": "ARRAY[i, i + 1, i + 2]",
}

_ONE_ROW = "SELECT $1::int8 AS id, 'a name' AS name, 0.25::float8 AS price, now() AS seen"
_HUNDRED = (
    "SELECT i AS id, i / 7.0::float8 AS price, 'name ' || i AS name "
    "FROM generate_series(1, 100) AS g(i)"
)


def main() -> None:
    """Run all cases."""
    dsn = sys.stdin.read()
    gc.disable()
    _blocking(dsn)
    for name, loop in (("asyncio", asyncio), ("uvloop", uvloop)):
        with asyncio.Runner(loop_factory=loop.new_event_loop) as runner:
            runner.run(_on_a_loop(dsn, name))


def _blocking(dsn: str) -> None:
    with sync.connect(dsn) as connection:
        _count("query", "fetchval, blocking", QUERIES, lambda: connection.fetchval("SELECT 1"))
        _count("query", "fetchrow, blocking", QUERIES, lambda: connection.fetchrow(_ONE_ROW, 7))
        _count("query", "100 rows, blocking", 10, lambda: connection.fetch(_HUNDRED))
        _count("query", "100 rows as columns", 10, lambda: connection.fetch_columns(_HUNDRED))
        for name, expression in ROW_VALUES.items():
            columns = ", ".join(f"{expression} AS c{number}" for number in range(COLUMNS))
            sql = f"SELECT {columns} FROM generate_series(1, {ROWS}) AS g(i)"
            fetch = _fetching(connection, sql)
            _count("rows", name, 1, fetch, values=ROWS * COLUMNS)

    with sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        _count("query", "acquire of a pool, blocking", QUERIES, lambda: _acquire_blocking(pool))


def _acquire_blocking(pool: sync.Pool) -> None:
    with pool.acquire():
        pass


def _fetching(connection: sync.Connection, sql: str) -> Callable[[], object]:
    return lambda: connection.fetch(sql)


def _count(
    kind: str, name: str, times: int, work: Callable[[], object], *, values: int | None = None
) -> None:
    for _ in range(5):
        work()
    os.getloadavg()
    for _ in range(times):
        work()
    os.getloadavg()
    print(f"{kind}\t{name}\t{values or times}")


async def _on_a_loop(dsn: str, loop: str) -> None:
    connection, bare = await colonnade.connect(dsn), await raw.connect(dsn)
    await _count_waits(f"bare protocol, {loop}", lambda: bare.fetchval("SELECT 1"))
    await _count_waits(f"fetchval, {loop}", lambda: connection.fetchval("SELECT 1"))
    await _count_waits(f"fetchrow, {loop}", lambda: connection.fetchrow(_ONE_ROW, 7))
    await _count_waits(f"a row as columns, {loop}", lambda: connection.fetch_columns(_ONE_ROW, 7))
    await connection.close()
    await bare.close()
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        await _count_waits(f"acquire of a pool, {loop}", lambda: _acquire(pool))
        await _count_waits(f"acquire that waits, {loop}", lambda: _acquire_while_lent(pool))


async def _acquire(pool: colonnade.Pool) -> None:
    async with pool.acquire():
        pass


async def _acquire_while_lent(pool: colonnade.Pool) -> None:
    async with pool.acquire():
        waiting = asyncio.ensure_future(_acquire(pool))
        await asyncio.sleep(0)
    await waiting


async def _count_waits(name: str, work: Callable[[], Awaitable[object]]) -> None:
    for _ in range(5):
        await work()
    os.getloadavg()
    for _ in range(QUERIES):
        await work()
    os.getloadavg()
    print(f"query\t{name}\t{QUERIES}")


if __name__ == "__main__":
    main()
