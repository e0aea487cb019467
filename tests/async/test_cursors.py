"""Cursors: the rows of a query in portions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    DivisionByZeroError,
    InFailedSQLTransactionError,
    InterfaceError,
    InvalidCursorNameError,
    NoActiveSQLTransactionError,
    SchemaError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.proxy import Proxy

SERIES = "SELECT generate_series(1, $1::int) AS n"
OUTSIDE = "cursor cannot be created outside of a transaction"


async def portals(connection: colonnade.Connection) -> int:
    """The number of named portals on the server."""
    count = await connection.fetchval("SELECT count(*) FROM pg_cursors WHERE name <> ''")
    assert isinstance(count, int)
    return count


async def test_rows_one_after_the_other(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        for prefetch in (None, 1, 7, 50, 120, 121, 10**12):
            rows = [row async for row in connection.cursor(SERIES, 120, prefetch=prefetch)]
            assert rows == [(number,) for number in range(1, 121)]
            assert await portals(connection) == 0
        factory = connection.cursor(SERIES, 3)
        for _ in range(2):
            assert [row["n"] async for row in factory] == [1, 2, 3]
        assert [row async for row in connection.cursor(SERIES, 0)] == []


async def test_round_trips(proxy: Proxy) -> None:
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        await connection.fetch(SERIES, 1)
        async with connection.transaction():
            sent = proxy.first
            before = len(sent.tags)
            assert len([row async for row in connection.cursor(SERIES, 120)]) == 120
            assert sent.tags[before:] == "BES" + "ES" * 2
            before = len(sent.tags)
            cursor = await connection.cursor(SERIES, 5).open()
            assert sent.tags[before:] == "CBS"
            assert await cursor.fetch(2) == [(1,), (2,)]
            assert await cursor.forward(1) == 1
            assert await cursor.fetch(5) == [(4,), (5,)]
            assert await cursor.fetch(5) == []
            assert sent.tags[before:] == "CBS" + "ES" + "Q" + "ES"


async def test_fetching_by_hand(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    async with connection.transaction():
        for factory in (connection.cursor(SERIES, 20), statement.cursor(20)):
            cursor = await factory.open()
            assert await cursor.fetch(2) == [(1,), (2,)]
            assert await cursor.fetchrow() == (3,)
            assert await cursor.forward(3) == 3
            assert await cursor.fetchrow() == (7,)
            assert await cursor.forward(100) == 13
            assert await cursor.forward(100) == 0
            assert await cursor.fetch(1) == []
            assert await cursor.fetchrow() is None
            cursor = await factory.open()
            assert len(await cursor.fetch(10**12)) == 20


# async-only: begin
async def test_a_factory_is_awaited(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 3)
        assert await cursor.fetch(5) == [(1,), (2,), (3,)]
        with pytest.raises(InterfaceError, match="prefetch argument can only be specified"):
            await connection.cursor(SERIES, 3, prefetch=5)


# async-only: end
async def test_columns(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 5).open()
        columns = await cursor.fetch_columns(2)
        assert columns["n"].tolist() == [1, 2]
        assert await cursor.fetchrow() == (3,)
        columns = await cursor.fetch_columns(100, schema={"n": "int64"})
        assert columns["n"].tolist() == [4, 5]
        assert columns["n"].dtype == "int64"
        for _ in range(2):
            assert (await cursor.fetch_columns(1)).to_pylist() == []
        assert await cursor.fetch(1) == []


async def test_columns_of_another_format(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor("SELECT 1.5::float8 AS x, gen_random_uuid() AS y").open()
        with pytest.raises(SchemaError, match='column "y"'):
            await cursor.fetch_columns(1, schema={"y": "utf8"})
        columns = await cursor.fetch_columns(1)
        assert len(columns) == 1


async def test_numbers_that_are_none(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 3).open()
        for number in (0, -1):
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                await cursor.fetch(number)
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                await cursor.fetch_columns(number)
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                await cursor.forward(number)
            with pytest.raises(InterfaceError, match="prefetch argument must be greater than zero"):
                aiter(connection.cursor(SERIES, 3, prefetch=number))
        with pytest.raises(InterfaceError, match="prefetch argument can only be specified"):
            await connection.cursor(SERIES, 3, prefetch=5).open()
        assert await cursor.fetchrow() == (1,)


async def test_outside_of_a_transaction(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(SERIES)
    for factory in (connection.cursor(SERIES, 3), statement.cursor(3)):
        with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
            await factory.open()
        with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
            await anext(aiter(factory))
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 3).open()
        rows = aiter(connection.cursor(SERIES, 3, prefetch=1))
        assert await anext(rows) == (1,)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        await cursor.fetch(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        await cursor.fetchrow()
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        await cursor.fetch_columns(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        await cursor.forward(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        await anext(rows)
    assert await connection.fetchval("SELECT 1") == 1


async def test_a_transaction_begun_by_hand(connection: colonnade.Connection) -> None:
    await connection.execute("BEGIN")
    assert [row async for row in connection.cursor(SERIES, 2)] == [(1,), (2,)]
    cursor = await connection.cursor(SERIES, 2).open()
    assert await cursor.fetchrow() == (1,)
    await connection.execute("COMMIT")
    with pytest.raises(NoActiveSQLTransactionError):
        await cursor.fetchrow()


async def test_a_cursor_of_the_transaction_before(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 3).open()
    with pytest.raises(InvalidCursorNameError, match="does not exist"):
        async with connection.transaction():
            await cursor.fetch(1)
    assert await connection.fetchval("SELECT 1") == 1


async def test_two_cursors_and_other_queries(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        rows = []
        async for left in connection.cursor(SERIES, 3, prefetch=1):
            assert await connection.fetchval("SELECT $1::int", 7) == 7
            async for right in connection.cursor(SERIES, 2, prefetch=1):
                rows.append((left["n"], right["n"]))
                await connection.execute("SELECT 1")
        assert rows == [(left, right) for left in (1, 2, 3) for right in (1, 2)]


async def test_a_loop_that_is_left(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        async for row in connection.cursor(SERIES, 1000):
            if row["n"] == 3:
                break
        del row
        assert await portals(connection) == 0


async def test_commands(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        assert [row async for row in connection.cursor("CREATE TEMPORARY TABLE t (a int)")] == []
        insert = "INSERT INTO t SELECT generate_series(1, 5) RETURNING a"
        assert len([row async for row in connection.cursor(insert, prefetch=2)]) == 5
        cursor = await connection.cursor("INSERT INTO t VALUES (6)").open()
        assert await cursor.fetch(1) == []
        assert await cursor.fetch(1) == []
        assert await cursor.forward(1) == 0
        assert await connection.fetchval("SELECT count(*) FROM t") == 6
        assert [row async for row in connection.cursor("")] == []


async def test_an_error_in_mid_result(connection: colonnade.Connection) -> None:
    query = "SELECT 1 / (3 - n) AS q FROM generate_series(1, 5) AS n"
    transaction = connection.transaction()
    await transaction.start()
    cursor = await connection.cursor(query).open()
    assert await cursor.fetch(2) == [(0,), (1,)]
    with pytest.raises(DivisionByZeroError):
        await cursor.fetch(2)
    with pytest.raises(InFailedSQLTransactionError):
        await cursor.fetch(2)
    await transaction.rollback()
    with pytest.raises(DivisionByZeroError):
        async with connection.transaction():
            assert [row async for row in connection.cursor(query, prefetch=1)] == []


async def test_an_error_within_a_savepoint(connection: colonnade.Connection) -> None:
    query = "SELECT 1 / (3 - n) AS q FROM generate_series(1, 5) AS n"
    async with connection.transaction():
        cursor = await connection.cursor(query).open()
        other = await connection.cursor(SERIES, 3).open()
        assert await cursor.fetchrow() == (0,)
        with pytest.raises(DivisionByZeroError):
            async with connection.transaction():
                await cursor.fetch(3)
        with pytest.raises(InterfaceError, match="its rows are lost"):
            await cursor.fetch(1)
        assert await other.fetch(1) == [(1,)]


async def test_values_that_cannot_be_read(connection: colonnade.Connection) -> None:
    query = "SELECT (n || ' days')::interval AS v FROM (VALUES (1), (2000000000), (3)) AS t (n)"
    async with connection.transaction():
        cursor = await connection.cursor(query).open()
        assert len(await cursor.fetch(1)) == 1
        with pytest.raises(colonnade.DecodeError):
            await cursor.fetch(1)
        with pytest.raises(InterfaceError, match="its rows are lost"):
            await cursor.fetch(1)
        assert await connection.fetchval("SELECT 1") == 1


async def test_time_is_up(connection: colonnade.Connection) -> None:
    query = "SELECT n, pg_sleep(CASE WHEN n = 3 THEN 10 ELSE 0 END) FROM generate_series(1, 5) AS n"
    transaction = connection.transaction()
    await transaction.start()
    cursor = await connection.cursor(query).open()
    assert len(await cursor.fetch(2)) == 2
    with pytest.raises(TimeoutError):
        await cursor.fetch(1, timeout=0.05)
    with pytest.raises(InFailedSQLTransactionError):
        await cursor.fetch(1)
    await transaction.rollback()
    assert await connection.fetchval("SELECT 1") == 1


async def test_after_the_end(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    transaction = connection.transaction()
    await transaction.start()
    factory = connection.cursor(SERIES, 3)
    cursor, rows = await factory.open(), aiter(factory)

    # These are not awaited: the calls themselves raise.
    calls: list[tuple[str, Callable[[], object]]] = [
        ("Cursor.fetch", lambda: cursor.fetch(1)),
        ("Cursor.fetchrow", cursor.fetchrow),
        ("Cursor.fetch_columns", lambda: cursor.fetch_columns(1)),
        ("Cursor.forward", lambda: cursor.forward(1)),
        ("CursorIterator.__anext__", lambda: anext(rows)),
        ("CursorFactory.__aiter__", lambda: aiter(factory)),
        ("CursorFactory.open", factory.open),
        ("Transaction.commit", transaction.commit),
    ]

    def refused(reason: str) -> None:
        for name, call in calls:
            with pytest.raises(InterfaceError) as caught:
                call()
            assert str(caught.value) == f"cannot call {name}(): the underlying connection {reason}"

    connection.conversation.generation += 1
    refused("has been released back to the pool")
    connection.conversation.generation -= 1
    await connection.close()
    refused("is closed")


async def test_a_transaction_of_a_connection_that_was_given_back(
    connection: colonnade.Connection,
) -> None:
    async def given_back_in_between() -> None:
        async with connection.transaction():
            connection.conversation.generation += 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await given_back_in_between()
    # The connection's next user keeps its own transaction.
    assert connection.is_in_transaction()
    await connection.execute("ROLLBACK")


async def test_a_closed_connection_with_cursors(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        await connection.execute("BEGIN")
        cursor = await connection.cursor(SERIES, 3).open()
    del cursor


async def test_columns_that_fail_leave_no_position(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        query = "SELECT 6 / (5 - n) AS n FROM generate_series(1, 9) AS n"
        cursor = await connection.cursor(query).open()
        assert (await cursor.fetch_columns(3))["n"].tolist() == [1, 2, 3]
        with pytest.raises(DivisionByZeroError):
            async with connection.transaction():
                await cursor.fetch_columns(3)
        with pytest.raises(InterfaceError) as caught:
            await cursor.fetch_columns(3)
        assert "Open a new cursor" in str(caught.value.hint)
        assert await connection.fetchval("SELECT 1") == 1


async def test_repr(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, 3).open()
        assert repr(cursor).startswith('<colonnade.Cursor "SELECT generate_series(1, $1::" 0x')
        await cursor.fetch(5)
        assert repr(cursor).startswith(
            '<colonnade.Cursor "SELECT generate_series(1, $1::" exhausted 0x'
        )


async def test_without_a_cache(dsn: str) -> None:
    async with (
        await colonnade.connect(dsn, statement_cache_size=0) as connection,
        connection.transaction(),
    ):
        async for left in connection.cursor(SERIES, 3, prefetch=1):
            # The unnamed statement has been replaced meanwhile.
            assert await connection.fetchval("SELECT $1::text", "x") == "x"
            assert left is not None
        assert await portals(connection) == 0


async def test_columns_that_change_where_no_statement_is_kept(
    connection: colonnade.Connection, dsn: str
) -> None:
    await connection.execute("CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)")
    try:
        async with await colonnade.connect(dsn, statement_cache_size=0) as other:
            query = "SELECT * FROM changing"
            assert await other.fetch(query) == [(1,)]
            for change in (
                "ALTER a TYPE text",
                "ADD b int DEFAULT 2",
                "ALTER a TYPE date USING null",
            ):
                await connection.execute(f"ALTER TABLE changing {change}")
                async with other.transaction():
                    rows = [row async for row in other.cursor(query)]
                assert rows == await connection.fetch(query)
                await connection.execute("ALTER TABLE changing ALTER a TYPE text")
                async with other.transaction():
                    cursor = await other.cursor(query).open()
                    assert await cursor.fetch(2) == await connection.fetch(query)
    finally:
        await connection.execute("DROP TABLE changing")
