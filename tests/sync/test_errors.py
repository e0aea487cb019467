# Generated from tests/async/test_errors.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Errors of the server and of the client: their class, their text, and a usable connection."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import errors

SCHEMA = """
CREATE TEMPORARY TABLE parents (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TEMPORARY TABLE children (
    parent int REFERENCES parents, age int CONSTRAINT grown CHECK (age > 17)
);
INSERT INTO parents VALUES (1, 'one')
"""


def check_usable(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT $1::int", 5) == 5
    assert len(connection.fetch_columns("SELECT 1 AS n")) == 1
    assert not connection.is_in_transaction()


def gather(stream: colonnade.sync.ColumnStream, rows: list[int]) -> None:
    for batch in stream:
        rows += [len(batch)]


@pytest.mark.parametrize(
    ("sql", "kind", "text"),
    [
        ("SELEKT 1", errors.PostgresSyntaxError, 'syntax error at or near "SELEKT"'),
        ("SELECT nothing", errors.UndefinedColumnError, 'column "nothing" does not exist'),
        ("SELECT 1 FROM nowhere", errors.UndefinedTableError, 'relation "nowhere"'),
        ("SELECT nope(1)", errors.UndefinedFunctionError, r"function nope\(integer\)"),
        ("SELECT 1 / 0", errors.DivisionByZeroError, "division by zero"),
        ("SELECT 2147483647 + 1", errors.NumericValueOutOfRangeError, "integer out of range"),
        ("SELECT 'x'::int", errors.InvalidTextRepresentationError, 'integer: "x"'),
        ("SELECT '2020-13-01'::date", errors.DatetimeFieldOverflowError, "out of range"),
        ("SELECT (SELECT generate_series(1, 2))", errors.CardinalityViolationError, "one row"),
        ("INSERT INTO parents VALUES (1, 'x')", errors.UniqueViolationError, "parents_pkey"),
        ("INSERT INTO parents VALUES (2, NULL)", errors.NotNullViolationError, '"name"'),
        ("INSERT INTO children VALUES (9, 20)", errors.ForeignKeyViolationError, "parent"),
        ("INSERT INTO children VALUES (1, 5)", errors.CheckViolationError, "grown"),
        ("CREATE TABLE pg_temp.parents (i int)", errors.DuplicateTableError, "already exists"),
        ("SELECT 1; SHOW nothing", errors.UndefinedObjectError, "nothing"),
        ("COMMIT PREPARED 'x'", errors.UndefinedObjectError, "x"),
        ("DO $$BEGIN RAISE 'own' USING ERRCODE = 'ZZ001'; END$$", errors.PostgresError, "own"),
    ],
)
def test_sql_errors(
    connection: colonnade.sync.Connection, sql: str, kind: type[Exception], text: str
) -> None:
    connection.execute(SCHEMA)
    calls: list[Any] = [connection.execute]
    if ";" not in sql:
        calls += [connection.fetch, connection.fetchrow, connection.fetchval]
        calls += [connection.fetch_columns]
    for call in calls:
        with pytest.raises(kind, match=text) as caught:
            call(sql)
        assert isinstance(caught.value, errors.PostgresError)
        assert caught.value.sqlstate
        check_usable(connection)
    if ";" not in sql:
        with pytest.raises(kind, match=text):
            next(connection.iter_columns(sql))
        check_usable(connection)


def test_everything_the_server_says(connection: colonnade.sync.Connection) -> None:
    connection.execute(SCHEMA)
    with pytest.raises(errors.UniqueViolationError) as caught:
        connection.execute("INSERT INTO parents VALUES ($1, 'x')", 1)
    error = caught.value
    assert error.severity_en == "ERROR"
    assert error.sqlstate == "23505"
    assert error.detail == "Key (id)=(1) already exists."
    assert error.table_name == "parents"
    assert error.constraint_name == "parents_pkey"
    assert "DETAIL:  Key (id)=(1) already exists." in str(error)
    assert "detail" not in repr(error)

    with pytest.raises(errors.UndefinedColumnError) as undefined:
        connection.fetch("SELECT nam FROM parents")
    assert undefined.value.position == "8"
    assert "HINT:" in str(undefined.value)


def test_a_failed_transaction(connection: colonnade.sync.Connection) -> None:
    connection.execute("BEGIN")
    with pytest.raises(errors.DivisionByZeroError):
        connection.fetch("SELECT 1 / 0")
    assert connection.is_in_transaction()
    with pytest.raises(errors.InFailedSQLTransactionError):
        connection.fetch("SELECT 1")
    connection.execute("ROLLBACK")
    check_usable(connection)


def test_several_statements_where_one_can_be(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(errors.PostgresSyntaxError, match="multiple commands"):
        connection.fetch("SELECT 1; SELECT 2")
    assert connection.execute("SELECT 1; SELECT 2; ;") == "SELECT 1"
    assert connection.execute("") == ""
    check_usable(connection)


def test_an_error_after_many_rows(connection: colonnade.sync.Connection) -> None:
    query = "SELECT 1 / (50000 - i) FROM generate_series(1, 60000) i"
    for call in (connection.fetch, connection.fetch_columns, connection.execute):
        with pytest.raises(errors.DivisionByZeroError):
            call(query)
        check_usable(connection)
    rows: list[int] = []
    with pytest.raises(errors.DivisionByZeroError):
        gather(connection.iter_columns(query, batch_rows=1000), rows)
    assert set(rows) == {1000}
    assert len(rows) <= 49
    check_usable(connection)


def test_copy_as_a_query(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (i int)")
    for sql in ("COPY t FROM STDIN", "COPY t TO STDOUT", "COPY (SELECT 1) TO STDOUT"):
        for call in (connection.fetch, connection.fetch_columns, connection.execute):
            with pytest.raises(errors.InterfaceError, match="use the copy methods"):
                call(sql)
            check_usable(connection)


# Arguments


@pytest.mark.parametrize(
    ("sql", "args", "text"),
    [
        ("SELECT 1", (1,), "expects 0 arguments for this query, 1 was passed"),
        ("SELECT $1::int", (), "expects 1 argument for this query, 0 were passed"),
        ("SELECT $1::int, $2::int", (1,), "expects 2 arguments for this query, 1 was passed"),
    ],
)
def test_the_number_of_arguments(
    connection: colonnade.sync.Connection, sql: str, args: tuple[int, ...], text: str
) -> None:
    for call in (connection.fetch, connection.fetch_columns):
        with pytest.raises(errors.InterfaceError, match=text):
            call(sql, *args)
        check_usable(connection)


NAIVE = dt.datetime(2020, 1, 1)
AWARE = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


# Other than plain values are shown by their class.
SHOWN: dict[type, str] = {dict: "a dict of length 1", type: "the class NoneType"}


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("bool", 1, "a bool"),
        ("int2", 40_000, "40000"),
        ("int4", 1 << 31, "2147483648"),
        ("int4", "1", "int"),
        ("int4", 1.5, "int"),
        ("int8", 1 << 63, "64 bits"),
        ("int8", 1 << 100, "64 bits"),
        ("oid", -1, "negative"),
        ("xid", 1 << 32, "4294967296"),
        ("float4", "1", "a float"),
        ("float4", 1e300, "1e\\+?300"),
        ("float8", None.__class__, "a float"),
        ("text", 5, "a str"),
        ("text", "a\0b", "NUL|zero"),
        ("varchar", b"x", "a str"),
        ("name", 1, "a str"),
        ("json", {"a": 1}, "a str"),
        ("jsonb", {"a": 1}, "a str"),
        ("xml", 5, "a str"),
        ('"char"', b"too long", "byte"),
        ("bytea", "text", "bytes"),
        ("uuid", "no uuid", "UUID|uuid"),
        ("uuid", 5, "uuid.UUID"),
        ("date", "2020-01-01", "a datetime.date"),
        ("time", "12:00", "a datetime.time"),
        ("time", dt.time(1, tzinfo=dt.UTC), "tzinfo"),
        ("timestamp", "2020-01-01", "a datetime.datetime"),
        ("timestamp", AWARE, "naive"),
        ("timestamptz", 5, "a datetime.datetime"),
        ("numeric", "many", "a decimal.Decimal"),
        ("int4range", 5, "a Range, or a tuple"),
    ],
)
def test_a_wrong_argument_names_its_place_type_and_value(
    connection: colonnade.sync.Connection, type_name: str, value: object, text: str
) -> None:
    query = f"SELECT $1::int, $2::{type_name}"
    shown = type_name.strip('"')
    pattern = rf"(?s)query argument \$2 of type ({shown}|oid \d+).*{text}"
    for call in (connection.fetch, connection.fetch_columns):
        with pytest.raises(errors.EncodeError, match=pattern) as caught:
            call(query, 1, value)
        told = SHOWN[type(value)] if type(value) in SHOWN else repr(value)[:40]
        assert told in str(caught.value)
        assert isinstance(caught.value, errors.DataError)
        check_usable(connection)


def test_long_values_are_cut_in_messages(connection: colonnade.sync.Connection) -> None:
    for value in ("x" * 10_000, b"x" * 10_000, ["x"] * 10_000, {"x" * 10_000: 1}, 10**5_000):
        with pytest.raises(errors.EncodeError) as caught:
            connection.fetch("SELECT $1::int", value)
        assert len(str(caught.value)) < 300


def test_what_cannot_be_sent(connection: colonnade.sync.Connection) -> None:
    for call in (connection.fetch, connection.execute, connection.fetch_columns):
        with pytest.raises(errors.LocalProtocolError, match="NUL"):
            call("SELECT '\0'")
        check_usable(connection)
    with pytest.raises(errors.PostgresError):
        connection.fetch(f"SELECT {', '.join(f'${n}::int' for n in range(1, 65_537))}")
    check_usable(connection)
    with pytest.raises(TypeError):
        connection.fetch(5)  # type: ignore[call-overload]
    check_usable(connection)


@pytest.mark.parametrize("timeout", ["1", True, [1]])
def test_what_is_no_timeout(connection: colonnade.sync.Connection, timeout: Any) -> None:
    for call in (connection.fetch, connection.execute, connection.fetch_columns):
        with pytest.raises(ValueError, match="expected a number of seconds or None"):
            call("SELECT 1", timeout=timeout)
    check_usable(connection)


# Values that cannot be represented


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("'infinity'::timestamp", "infinity"),
        ("'-infinity'::timestamptz", "infinity"),
        ("'infinity'::date", "infinity"),
        ("'NaN'::numeric", "NaN"),
        ("'-Infinity'::numeric", "[Ii]nfinity"),
    ],
)
def test_values_without_a_place_in_columns(
    connection: colonnade.sync.Connection, value: str, reason: str
) -> None:
    query = f"SELECT i, CASE i WHEN 700 THEN {value} END AS v FROM generate_series(0, 999) i"
    with pytest.raises(errors.DecodeError, match=rf'column "v" .*row 700: .*{reason}') as caught:
        connection.fetch_columns(query)
    assert "infinity=" in str(caught.value)
    assert (caught.value.column, caught.value.row) == ("v", 700)
    check_usable(connection)
    stream = connection.iter_columns(query, batch_rows=500)
    assert len(next(stream)) == 500
    with pytest.raises(errors.DecodeError, match="row 700"):
        next(stream)
    check_usable(connection)

    nulls = connection.fetch_columns(query, infinity="null")
    assert nulls.to_pylist()[700] == {"i": 700, "v": None}
    check_usable(connection)


def test_infinities_saturate(connection: colonnade.sync.Connection) -> None:
    query = "SELECT '-infinity'::timestamp AS t, 'infinity'::date AS d"
    columns = connection.fetch_columns(query, infinity="saturate")
    assert columns["t"][0] < np.datetime64("-100000-01-01")
    assert columns["d"][0] > np.datetime64("100000-01-01")
    with pytest.raises(errors.DecodeError):
        connection.fetch_columns(query)


def test_schemas_that_do_not_fit(connection: colonnade.sync.Connection) -> None:
    for schema, text in (
        ({"b": "int64"}, '"b"'),
        ({"a": "int65"}, "int65"),
        ({"a": "decimal128(99, 0)"}, "decimal128"),
        ({"t": "int64"}, '"t"'),
    ):
        with pytest.raises(errors.SchemaError, match=text):
            connection.fetch_columns("SELECT 1 AS a, 'x' AS t", schema=schema)
        check_usable(connection)
    with pytest.raises(errors.SchemaError, match="maybe"):
        connection.fetch_columns("SELECT 1 AS a", infinity="maybe")  # type: ignore[arg-type]
    check_usable(connection)


def test_rows_that_python_cannot_name(connection: colonnade.sync.Connection) -> None:
    for value in ("'4000-01-01 BC'::date", "'20000-01-01'::timestamp", "'24:00'::time"):
        with pytest.raises(errors.DecodeError, match=r'column "v" .*row 1: .*cast it to text'):
            connection.fetch(
                f"SELECT CASE i WHEN 1 THEN {value} END AS v FROM generate_series(0, 2) i"
            )
        check_usable(connection)


# The query of an error


@pytest.mark.parametrize("times", [1, 2])
def test_an_error_knows_its_query(connection: colonnade.sync.Connection, times: int) -> None:
    """The same for a new statement and for a cached one."""
    wrong = "SELECT 1 / $1::int"
    for _ in range(times):
        for call in (connection.fetch, connection.execute, connection.fetch_columns):
            with pytest.raises(colonnade.errors.DivisionByZeroError) as caught:
                call(wrong, 0)
            assert caught.value.query == wrong
        with pytest.raises(colonnade.errors.UndefinedTableError) as missing:
            connection.execute("SELECT * FROM no_such_table")
        assert missing.value.query == "SELECT * FROM no_such_table"
        with pytest.raises(colonnade.errors.DivisionByZeroError) as caught:
            connection.executemany(wrong, [(1,), (0,)])
        assert caught.value.query == wrong
