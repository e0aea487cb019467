"""Runs every layer of an installed wheel against a server.

    python tools/release/wheel_tour.py DSN

It needs the wheel and the standard library alone, so it runs where few other packages do: under
musl, on Windows, under emulation. The other platforms run `make newcomer`.
"""

from __future__ import annotations

import asyncio
import contextlib
import platform
import sys

import colonnade
from colonnade import sync

QUERY = (
    "SELECT i AS id, i / 4.0::float8 AS x, 'item ' || i AS t, i::numeric(12, 2) AS n"
    " FROM generate_series(1, 100000) AS i"
)


def blocking(dsn: str) -> None:
    """Columns, rows of Python objects, an array, COPY, an error, a transaction that is undone."""
    with sync.connect(dsn) as connection:
        columns = connection.fetch_columns(QUERY).to_pydict()
        assert columns["id"] == list(range(1, 100_001))
        assert (columns["x"][2], columns["t"][-1], str(columns["n"][6])) == (
            0.75,
            "item 100000",
            "7.00",
        )
        row = connection.fetchrow("SELECT $1::int8[] AS a, $2::uuid AS u", [1, None], "0" * 32)
        assert row is not None
        assert (row["a"], row["u"].int) == ([1, None], 0)
        connection.execute("CREATE TEMP TABLE copied (a int, b text)")
        records = [(1, "x"), (2, None)]
        assert connection.copy_records_to_table("copied", records=records) == "COPY 2"
        with contextlib.suppress(colonnade.DivisionByZeroError), connection.transaction():
            connection.execute("DELETE FROM copied")
            connection.execute("SELECT 1 / 0")
        assert connection.fetchval("SELECT count(*) FROM copied") == 2


async def asynchronous(dsn: str) -> None:
    """A stream, a query that is cancelled, and a pool."""
    async with await colonnade.connect(dsn) as connection:
        stream = connection.iter_columns("SELECT generate_series(1, 200000)")
        async with stream as batches:
            assert sum([len(batch) async for batch in batches]) == 200_000
        with contextlib.suppress(TimeoutError):
            await connection.fetchval("SELECT pg_sleep(60)", timeout=0.2)
            raise AssertionError("the query was not cancelled")
        assert await connection.fetchval("SELECT 'still here'") == "still here"
    async with colonnade.create_pool(dsn, min_size=1, max_size=3) as pool:
        squares = [pool.fetchval("SELECT $1::int * $1", number) for number in range(20)]
        assert await asyncio.gather(*squares) == [number * number for number in range(20)]


def main(dsn: str) -> None:
    """Take the tour, and say where it was taken."""
    blocking(dsn)
    asyncio.run(asynchronous(dsn))
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    print(f"{machine}: columns, rows, COPY, a stream, a cancelled query, a pool")


if __name__ == "__main__":
    main(sys.argv[1])
