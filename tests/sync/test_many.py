# Generated from tests/async/test_many.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Many executions of one statement: their rows, their errors, and the state afterwards."""

from __future__ import annotations

import datetime as dt
from collections import UserList
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    ConnectionDoesNotExistError,
    DivisionByZeroError,
    EncodeError,
    InterfaceError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.proxy import Proxy

INSERT = "INSERT INTO many VALUES ($1, $2)"


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> colonnade.sync.Connection:
    """A connection with an empty table `many` of its own."""
    connection.execute("CREATE TEMP TABLE many (a int, b text)")
    return connection


def count(connection: colonnade.sync.Connection) -> Any:
    return connection.fetchval("SELECT count(*) FROM many")


def test_rows_arrive_in_order(table: colonnade.sync.Connection) -> None:
    rows = [(number, f"row {number}" if number % 3 else None) for number in range(20_000)]
    table.executemany(INSERT, rows)
    assert [tuple(row) for row in table.fetch("SELECT * FROM many ORDER BY a")] == rows


@pytest.mark.parametrize("rows", [[], (), iter([])])
def test_no_rows_at_all(table: colonnade.sync.Connection, rows: Any) -> None:
    table.executemany(INSERT, rows)
    assert count(table) == 0
    assert table.fetchmany("SELECT $1::int", []) == []


def test_sets_of_arguments_of_many_kinds(table: colonnade.sync.Connection) -> None:
    record: Any = table.fetchrow("SELECT 5, 'e'")
    table.executemany(INSERT, [(1, "a"), [2, "b"], UserList([3, "c"]), record])
    table.executemany(INSERT, ((number, "c") for number in range(3)))
    table.executemany(INSERT, args=[record])
    table.executemany("INSERT INTO many VALUES (9, 'fixed')", [(), []])
    assert count(table) == 10


def test_fetchmany_gives_the_rows_of_all(table: colonnade.sync.Connection) -> None:
    query = "INSERT INTO many VALUES ($1, $2) RETURNING b, a"
    rows = table.fetchmany(query, [(number, str(number)) for number in range(5000)])
    assert [tuple(row) for row in rows] == [(str(number), number) for number in range(5000)]
    assert rows[7]["a"] == 7
    several = table.fetchmany("SELECT generate_series(1, $1::int) AS n", [(2,), (0,), (3,)])
    assert [row["n"] for row in several] == [1, 2, 1, 2, 3]
    assert table.fetchmany("CREATE TEMP TABLE nothing ()", [()]) == []


def test_rows_of_executemany_are_thrown_away(table: colonnade.sync.Connection) -> None:
    # The answers exceed the socket buffers, so they must be read while the rows are sent.
    arguments = [(number, "x" * 1000) for number in range(20_000)]
    table.executemany("INSERT INTO many VALUES ($1, $2) RETURNING repeat(b, 5)", arguments)
    assert count(table) == 20_000


BAD_SETS = [
    (
        [(1, "a"), ("x", "b")],
        EncodeError,
        r"query argument \$1 in element #1 of executemany\(\) sequence: 'x' \(of type int4: ",
    ),
    (["ab"], EncodeError, r"query argument \$1 in element #0 of executemany\(\) sequence: 'a'"),
    ([(1, "a"), 5], EncodeError, "executemany.. argument sequence element #1: expected a sequence"),
    ([{"a": 1}], EncodeError, "element #0: expected a sequence, got dict"),
    ([(1, "a"), (2,)], InterfaceError, "expects 2 arguments for this query, 1 was passed"),
    ([(1, "a"), (2, "b", "c")], InterfaceError, "expects 2 arguments for this query, 3 were"),
]


@pytest.mark.parametrize(("rows", "error", "text"), BAD_SETS)
def test_bad_arguments_leave_nothing(
    table: colonnade.sync.Connection, rows: Any, error: type[Exception], text: str
) -> None:
    messages: list[object] = []
    table.add_log_listener(lambda _connection, message: messages.append(message))
    with pytest.raises(error, match=text):
        table.executemany(INSERT, rows)
    assert count(table) == 0
    assert not table.is_in_transaction()
    assert messages == [], "the rollback is nobody's business"


def test_a_late_bad_argument_undoes_what_was_sent(table: colonnade.sync.Connection) -> None:
    def rows() -> Iterator[tuple[object, str]]:
        for number in range(20_000):
            yield number, "x"
        yield "bad", "x"

    with pytest.raises(EncodeError, match="in element #20000 of"):
        table.executemany(INSERT, rows())
    assert count(table) == 0
    table.executemany(INSERT, [(1, "a")])
    assert count(table) == 1


def test_what_is_no_iterable(table: colonnade.sync.Connection) -> None:
    not_iterable: Any = 5
    with pytest.raises(TypeError, match="not iterable"):
        table.executemany(INSERT, not_iterable)
    assert count(table) == 0


def test_a_generator_that_raises(table: colonnade.sync.Connection) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for number in range(5000):
            yield number, "x"
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        table.executemany(INSERT, rows())
    assert count(table) == 0


def test_a_generator_may_look_at_its_connection(table: colonnade.sync.Connection) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for number in range(10):
            yield number, f"{table.is_in_transaction()} {table!r}"

    table.executemany(INSERT, rows())
    assert count(table) == 10


def test_the_server_s_error_stops_the_sending(table: colonnade.sync.Connection) -> None:
    taken = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal taken
        for number in range(1_000_000):
            taken += 1
            yield (number - 5,)

    with pytest.raises(DivisionByZeroError):
        table.executemany("SELECT 1 / $1::int", rows())
    assert taken < 1_000_000
    assert table.fetchval("SELECT 1") == 1


def test_all_or_nothing(table: colonnade.sync.Connection) -> None:
    table.execute("CREATE UNIQUE INDEX ON many (a)")
    rows = [(number, "x") for number in range(3000)]
    with pytest.raises(UniqueViolationError):
        table.executemany(INSERT, [*rows, (7, "again")])
    assert count(table) == 0
    table.executemany(INSERT, rows)
    assert count(table) == 3000


def test_within_a_transaction(table: colonnade.sync.Connection) -> None:
    def two() -> None:
        with table.transaction():
            table.executemany(INSERT, [(1, "a"), (2, "b")])
            table.executemany(INSERT, [(3, "c"), ("x", "d")])

    with pytest.raises(EncodeError):
        two()
    assert count(table) == 0
    with table.transaction():
        table.executemany(INSERT, [(1, "a")])
        with pytest.raises(EncodeError):
            table.executemany(INSERT, [("x", "d")])
        assert table.is_in_transaction(), "the transaction is its owner's to end"
    assert count(table) == 1


def test_a_statement_the_server_forgot(table: colonnade.sync.Connection) -> None:
    table.executemany(INSERT, [(1, "a")])
    table.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    table.executemany(INSERT, [(2, "b")])
    assert count(table) == 2


def test_query_loggers_are_told(table: colonnade.sync.Connection) -> None:
    told: list[Any] = []
    rows = [(1, "a")]
    with table.query_logger(told.append):
        table.executemany(INSERT, rows)
        table.fetchmany("SELECT $1::int", [(1,)])
        with pytest.raises(EncodeError):
            table.executemany(INSERT, [("x", "a")])
    assert [record.query for record in told] == [INSERT, "SELECT $1::int", INSERT]
    assert told[0].args is rows
    assert [type(record.exception) for record in told] == [type(None), type(None), EncodeError]


def test_a_timeout_leaves_nothing(table: colonnade.sync.Connection) -> None:
    with pytest.raises(TimeoutError):
        table.executemany("SELECT pg_sleep($1)", [(0,), (60,)], timeout=0.1)
    assert table.fetchval("SELECT 1") == 1

    def rows() -> Iterator[tuple[int, str]]:
        number = 0
        while True:
            number += 1
            yield number, "x"

    with pytest.raises(TimeoutError):
        table.executemany(INSERT, rows(), timeout=0.2)
    assert count(table) == 0


def test_the_end_of_the_server_ends_it(dsn: str, proxy: Proxy) -> None:
    with colonnade.sync.connect(proxy.dsn) as connection:

        def rows() -> Iterator[tuple[int]]:
            for number in range(10_000_000):
                if number == 50_000:
                    proxy.connections[0].break_off()
                yield (number,)

        with pytest.raises((ConnectionDoesNotExistError, InterfaceError)):
            connection.executemany("SELECT $1::int", rows())
        assert connection.is_closed()
    del dsn


def test_a_copy_is_refused(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMP TABLE many (a int, b text)")
        for sets in ([()], [(), (), ()]):
            with pytest.raises(InterfaceError, match="use the copy methods"):
                connection.executemany("COPY many FROM STDIN", sets)
            assert connection.fetchval("SELECT 1") == 1
        with pytest.raises(InterfaceError, match="use the copy methods"):
            connection.executemany("COPY many TO STDOUT", [(), ()])
        assert connection.fetchval("SELECT 1") == 1


def test_values_of_all_sizes(table: colonnade.sync.Connection) -> None:
    sizes = [0, 1, 1000, 70_000, 3_000_000, 10]
    table.executemany(INSERT, [(size, "y" * size) for size in sizes])
    rows = table.fetch("SELECT a, length(b) FROM many ORDER BY a")
    assert [tuple(row) for row in rows] == [(size, size) for size in sorted(sizes)]


def test_codecs_and_dates(table: colonnade.sync.Connection) -> None:
    table.set_type_codec("date", schema="pg_catalog", encoder=str, decoder=dt.date.fromisoformat)
    days = [dt.date(2020, 1, day) for day in range(1, 20)]
    rows = table.fetchmany("SELECT $1::date", [(day,) for day in days])
    assert [row[0] for row in rows] == days
