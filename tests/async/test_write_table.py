"""`write_table` of connections and pools: the method, without a DSN and without a thread."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade.errors import DuplicateTableError, EncodeError, InterfaceError

FRAME: dict[str, Any] = {"id": [1, 2], "price": [0.5, 1.5]}


async def test_a_frame_is_written_and_upserted(connection: colonnade.Connection) -> None:
    types = {"id": "int8 PRIMARY KEY"}
    assert await connection.write_table(FRAME, "written", types=types) == 2
    with pytest.raises(DuplicateTableError):
        await connection.write_table(FRAME, "written")
    later = {"id": [2, 3], "price": [7.0, 8.0]}
    options: Any = {"if_exists": "append", "on_conflict": "update", "conflict_columns": "id"}
    assert await connection.write_table(later, "written", **options) == 2
    rows = await connection.fetch("SELECT id, price FROM written ORDER BY id")
    assert [tuple(row) for row in rows] == [(1, 0.5), (2, 7.0), (3, 8.0)]
    assert await connection.write_table(FRAME, "written", if_exists="truncate") == 2
    assert await connection.fetchval("SELECT count(*) FROM written") == 2
    await connection.execute("DROP TABLE written")
    with pytest.raises(InterfaceError, match="there is no table"):
        await connection.write_table(FRAME, "written", if_exists="append", on_conflict="nothing")
    with pytest.raises(ValueError, match='if_exists must be "fail", "append"'):
        await connection.write_table(FRAME, "written", if_exists="other")  # type: ignore[arg-type]


async def test_a_failure_leaves_an_open_transaction_as_it_was(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("BEGIN; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT 1::int2 AS id")
    with pytest.raises(EncodeError):
        await connection.write_table({"id": [70_000]}, "kept", if_exists="truncate")
    assert await connection.fetchval("SELECT id FROM kept") == 1
    assert await connection.write_table({"id": [2]}, "kept", if_exists="append") == 1
    assert await connection.fetchval("SELECT sum(id) FROM kept") == 3
    await connection.execute("COMMIT")


async def test_dates_are_exact(connection: colonnade.Connection) -> None:
    last = dt.date.max
    await connection.write_table({"day": [last]}, "days_written")
    assert await connection.fetchval("SELECT day::text FROM days_written") == "9999-12-31"
    # As in asyncpg, the last date of Python stands for infinity elsewhere.
    assert await connection.fetchval("SELECT $1::date::text", last) == "infinity"
    await connection.execute("DROP TABLE days_written")


async def test_a_pool_lends_a_connection(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert await pool.write_table(FRAME, "pool_written", if_exists="replace") == 2
        async with pool.acquire() as connection:
            assert await connection.write_table(FRAME, "pool_written", if_exists="append") == 2
        assert await pool.fetchval("SELECT count(*) FROM pool_written") == 4
        await pool.execute("DROP TABLE pool_written")


# async-only: begin
async def waits_for_a_lock(watcher: colonnade.Connection, pid: int | None) -> None:
    asked = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1"
    async with asyncio.timeout(30):
        while await watcher.fetchval(asked, pid) != "Lock":
            pass


async def test_a_write_that_is_cancelled_leaves_an_open_transaction_as_it_was(
    dsn: str, connection: colonnade.Connection
) -> None:
    async with (
        colonnade.create_pool(dsn, min_size=2, max_size=2) as pool,
        pool.acquire() as other,
        pool.acquire() as watcher,
    ):
        await other.execute("CREATE TABLE locked (id int8); CREATE TABLE free (id int8)")
        try:
            await other.execute("BEGIN; LOCK TABLE locked")
            await connection.execute("BEGIN; INSERT INTO free VALUES (1)")
            writing = asyncio.create_task(
                connection.write_table({"id": [2]}, "locked", if_exists="append")
            )
            await waits_for_a_lock(watcher, connection.get_server_pid())
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            await other.execute("ROLLBACK")
            assert await connection.fetchval("SELECT count(*) FROM locked") == 0
            assert await connection.write_table({"id": [3]}, "locked", if_exists="append") == 1
            await connection.execute("COMMIT")
            both = "SELECT sum(id) FROM (TABLE free UNION ALL TABLE locked) AS both_tables"
            assert await watcher.fetchval(both) == 4
        finally:
            await other.execute("DROP TABLE locked, free")


# async-only: end


async def test_no_rows_and_nulls(connection: colonnade.Connection) -> None:
    assert await connection.write_table({"id": np.empty(0, "i8")}, "without_rows") == 0
    assert await connection.fetchval("SELECT count(*) FROM without_rows") == 0
    assert await connection.write_table({"id": [1, None]}, "without_rows", if_exists="append") == 2
    assert await connection.fetchval("SELECT count(id) FROM without_rows") == 1
    with pytest.raises(ValueError, match="empty iterable"):
        await connection.write_table([], "never_made")
    assert await connection.fetchval("SELECT to_regclass('never_made')") is None
    await connection.execute("DROP TABLE without_rows")


async def test_a_closed_connection_is_refused(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    await connection.close()
    with pytest.raises(InterfaceError, match="closed"):
        await connection.write_table(FRAME, "never_made")


# async-only: begin
async def test_a_table_that_many_tasks_create(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=4, max_size=4) as pool:
        writing = (pool.write_table({"a": [1]}, "created_by_many") for _ in range(4))
        found = await asyncio.gather(*writing, return_exceptions=True)
        assert [type(one) for one in found if one != 1] == [DuplicateTableError] * 3
        assert await pool.fetchval("SELECT count(*) FROM created_by_many") == 1
        await pool.execute("DROP TABLE created_by_many")


# async-only: end
async def test_an_empty_name_is_refused_before_anything_is_sent(
    connection: colonnade.Connection,
) -> None:
    with pytest.raises(ValueError, match="table_name and schema_name must not be empty"):
        await connection.write_table({"a": [1]}, "")
