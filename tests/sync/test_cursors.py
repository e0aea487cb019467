# Generated from tests/async/test_cursors.py by tools/unasync.py.
# Never edit it: run `make sync`.
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


def portals(connection: colonnade.sync.Connection) -> int:
    """The number of named portals on the server."""
    count = connection.fetchval("SELECT count(*) FROM pg_cursors WHERE name <> ''")
    assert isinstance(count, int)
    return count


def test_rows_one_after_the_other(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        for prefetch in (None, 1, 7, 50, 120, 121, 10**12):
            rows = [row for row in connection.cursor(SERIES, 120, prefetch=prefetch)]
            assert rows == [(number,) for number in range(1, 121)]
            assert portals(connection) == 0
        factory = connection.cursor(SERIES, 3)
        for _ in range(2):
            assert [row["n"] for row in factory] == [1, 2, 3]
        assert [row for row in connection.cursor(SERIES, 0)] == []


def test_round_trips(proxy: Proxy) -> None:
    with colonnade.sync.connect(f"{proxy.dsn}?sslmode=disable") as connection:
        connection.fetch(SERIES, 1)
        with connection.transaction():
            sent = proxy.first
            before = len(sent.tags)
            assert len([row for row in connection.cursor(SERIES, 120)]) == 120
            assert sent.tags[before:] == "BES" + "ES" * 2
            before = len(sent.tags)
            cursor = connection.cursor(SERIES, 5).open()
            assert sent.tags[before:] == "CBS"
            assert cursor.fetch(2) == [(1,), (2,)]
            assert cursor.forward(1) == 1
            assert cursor.fetch(5) == [(4,), (5,)]
            assert cursor.fetch(5) == []
            assert sent.tags[before:] == "CBS" + "ES" + "Q" + "ES"


def test_fetching_by_hand(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    with connection.transaction():
        for factory in (connection.cursor(SERIES, 20), statement.cursor(20)):
            cursor = factory.open()
            assert cursor.fetch(2) == [(1,), (2,)]
            assert cursor.fetchrow() == (3,)
            assert cursor.forward(3) == 3
            assert cursor.fetchrow() == (7,)
            assert cursor.forward(100) == 13
            assert cursor.forward(100) == 0
            assert cursor.fetch(1) == []
            assert cursor.fetchrow() is None
            cursor = factory.open()
            assert len(cursor.fetch(10**12)) == 20


def test_columns(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(SERIES, 5).open()
        columns = cursor.fetch_columns(2)
        assert columns["n"].tolist() == [1, 2]
        assert cursor.fetchrow() == (3,)
        columns = cursor.fetch_columns(100, schema={"n": "int64"})
        assert columns["n"].tolist() == [4, 5]
        assert columns["n"].dtype == "int64"
        for _ in range(2):
            assert (cursor.fetch_columns(1)).to_pylist() == []
        assert cursor.fetch(1) == []


def test_columns_of_another_format(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor("SELECT 1.5::float8 AS x, gen_random_uuid() AS y").open()
        with pytest.raises(SchemaError, match='column "y"'):
            cursor.fetch_columns(1, schema={"y": "utf8"})
        columns = cursor.fetch_columns(1)
        assert len(columns) == 1


def test_numbers_that_are_none(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(SERIES, 3).open()
        for number in (0, -1):
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                cursor.fetch(number)
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                cursor.fetch_columns(number)
            with pytest.raises(InterfaceError, match="n must be greater than zero"):
                cursor.forward(number)
            with pytest.raises(InterfaceError, match="prefetch argument must be greater than zero"):
                iter(connection.cursor(SERIES, 3, prefetch=number))
        with pytest.raises(InterfaceError, match="prefetch argument can only be specified"):
            connection.cursor(SERIES, 3, prefetch=5).open()
        assert cursor.fetchrow() == (1,)


def test_outside_of_a_transaction(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(SERIES)
    for factory in (connection.cursor(SERIES, 3), statement.cursor(3)):
        with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
            factory.open()
        with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
            next(iter(factory))
    with connection.transaction():
        cursor = connection.cursor(SERIES, 3).open()
        rows = iter(connection.cursor(SERIES, 3, prefetch=1))
        assert next(rows) == (1,)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        cursor.fetch(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        cursor.fetchrow()
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        cursor.fetch_columns(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        cursor.forward(1)
    with pytest.raises(NoActiveSQLTransactionError, match=OUTSIDE):
        next(rows)
    assert connection.fetchval("SELECT 1") == 1


def test_a_transaction_begun_by_hand(connection: colonnade.sync.Connection) -> None:
    connection.execute("BEGIN")
    assert [row for row in connection.cursor(SERIES, 2)] == [(1,), (2,)]
    cursor = connection.cursor(SERIES, 2).open()
    assert cursor.fetchrow() == (1,)
    connection.execute("COMMIT")
    with pytest.raises(NoActiveSQLTransactionError):
        cursor.fetchrow()


def test_a_cursor_of_the_transaction_before(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(SERIES, 3).open()
    with pytest.raises(InvalidCursorNameError, match="does not exist"):
        with connection.transaction():
            cursor.fetch(1)
    assert connection.fetchval("SELECT 1") == 1


def test_two_cursors_and_other_queries(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        rows = []
        for left in connection.cursor(SERIES, 3, prefetch=1):
            assert connection.fetchval("SELECT $1::int", 7) == 7
            for right in connection.cursor(SERIES, 2, prefetch=1):
                rows.append((left["n"], right["n"]))
                connection.execute("SELECT 1")
        assert rows == [(left, right) for left in (1, 2, 3) for right in (1, 2)]


def test_a_loop_that_is_left(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        for row in connection.cursor(SERIES, 1000):
            if row["n"] == 3:
                break
        del row
        assert portals(connection) == 0


def test_commands(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        assert [row for row in connection.cursor("CREATE TEMPORARY TABLE t (a int)")] == []
        insert = "INSERT INTO t SELECT generate_series(1, 5) RETURNING a"
        assert len([row for row in connection.cursor(insert, prefetch=2)]) == 5
        cursor = connection.cursor("INSERT INTO t VALUES (6)").open()
        assert cursor.fetch(1) == []
        assert cursor.fetch(1) == []
        assert cursor.forward(1) == 0
        assert connection.fetchval("SELECT count(*) FROM t") == 6
        assert [row for row in connection.cursor("")] == []


def test_an_error_in_mid_result(connection: colonnade.sync.Connection) -> None:
    query = "SELECT 1 / (3 - n) AS q FROM generate_series(1, 5) AS n"
    transaction = connection.transaction()
    transaction.start()
    cursor = connection.cursor(query).open()
    assert cursor.fetch(2) == [(0,), (1,)]
    with pytest.raises(DivisionByZeroError):
        cursor.fetch(2)
    with pytest.raises(InFailedSQLTransactionError):
        cursor.fetch(2)
    transaction.rollback()
    with pytest.raises(DivisionByZeroError):
        with connection.transaction():
            assert [row for row in connection.cursor(query, prefetch=1)] == []


def test_an_error_within_a_savepoint(connection: colonnade.sync.Connection) -> None:
    query = "SELECT 1 / (3 - n) AS q FROM generate_series(1, 5) AS n"
    with connection.transaction():
        cursor = connection.cursor(query).open()
        other = connection.cursor(SERIES, 3).open()
        assert cursor.fetchrow() == (0,)
        with pytest.raises(DivisionByZeroError):
            with connection.transaction():
                cursor.fetch(3)
        with pytest.raises(InterfaceError, match="its rows are lost"):
            cursor.fetch(1)
        assert other.fetch(1) == [(1,)]


def test_values_that_cannot_be_read(connection: colonnade.sync.Connection) -> None:
    query = "SELECT (n || ' days')::interval AS v FROM (VALUES (1), (2000000000), (3)) AS t (n)"
    with connection.transaction():
        cursor = connection.cursor(query).open()
        assert len(cursor.fetch(1)) == 1
        with pytest.raises(colonnade.DecodeError):
            cursor.fetch(1)
        with pytest.raises(InterfaceError, match="its rows are lost"):
            cursor.fetch(1)
        assert connection.fetchval("SELECT 1") == 1


def test_time_is_up(connection: colonnade.sync.Connection) -> None:
    query = "SELECT n, pg_sleep(CASE WHEN n = 3 THEN 10 ELSE 0 END) FROM generate_series(1, 5) AS n"
    transaction = connection.transaction()
    transaction.start()
    cursor = connection.cursor(query).open()
    assert len(cursor.fetch(2)) == 2
    with pytest.raises(TimeoutError):
        cursor.fetch(1, timeout=0.05)
    with pytest.raises(InFailedSQLTransactionError):
        cursor.fetch(1)
    transaction.rollback()
    assert connection.fetchval("SELECT 1") == 1


def test_after_the_end(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    transaction = connection.transaction()
    transaction.start()
    factory = connection.cursor(SERIES, 3)
    cursor, rows = factory.open(), iter(factory)

    # These are not awaited: the calls themselves raise.
    calls: list[tuple[str, Callable[[], object]]] = [
        ("Cursor.fetch", lambda: cursor.fetch(1)),
        ("Cursor.fetchrow", cursor.fetchrow),
        ("Cursor.fetch_columns", lambda: cursor.fetch_columns(1)),
        ("Cursor.forward", lambda: cursor.forward(1)),
        ("CursorIterator.__next__", lambda: next(rows)),
        ("CursorFactory.__iter__", lambda: iter(factory)),
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
    connection.close()
    refused("is closed")


def test_a_transaction_of_a_connection_that_was_given_back(
    connection: colonnade.sync.Connection,
) -> None:
    def given_back_in_between() -> None:
        with connection.transaction():
            connection.conversation.generation += 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        given_back_in_between()
    # The connection's next user keeps its own transaction.
    assert connection.is_in_transaction()
    connection.execute("ROLLBACK")


def test_a_closed_connection_with_cursors(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("BEGIN")
        cursor = connection.cursor(SERIES, 3).open()
    del cursor


def test_columns_that_fail_leave_no_position(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        query = "SELECT 6 / (5 - n) AS n FROM generate_series(1, 9) AS n"
        cursor = connection.cursor(query).open()
        assert (cursor.fetch_columns(3))["n"].tolist() == [1, 2, 3]
        with pytest.raises(DivisionByZeroError):
            with connection.transaction():
                cursor.fetch_columns(3)
        with pytest.raises(InterfaceError) as caught:
            cursor.fetch_columns(3)
        assert "Open a new cursor" in str(caught.value.hint)
        assert connection.fetchval("SELECT 1") == 1


def test_repr(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(SERIES, 3).open()
        assert repr(cursor).startswith('<colonnade.Cursor "SELECT generate_series(1, $1::" 0x')
        cursor.fetch(5)
        assert repr(cursor).startswith(
            '<colonnade.Cursor "SELECT generate_series(1, $1::" exhausted 0x'
        )


def test_without_a_cache(dsn: str) -> None:
    with (
        colonnade.sync.connect(dsn, statement_cache_size=0) as connection,
        connection.transaction(),
    ):
        for left in connection.cursor(SERIES, 3, prefetch=1):
            # The unnamed statement has been replaced meanwhile.
            assert connection.fetchval("SELECT $1::text", "x") == "x"
            assert left is not None
        assert portals(connection) == 0


def test_columns_that_change_where_no_statement_is_kept(
    connection: colonnade.sync.Connection, dsn: str
) -> None:
    connection.execute("CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)")
    try:
        with colonnade.sync.connect(dsn, statement_cache_size=0) as other:
            query = "SELECT * FROM changing"
            assert other.fetch(query) == [(1,)]
            for change in (
                "ALTER a TYPE text",
                "ADD b int DEFAULT 2",
                "ALTER a TYPE date USING null",
            ):
                connection.execute(f"ALTER TABLE changing {change}")
                with other.transaction():
                    rows = [row for row in other.cursor(query)]
                assert rows == connection.fetch(query)
                connection.execute("ALTER TABLE changing ALTER a TYPE text")
                with other.transaction():
                    cursor = other.cursor(query).open()
                    assert cursor.fetch(2) == connection.fetch(query)
    finally:
        connection.execute("DROP TABLE changing")
