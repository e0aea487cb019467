"""Queries, rows, and what the cursor says of them."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import pytest

from colonnade import dbapi
from colonnade.rows import dict_row

ZONED = dt.datetime(2024, 1, 2, 3, 4, 5, 6, dt.UTC)


def test_rows_are_plain_tuples(conn: dbapi.Connection) -> None:
    cur = conn.execute("SELECT n, n::text FROM generate_series(1, 5) AS n")
    assert cur.rowcount == 5
    assert cur.rownumber == 0
    row = cur.fetchone()
    assert type(row) is tuple
    assert row == (1, "1")
    assert cur.rownumber == 1
    assert cur.fetchmany(2) == [(2, "2"), (3, "3")]
    assert list(cur) == [(4, "4"), (5, "5")]
    assert cur.fetchone() is None
    assert cur.fetchmany(3) == cur.fetchall() == []
    assert cur.statusmessage == "SELECT 5"


def test_fetchmany_follows_arraysize(conn: dbapi.Connection) -> None:
    cur = conn.execute("SELECT generate_series(1, 5)")
    assert cur.fetchmany() == [(1,)]
    cur.arraysize = 3
    assert cur.fetchmany() == [(2,), (3,), (4,)]
    assert cur.fetchmany(0) == []
    assert cur.fetchall() == [(5,)]


def test_description(conn: dbapi.Connection) -> None:
    cur = conn.execute(
        "SELECT 1::numeric(10, -2) AS a, 'x'::varchar(5) AS b, now()::timestamptz(3) AS c, "
        "1::int8 AS d, ''::text AS e, B'101'::bit(3) AS f, '1 s'::interval AS g, 2.5 AS h"
    )
    assert cur.description is not None
    assert [tuple(column) for column in cur.description] == [
        ("a", 1700, None, None, 10, -2, None),
        ("b", 1043, 5, None, None, None, None),
        ("c", 1184, None, 8, 3, None, None),
        ("d", 20, None, 8, None, None, None),
        ("e", 25, None, None, None, None, None),
        ("f", 1560, 3, None, None, None, None),
        ("g", 1186, None, 16, None, None, None),
        ("h", 1700, None, None, None, None, None),
    ]
    codes = [column.type_code for column in cur.description]
    assert codes[0] == dbapi.NUMBER
    assert codes[1] == dbapi.STRING
    assert codes[2] == dbapi.DATETIME
    assert codes[3] != dbapi.STRING
    assert dbapi.NUMBER != dbapi.STRING


def test_commands_have_no_rows(conn: dbapi.Connection) -> None:
    cur = conn.execute("CREATE TEMP TABLE t (n int)")
    assert (cur.description, cur.rowcount, cur.rownumber) == (None, -1, None)
    with pytest.raises(dbapi.ProgrammingError, match="CREATE TABLE"):
        cur.fetchone()
    assert cur.execute("INSERT INTO t VALUES (1), (2)").rowcount == 2
    assert cur.execute("UPDATE t SET n = n + 1").rowcount == 2
    assert cur.execute("INSERT INTO t VALUES (7) RETURNING n").fetchall() == [(7,)]
    assert cur.execute("DELETE FROM t").rowcount == 3
    with pytest.raises(dbapi.ProgrammingError, match="no query"):
        conn.cursor().fetchall()


VALUES: list[tuple[Any, str]] = [
    (5, "smallint"),
    (-32769, "integer"),
    (2**31, "bigint"),
    (2**63, "numeric"),
    (1.5, "double precision"),
    (True, "boolean"),
    (decimal.Decimal("1.50"), "numeric"),
    (b"\x00\xff", "bytea"),
    (dt.date(2024, 2, 29), "date"),
    (ZONED, "timestamp with time zone"),
    (ZONED.replace(tzinfo=None), "timestamp without time zone"),
    (dt.time(1, 2), "time without time zone"),
    (dt.timedelta(days=1, seconds=5), "interval"),
    (uuid.UUID(int=7), "uuid"),
    ([1, None, 70000], "integer[]"),
    ([[1.5], [2.5]], "double precision[]"),
    ([dt.date(2024, 2, 29)], "date[]"),
]


@pytest.mark.parametrize(("value", "name"), VALUES, ids=[name for _value, name in VALUES])
def test_values_say_what_they_are(conn: dbapi.Connection, value: Any, name: str) -> None:
    row = conn.execute("SELECT %s, pg_typeof(%s)::text", (value, value)).fetchone()
    assert row == (value, name)
    assert type(row[0]) is type(value) or name == "numeric"


def test_strings_and_none_are_what_the_place_asks_for(conn: dbapi.Connection) -> None:
    row = conn.execute(
        "SELECT %s::date, %s::int4, %s::text, %s::int4[], date '2024-02-29' = ANY(%s), %s::int4",
        ("2024-02-29", "5", "x", [], ["2024-02-29", None], None),
    ).fetchone()
    assert row == (dt.date(2024, 2, 29), 5, "x", [], True, None)
    row = conn.execute("SELECT %s::text[]", (['a"b\\', "{}", "", "NULL", None],)).fetchone()
    assert row == (['a"b\\', "{}", "", "NULL", None],)


def test_executemany(conn: dbapi.Connection) -> None:
    cur = conn.execute("CREATE TEMP TABLE t (n int, d date, x numeric)")
    cur.executemany(
        "INSERT INTO t VALUES (%(n)s, %(d)s, %(x)s)",
        [
            {"n": 1, "d": "2024-01-01", "x": 1},
            {"n": 70000, "d": dt.date(2024, 1, 2), "x": decimal.Decimal("2.5")},
            {"n": None, "d": None, "x": None},
        ],
    )
    rows = cur.execute("SELECT * FROM t ORDER BY n").fetchall()
    assert rows == [
        (1, dt.date(2024, 1, 1), decimal.Decimal(1)),
        (70000, dt.date(2024, 1, 2), decimal.Decimal("2.5")),
        (None, None, None),
    ]


def test_row_factories(conn: dbapi.Connection) -> None:
    cur = conn.cursor(row_factory=dict_row)
    assert cur.execute("SELECT 1 AS a, 2 AS b").fetchall() == [{"a": 1, "b": 2}]
    conn.row_factory = dict_row
    assert conn.execute("SELECT 3 AS c").fetchone() == {"c": 3}


def test_a_script_without_parameters(conn: dbapi.Connection) -> None:
    cur = conn.execute("CREATE TEMP TABLE t (n int); INSERT INTO t VALUES (1), (2)")
    assert (cur.statusmessage, cur.rowcount) == ("INSERT 0 2", 2)
    assert conn.execute("SELECT count(*) FROM t; -- nothing more").fetchone() == (2,)


def test_a_closed_cursor_does_nothing(conn: dbapi.Connection) -> None:
    with conn.cursor() as cur:
        cur.execute("SELECT 1")
    assert cur.closed
    for use in (cur.fetchone, cur.fetchall, lambda: cur.execute("SELECT 1")):
        with pytest.raises(dbapi.InterfaceError):
            use()
