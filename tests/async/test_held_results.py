"""Held results, which become rows or columns on request, and transactions begun ahead."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

import colonnade
from tests.support.proxy import Proxy

pytestmark = pytest.mark.every_loop

MANY = 30_000


@pytest.mark.parametrize("expect", ["rows", "columns"])
async def test_rows_piece_by_piece(
    connection: colonnade.Connection, expect: Literal["rows", "columns"]
) -> None:
    query = "SELECT n, repeat('x', 100) || n FROM generate_series(1, $1::int4) AS n"
    wanted = [(n, "x" * 100 + str(n)) for n in range(1, MANY + 1)]
    held = await connection.hold_result(query, MANY, record_class=tuple, expect=expect)
    assert (held.row_count, held.rows_left, held.has_rows) == (MANY, MANY, True)
    assert [attribute.name for attribute in held.attributes] == ["n", "?column?"]
    assert held.status == f"SELECT {MANY}"
    found: list[Any] = []
    for n in (1, 0, 2, 9_999, 10_001):
        found += await held.fetch(n)
    assert found == wanted[: len(found)]
    assert held.rows_left == MANY - len(found)
    # The rest can become columns.
    columns = await held.fetch_columns()
    assert columns["n"].tolist() == [row[0] for row in wanted[len(found) :]]
    assert held.rows_left == 0
    assert await held.fetch() == []
    held = await connection.hold_result(query, MANY, record_class=tuple, expect=expect)
    assert await held.fetch() == wanted


@pytest.mark.parametrize("expect", ["rows", "columns"])
async def test_columns_are_those_of_fetch_columns(
    connection: colonnade.Connection, expect: Literal["rows", "columns"]
) -> None:
    query = (
        "SELECT n, n / 3.0 AS q, NULLIF(n % 7, 3) AS m, n::text AS t FROM generate_series(1, $1) n"
    )
    held = await connection.hold_result(query, 5000, expect=expect)
    schema = {"q": "float64"}
    columns = await held.fetch_columns(schema=schema)
    expected = await connection.fetch_columns(query, 5000, schema=schema)
    assert columns.to_arrow().equals(expected.to_arrow())
    empty = await connection.hold_result(query, 0, expect=expect)
    assert (await empty.fetch_columns()).to_arrow().schema == expected.to_arrow().schema.set(
        1, (await connection.fetch_columns(query, 0)).to_arrow().schema.field(1)
    )


async def test_a_command_has_nothing_to_give(connection: colonnade.Connection) -> None:
    held = await connection.hold_result("CREATE TEMP TABLE t (n int4)")
    assert (held.has_rows, held.row_count, held.status) == (False, 0, "CREATE TABLE")
    assert await held.fetch() == []
    held = await connection.hold_result("INSERT INTO t VALUES (1), (2) RETURNING n")
    assert (held.has_rows, held.row_count) == (True, 2)
    assert await held.fetch(1) == [(1,)]


async def test_what_has_no_place_shows_when_it_is_asked_for(
    connection: colonnade.Connection,
) -> None:
    query = "SELECT n, CASE WHEN n = 3 THEN 'infinity'::date END AS d FROM generate_series(1, 5) n"
    held = await connection.hold_result(query, expect="columns")
    assert len(await held.fetch(2)) == 2
    with pytest.raises(colonnade.SchemaError):
        await held.fetch_columns(schema={"none": "int64"})
    assert held.rows_left == 3
    columns = await held.fetch_columns(infinity="null")
    assert columns["n"].tolist() == [3, 4, 5]
    held = await connection.hold_result(query, expect="columns")
    with pytest.raises(colonnade.errors.DecodeError, match='column "d"'):
        await held.fetch_columns()


@pytest.mark.parametrize("expect", ["rows", "columns"])
async def test_a_part_of_the_rows_is_never_taken_for_all(
    connection: colonnade.Connection, expect: Literal["rows", "columns"]
) -> None:
    # Enough rows that the memory of some was released before the bad value is read.
    query = (
        "SELECT CASE WHEN n = 150000 THEN 'infinity'::date END, repeat('x', 20) "
        "FROM generate_series(1, 200000) n"
    )
    held = await connection.hold_result(query, expect=expect)
    with pytest.raises(colonnade.errors.DecodeError):
        await held.fetch_columns()
    assert (held.row_count, held.rows_left) == (200_000, 0)
    for ask in (held.fetch, lambda: held.fetch(1), lambda: held.fetch_columns(infinity="null")):
        with pytest.raises(colonnade.InterfaceError, match="lost"):
            await ask()


@pytest.mark.parametrize("expect", ["rows", "columns"])
async def test_types_that_turn_out_otherwise(dsn: str, expect: Literal["rows", "columns"]) -> None:
    async with await colonnade.connect(dsn) as connection:
        await connection.execute("CREATE TYPE pg_temp.held_mood AS ENUM ('sad', 'glad')")
        query = "SELECT ROW(1, 'glad'::pg_temp.held_mood)"
        held = await connection.hold_result(query, record_class=tuple, expect=expect)
        assert await held.fetch() == [((1, "glad"),)]


async def test_a_held_result_outlives_its_connection(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        held = await connection.hold_result("SELECT 1 AS a")
    assert await held.fetch() == [(1,)]


async def test_an_unknown_expectation(connection: colonnade.Connection) -> None:
    with pytest.raises(ValueError, match="rows"):
        await connection.hold_result("SELECT 1", expect="frames")  # type: ignore[arg-type]


async def test_a_transaction_begins_with_the_next_query(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE t (n int4)")
    for ask in (
        lambda: connection.execute("INSERT INTO t VALUES (1)"),
        lambda: connection.fetch("INSERT INTO t VALUES ($1) RETURNING n", 1),
        lambda: connection.executemany("INSERT INTO t VALUES ($1)", [(1,), (2,)]),
        lambda: connection.fetch_columns("INSERT INTO t VALUES ($1) RETURNING n", 1),
    ):
        await connection.begin_ahead()
        assert connection.is_in_transaction()
        assert connection.transaction_status == "in transaction"
        await ask()
        assert connection.transaction_status == "in transaction"
        with pytest.raises(colonnade.InterfaceError, match="open already"):
            await connection.begin_ahead()
        await connection.execute("ROLLBACK")
        assert connection.transaction_status == "idle"
    assert await connection.fetchval("SELECT count(*) FROM t") == 0


async def test_a_transaction_ahead_costs_no_round_trip(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        async with await colonnade.connect(proxy.dsn) as connection:
            await connection.fetchval("SELECT 1")
            await connection.begin_ahead("BEGIN READ ONLY")
            assert await connection.fetchval("SELECT 1") == 1
            with pytest.raises(colonnade.errors.ReadOnlySQLTransactionError):
                await connection.execute("CREATE TABLE never (n int4)")
            assert connection.transaction_status == "failed"
            await connection.execute("ROLLBACK")


async def test_a_failure_ahead_closes_the_connection(connection: colonnade.Connection) -> None:
    await connection.begin_ahead("BEGIN NONSENSE")
    with pytest.raises((colonnade.PostgresError, colonnade.InterfaceError)):
        await connection.fetchval("SELECT 1")
    assert connection.is_closed()


async def test_an_argument_that_fails_behind_a_begin(connection: colonnade.Connection) -> None:
    await connection.fetchval("SELECT $1::int4", 1)
    await connection.begin_ahead()
    with pytest.raises(colonnade.errors.EncodeError):
        await connection.fetchval("SELECT $1::int4", "x")
    assert connection.transaction_status == "in transaction"
    assert await connection.fetchval("SELECT $1::int4", 1) == 1
    await connection.execute("COMMIT")
    assert connection.transaction_status == "idle"


async def test_what_the_connection_is(connection: colonnade.Connection) -> None:
    (row,) = await connection.fetch("SELECT current_user, current_database()")
    assert (connection.user, connection.database) == tuple(row)
    assert isinstance(connection.address, str | tuple)


# async-only: begin
async def test_a_query_is_cancelled_from_elsewhere(connection: colonnade.Connection) -> None:
    query = asyncio.create_task(connection.execute("SELECT pg_sleep(60)"))
    while not query.done():
        await connection.cancel(timeout=10)
        await asyncio.sleep(0.01)
    with pytest.raises(colonnade.errors.QueryCanceledError):
        await query
    assert await connection.fetchval("SELECT 1") == 1


# async-only: end
async def test_cancelling_nothing(connection: colonnade.Connection) -> None:
    await connection.cancel()
    assert await connection.fetchval("SELECT 1") == 1


async def test_cancelling_on_a_closed_connection(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    await connection.close()
    await connection.cancel()
    assert connection.is_closed()
