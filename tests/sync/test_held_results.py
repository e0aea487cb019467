# Generated from tests/async/test_held_results.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Held results, which become rows or columns on request, and transactions begun ahead."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import colonnade
from tests.support.proxy import Proxy

MANY = 30_000


@pytest.mark.parametrize("expect", ["rows", "columns"])
def test_rows_piece_by_piece(
    connection: colonnade.sync.Connection, expect: Literal["rows", "columns"]
) -> None:
    query = "SELECT n, repeat('x', 100) || n FROM generate_series(1, $1::int4) AS n"
    wanted = [(n, "x" * 100 + str(n)) for n in range(1, MANY + 1)]
    held = connection.hold_result(query, MANY, record_class=tuple, expect=expect)
    assert (held.row_count, held.rows_left, held.has_rows) == (MANY, MANY, True)
    assert [attribute.name for attribute in held.attributes] == ["n", "?column?"]
    assert held.status == f"SELECT {MANY}"
    found: list[Any] = []
    for n in (1, 0, 2, 9_999, 10_001):
        found += held.fetch(n)
    assert found == wanted[: len(found)]
    assert held.rows_left == MANY - len(found)
    # The rest can become columns.
    columns = held.fetch_columns()
    assert columns["n"].tolist() == [row[0] for row in wanted[len(found) :]]
    assert held.rows_left == 0
    assert held.fetch() == []
    held = connection.hold_result(query, MANY, record_class=tuple, expect=expect)
    assert held.fetch() == wanted


@pytest.mark.parametrize("expect", ["rows", "columns"])
def test_columns_are_those_of_fetch_columns(
    connection: colonnade.sync.Connection, expect: Literal["rows", "columns"]
) -> None:
    query = (
        "SELECT n, n / 3.0 AS q, NULLIF(n % 7, 3) AS m, n::text AS t FROM generate_series(1, $1) n"
    )
    held = connection.hold_result(query, 5000, expect=expect)
    schema = {"q": "float64"}
    columns = held.fetch_columns(schema=schema)
    expected = connection.fetch_columns(query, 5000, schema=schema)
    assert columns.to_arrow().equals(expected.to_arrow())
    empty = connection.hold_result(query, 0, expect=expect)
    assert (empty.fetch_columns()).to_arrow().schema == expected.to_arrow().schema.set(
        1, (connection.fetch_columns(query, 0)).to_arrow().schema.field(1)
    )


def test_a_command_has_nothing_to_give(connection: colonnade.sync.Connection) -> None:
    held = connection.hold_result("CREATE TEMP TABLE t (n int4)")
    assert (held.has_rows, held.row_count, held.status) == (False, 0, "CREATE TABLE")
    assert held.fetch() == []
    held = connection.hold_result("INSERT INTO t VALUES (1), (2) RETURNING n")
    assert (held.has_rows, held.row_count) == (True, 2)
    assert held.fetch(1) == [(1,)]


def test_what_has_no_place_shows_when_it_is_asked_for(
    connection: colonnade.sync.Connection,
) -> None:
    query = "SELECT n, CASE WHEN n = 3 THEN 'infinity'::date END AS d FROM generate_series(1, 5) n"
    held = connection.hold_result(query, expect="columns")
    assert len(held.fetch(2)) == 2
    with pytest.raises(colonnade.SchemaError):
        held.fetch_columns(schema={"none": "int64"})
    assert held.rows_left == 3
    columns = held.fetch_columns(infinity="null")
    assert columns["n"].tolist() == [3, 4, 5]
    held = connection.hold_result(query, expect="columns")
    with pytest.raises(colonnade.errors.DecodeError, match='column "d"'):
        held.fetch_columns()


@pytest.mark.parametrize("expect", ["rows", "columns"])
def test_a_part_of_the_rows_is_never_taken_for_all(
    connection: colonnade.sync.Connection, expect: Literal["rows", "columns"]
) -> None:
    # Enough rows that the memory of some was released before the bad value is read.
    query = (
        "SELECT CASE WHEN n = 150000 THEN 'infinity'::date END, repeat('x', 20) "
        "FROM generate_series(1, 200000) n"
    )
    held = connection.hold_result(query, expect=expect)
    with pytest.raises(colonnade.errors.DecodeError):
        held.fetch_columns()
    assert (held.row_count, held.rows_left) == (200_000, 0)
    for ask in (held.fetch, lambda: held.fetch(1), lambda: held.fetch_columns(infinity="null")):
        with pytest.raises(colonnade.InterfaceError, match="lost"):
            ask()


@pytest.mark.parametrize("expect", ["rows", "columns"])
def test_types_that_turn_out_otherwise(dsn: str, expect: Literal["rows", "columns"]) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TYPE pg_temp.held_mood AS ENUM ('sad', 'glad')")
        query = "SELECT ROW(1, 'glad'::pg_temp.held_mood)"
        held = connection.hold_result(query, record_class=tuple, expect=expect)
        assert held.fetch() == [((1, "glad"),)]


def test_a_held_result_outlives_its_connection(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        held = connection.hold_result("SELECT 1 AS a")
    assert held.fetch() == [(1,)]


def test_an_unknown_expectation(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(ValueError, match="rows"):
        connection.hold_result("SELECT 1", expect="frames")  # type: ignore[arg-type]


def test_a_transaction_begins_with_the_next_query(
    connection: colonnade.sync.Connection,
) -> None:
    connection.execute("CREATE TEMP TABLE t (n int4)")
    for ask in (
        lambda: connection.execute("INSERT INTO t VALUES (1)"),
        lambda: connection.fetch("INSERT INTO t VALUES ($1) RETURNING n", 1),
        lambda: connection.executemany("INSERT INTO t VALUES ($1)", [(1,), (2,)]),
        lambda: connection.fetch_columns("INSERT INTO t VALUES ($1) RETURNING n", 1),
    ):
        connection.begin_ahead()
        assert connection.is_in_transaction()
        assert connection.transaction_status == "in transaction"
        ask()
        assert connection.transaction_status == "in transaction"
        with pytest.raises(colonnade.InterfaceError, match="open already"):
            connection.begin_ahead()
        connection.execute("ROLLBACK")
        assert connection.transaction_status == "idle"
    assert connection.fetchval("SELECT count(*) FROM t") == 0


def test_a_transaction_ahead_costs_no_round_trip(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        with colonnade.sync.connect(proxy.dsn) as connection:
            connection.fetchval("SELECT 1")
            connection.begin_ahead("BEGIN READ ONLY")
            assert connection.fetchval("SELECT 1") == 1
            with pytest.raises(colonnade.errors.ReadOnlySQLTransactionError):
                connection.execute("CREATE TABLE never (n int4)")
            assert connection.transaction_status == "failed"
            connection.execute("ROLLBACK")


def test_a_failure_ahead_closes_the_connection(connection: colonnade.sync.Connection) -> None:
    connection.begin_ahead("BEGIN NONSENSE")
    with pytest.raises((colonnade.PostgresError, colonnade.InterfaceError)):
        connection.fetchval("SELECT 1")
    assert connection.is_closed()


def test_an_argument_that_fails_behind_a_begin(connection: colonnade.sync.Connection) -> None:
    connection.fetchval("SELECT $1::int4", 1)
    connection.begin_ahead()
    with pytest.raises(colonnade.errors.EncodeError):
        connection.fetchval("SELECT $1::int4", "x")
    assert connection.transaction_status == "in transaction"
    assert connection.fetchval("SELECT $1::int4", 1) == 1
    connection.execute("COMMIT")
    assert connection.transaction_status == "idle"


def test_what_the_connection_is(connection: colonnade.sync.Connection) -> None:
    (row,) = connection.fetch("SELECT current_user, current_database()")
    assert (connection.user, connection.database) == tuple(row)
    assert isinstance(connection.address, str | tuple)


def test_cancelling_nothing(connection: colonnade.sync.Connection) -> None:
    connection.cancel()
    assert connection.fetchval("SELECT 1") == 1


def test_cancelling_on_a_closed_connection(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    connection.close()
    connection.cancel()
    assert connection.is_closed()
