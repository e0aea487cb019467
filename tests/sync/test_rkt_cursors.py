# Generated from tests/async/test_rkt_cursors.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queries with a dtype, by prepared statements and cursors."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade.errors import DecodeError, InterfaceError, NoActiveSQLTransactionError
from colonnade.rkt import DTypeError, set_query_dtype

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

PAIRS = "SELECT g::int8, nullif(g, 2)::int4 FROM generate_series(1, $1::int) g"
PAIR = np.dtype([("a", "i8"), ("b", "i4")])
BLOCKS = np.dtype([("a", "i8"), ("b", "i4")], metadata={"blocks": True})
NULL = -(2**31)
QUERY = set_query_dtype(PAIRS, PAIR)


# Prepared statements


def test_a_prepared_statement_gives_arrays(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(QUERY)
    for rows in (3, 0, 70_000):
        array, nulls = statement.fetch(rows)
        assert array.dtype == PAIR
        assert array["a"].tolist() == list(range(1, rows + 1))
        assert nulls == ([3] if rows else [])
        assert statement.get_statusmsg() == f"SELECT {rows}"


def test_a_prepared_statement_gives_blocks(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(set_query_dtype(PAIRS, BLOCKS))
    columns, nulls = statement.fetch(3)
    assert (columns["b"].tolist(), nulls) == ([1, NULL, 3], [3])


def test_a_prepared_statement_gives_one_row(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(QUERY)
    found: Any = statement.fetchrow(2)
    row, nulls = found
    assert isinstance(row, np.void)
    assert (row.item(), nulls) == ((1, 1), [])
    assert statement.fetchrow(0) is None


def test_a_prepared_statement_gives_one_value(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(QUERY)
    value = statement.fetchval(1, column="b")
    assert isinstance(value, np.int32)
    assert statement.fetchval(0) is None
    null = connection.prepare(set_query_dtype("SELECT NULL::int8", [("v", "i8")]))
    assert null.fetchval() is None


def test_the_statement_keeps_the_query(connection: colonnade.sync.Connection) -> None:
    statement = connection.prepare(QUERY)
    assert statement.get_query() == PAIRS
    arrays: Any = connection.fetch(statement.get_query(), 2)
    array, _ = arrays
    assert array.dtype == PAIR
    # `fetch_columns` still gives columns.
    assert (statement.fetch_columns(2))["g"].tolist() == [1, 2]


def test_a_dtype_that_does_not_match_leaves_all_usable(
    connection: colonnade.sync.Connection,
) -> None:
    statement = connection.prepare(set_query_dtype(PAIRS, [("a", "i8")]))
    with pytest.raises(DTypeError, match="the dtype has 1 fields, and the result 2 columns"):
        statement.fetch(1)
    with connection.transaction():
        with pytest.raises(DTypeError):
            statement.cursor(1).open()
        with pytest.raises(DTypeError):
            next(iter(statement.cursor(1)))
    assert connection.fetchval("SELECT 1") == 1


def test_an_argument_that_does_not_fit_leaves_it_usable(
    connection: colonnade.sync.Connection,
) -> None:
    statement = connection.prepare(QUERY)
    with pytest.raises(colonnade.EncodeError):
        statement.fetch("three")
    array, _ = statement.fetch(1)
    assert array.tolist() == [(1, 1)]


# Cursors


def opened(connection: colonnade.sync.Connection, by: str, query: str, *args: Any) -> Any:
    if by == "connection":
        return connection.cursor(query, *args).open()
    return (connection.prepare(query)).cursor(*args).open()


@pytest.mark.parametrize("by", ["connection", "statement"])
def test_a_cursor_loses_no_rows(connection: colonnade.sync.Connection, by: str) -> None:
    # asyncpg-rkt gave the first portion, and then lost rows.
    with connection.transaction():
        cursor = opened(connection, by, QUERY, 5)
        found = [cursor.fetch(2) for _ in range(4)]
    assert [array.tolist() for array, _ in found] == [
        [(1, 1), (2, NULL)],
        [(3, 3), (4, 4)],
        [(5, 5)],
        [],
    ]
    assert [nulls for _, nulls in found] == [[3], [], [], []]
    assert {array.dtype for array, _ in found} == {PAIR}


def test_a_cursor_gives_blocks(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(set_query_dtype(PAIRS, BLOCKS), 3).open()
        found = [(cursor.fetch(2))[0]["a"].tolist() for _ in range(3)]
        assert found == [[1, 2], [3], []]


def test_a_cursor_gives_rows_and_moves(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(QUERY, 5).open()
        assert cursor.forward(1) == 1
        found: Any = cursor.fetchrow()
        row, nulls = found
        assert (row.item(), nulls) == ((2, NULL), [1])
        # Another query in between.
        assert connection.fetchval("SELECT 1") == 1
        array, _ = cursor.fetch(2)
        assert array["a"].tolist() == [3, 4]
        assert (cursor.fetch_columns(9))["g"].tolist() == [5]
        assert cursor.fetchrow() is None


@pytest.mark.parametrize("prefetch", [1, 2, 5, 6, None])
@pytest.mark.parametrize("by", ["connection", "statement"])
def test_each_row_comes_with_its_nulls(
    connection: colonnade.sync.Connection, by: str, prefetch: int | None
) -> None:
    with connection.transaction():
        if by == "connection":
            rows = connection.cursor(QUERY, 5, prefetch=prefetch)
        else:
            rows = (connection.prepare(QUERY)).cursor(5, prefetch=prefetch)
        found = [(row.item(), nulls) for row, nulls in rows]
    want: list[Any] = [((n, n), []) for n in range(1, 6)]
    want[1] = ((2, NULL), [1])
    assert found == want


def test_values_come_in_the_format_that_their_field_reads(
    connection: colonnade.sync.Connection,
) -> None:
    text = "SELECT 1.50::numeric, 'pg_class'::regclass, 2.5::float8::numeric::money, '12:00'::time"
    dtype = [("n", object), ("c", "U20"), ("m", "U20"), ("t", "m8[s]")]
    query = set_query_dtype(text, dtype)
    want = (connection.fetch(query))[0].tolist()
    assert want[0][0] == Decimal("1.50")
    with connection.transaction():
        cursor = connection.cursor(query).open()
        assert (cursor.fetch(3))[0].tolist() == want
        assert [row.item() for row, _ in connection.cursor(query)] == want


def test_a_text_that_is_too_long_ends_the_cursor(connection: colonnade.sync.Connection) -> None:
    query = set_query_dtype("SELECT repeat('x', g) FROM generate_series(1, 3) g", [("v", "U2")])
    with connection.transaction():
        cursor = connection.cursor(query).open()
        with pytest.raises(DTypeError, match="does not match PostgreSQL text of size 3"):
            cursor.fetch(3)
        with pytest.raises(InterfaceError, match="its rows are lost"):
            cursor.fetch(3)
        with pytest.raises(DTypeError):
            [row for row in connection.cursor(query)]
        assert connection.fetchval("SELECT 1") == 1


def test_infinity_is_refused_by_a_cursor(connection: colonnade.sync.Connection) -> None:
    query = "SELECT 'infinity'::timestamp"
    with connection.transaction():
        cursor = connection.cursor(set_query_dtype(query, [("v", "M8[us]")])).open()
        with pytest.raises(DecodeError):
            cursor.fetch(1)
        null = set_query_dtype(query, [("v", "M8[us]")], infinity="null")
        cursor = connection.cursor(null).open()
        assert (cursor.fetch(1))[1] == [0]


def test_a_count_of_none_is_refused(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        cursor = connection.cursor(QUERY, 1).open()
        with pytest.raises(InterfaceError, match="greater than zero"):
            cursor.fetch(0)
    with pytest.raises(NoActiveSQLTransactionError):
        cursor.fetch(1)


def test_iterating_costs_as_many_round_trips_as_records(proxy: Proxy) -> None:
    with colonnade.sync.connect(proxy.dsn) as connection:
        sent = []
        for query in (PAIRS, QUERY):
            connection.fetch(query, 1)
            with connection.transaction():
                connection.execute("SELECT 1")
                before = len(proxy.first.sent)
                assert len([row for row in connection.cursor(query, 3)]) == 3
                # A Sync for each round trip.
                sent.append(bytes(proxy.first.sent[before:]).count(b"S\x00\x00\x00\x04"))
        assert sent == [1, 1]


def test_many_sets_of_arguments(connection: colonnade.sync.Connection) -> None:
    sets = [(2,), (0,), (1,)]
    statement = connection.prepare(QUERY)
    for array, nulls in (
        connection.fetchmany(QUERY, sets),
        statement.fetchmany(sets),
    ):
        assert array.dtype == PAIR
        assert array.tolist() == [(1, 1), (2, NULL), (1, 1)]
        assert nulls == [3]
    array, nulls = connection.fetchmany(QUERY, [])
    assert (len(array), nulls) == (0, [])


def test_a_pipeline_gives_what_fetch_gives(connection: colonnade.sync.Connection) -> None:
    long = set_query_dtype("SELECT 'xxx'", [("v", "U2")])
    with connection.pipeline() as pipeline:
        whole = pipeline.fetch(QUERY, 3)
        blocks = pipeline.fetch(set_query_dtype(PAIRS, BLOCKS), 3)
        row = pipeline.fetchrow(QUERY, 3)
        nothing = pipeline.fetchrow(QUERY, 0)
        value = pipeline.fetchval(QUERY, 3, column="b")
        records = pipeline.fetch(PAIRS, 1)
        refused = pipeline.fetch(long)
        with pytest.raises(DTypeError, match="does not match PostgreSQL text of size 3"):
            refused.wait()
    array, nulls = whole.result()
    assert (array.tolist(), nulls) == ([(1, 1), (2, NULL), (3, 3)], [3])
    columns, nulls = blocks.result()
    assert (columns["b"].tolist(), nulls) == ([1, NULL, 3], [3])
    assert row.result()[0].item() == (1, 1)
    assert nothing.result() is None
    assert value.result() == (connection.fetchval(QUERY, 3, column="b"))
    assert records.result() == [(1, 1)]
