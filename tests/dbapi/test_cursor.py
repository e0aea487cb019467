"""Queries, rows, and a cursor's attributes."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from typing import Any

import numpy as np
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


def test_numbers_of_rows_that_are_none(conn: dbapi.Connection) -> None:
    cur = conn.execute("SELECT generate_series(1, 5)")
    for size in (-1, -10):
        with pytest.raises(ValueError, match=f"0 or more, not {size}"):
            cur.fetchmany(size)
    cur.arraysize = -1
    with pytest.raises(ValueError, match="0 or more, not -1"):
        cur.fetchmany()
    wrong: Any = 1.5
    with pytest.raises(TypeError):
        cur.fetchmany(wrong)
    with pytest.raises(TypeError):
        cur.scroll(wrong)
    assert cur.fetchall() == [(1,), (2,), (3,), (4,), (5,)]


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


def test_results_one_after_the_other(conn: dbapi.Connection) -> None:
    cur = conn.execute("SELECT 1; CREATE TEMP TABLE t (n int); SELECT 2 UNION ALL SELECT 3")
    assert cur.fetchall() == [(1,)]
    assert cur.nextset()
    assert (cur.description, cur.statusmessage) == (None, "CREATE TABLE")
    assert cur.nextset()
    assert (cur.rowcount, cur.fetchall()) == (2, [(2,), (3,)])
    assert cur.nextset() is None
    assert cur.fetchall() == []
    cur.executemany(
        "INSERT INTO t VALUES (%s) RETURNING n, %s", [(1, "a"), (2, "b")], returning=True
    )
    assert (cur.rowcount, cur.fetchall()) == (1, [(1, "a")])
    assert cur.nextset()
    assert cur.fetchall() == [(2, "b")]
    assert cur.nextset() is None
    conn.rollback()


def test_a_script_with_rows_and_autocommit(dsn: str) -> None:
    with dbapi.connect(dsn, autocommit=True) as conn:
        cur = conn.execute("SET application_name = 'x'; SELECT 1")
        assert (cur.description, cur.rowcount) == (None, 1)
        cur.executescript("SELECT 1; SELECT 2")
        assert cur.statusmessage == "SELECT 1"


def test_rowcount_of_many(conn: dbapi.Connection) -> None:
    cur = conn.execute("CREATE TEMP TABLE t (n int)")
    cur.executemany("INSERT INTO t SELECT generate_series(1, %s)", [(2,), (3,), (0,)])
    assert cur.rowcount == 5
    cur.executemany("DELETE FROM t WHERE n = %(n)s", ({"n": n} for n in (1, 2, 9)))
    assert cur.rowcount == 4
    cur.executemany("DELETE FROM t WHERE n = %s", [])
    assert cur.rowcount == 0
    for returning in (False, True):
        cur.executemany("INSERT INTO t VALUES (7) RETURNING n", [(), (), ()], returning=returning)
    cur.executemany("INSERT INTO t VALUES (7)", [{}, {}])
    assert cur.rowcount == 2
    assert cur.execute("SELECT count(*) FROM t WHERE n = 7").fetchone() == (8,)
    with pytest.raises(dbapi.ProgrammingError, match="1 placeholders but 2"):
        cur.executemany("DELETE FROM t WHERE n = %s", [(1,), (1, 2)])
    with pytest.raises(dbapi.ProgrammingError):
        cur.fetchall()


MANY: list[tuple[list[Any], str, list[str]]] = [
    ([1, None, 2], "smallint", ["1", "2"]),
    ([1, 70_000], "integer", ["1", "70000"]),
    ([1, 2**40, True], "text", []),
    ([2**70, 1], "numeric", ["1180591620717411303424", "1"]),
    ([1.5, None], "double precision", ["1.5"]),
    (["1", "x"], "text", ["1", "x"]),
    ([[1], [70_000]], "integer[]", ["{1}", "{70000}"]),
]


@pytest.mark.parametrize(("values", "name", "texts"), MANY, ids=[name for _, name, _ in MANY])
def test_types_of_many_sets(
    conn: dbapi.Connection, values: list[Any], name: str, texts: list[str]
) -> None:
    cur = conn.execute("CREATE TEMP TABLE t (kind text, value text)")
    sets = [(value,) for value in values]
    query = "INSERT INTO t SELECT pg_typeof(x)::text, x::text FROM (SELECT %s AS x) AS given"
    if not texts:
        with pytest.raises(dbapi.DataError):
            cur.executemany(query, sets)
        return
    cur.executemany(query, sets)
    rows = cur.execute("SELECT kind, value FROM t WHERE value IS NOT NULL").fetchall()
    assert rows == [(name, text) for text in texts]


def test_numpys_scalars_and_enums(conn: dbapi.Connection) -> None:
    class Mood(enum.Enum):
        GLAD = 1

    class Word(enum.StrEnum):
        SAD = "sad"

    class Size(enum.IntEnum):
        BIG = 7

    values = (np.int64(5), np.float32(1.5), np.bool_(True), np.str_("x"), Mood.GLAD, Word.SAD)
    row = conn.execute(
        "SELECT %s, %s, %s, %s::text, %s::text, %s::text, %s", (*values, Size.BIG)
    ).fetchone()
    assert row == (5, 1.5, True, "x", "GLAD", "sad", 7)


def test_json(conn: dbapi.Connection) -> None:
    cur = conn.execute(
        "SELECT pg_typeof(%s)::text, %s -> 'a', %s, pg_typeof(%s)::text",
        (dbapi.Jsonb({"a": [1]}), dbapi.Jsonb({"a": [1]}), *[dbapi.Json(5, dumps=repr)] * 2),
    )
    assert cur.fetchone() == ("jsonb", "[1]", "5", "json")


def test_lists_of_several_types_are_refused(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.DataError, match="float, int"):
        conn.execute("SELECT %s", ([1, 1.5],))


def test_callproc(conn: dbapi.Connection) -> None:
    conn.execute(
        'CREATE FUNCTION pg_temp."Add"(a int, b int = 10) RETURNS TABLE (total int) '
        "LANGUAGE sql AS 'SELECT a + b UNION ALL SELECT a - b'"
    )
    cur = conn.cursor()
    given = (1, 2)
    assert cur.callproc("pg_temp.Add", given) is given
    assert cur.fetchall() == [(3,), (-1,)]
    cur.callproc("pg_temp.Add", {"b": 5, "a": 1})
    assert cur.fetchone() == (6,)
    assert cur.callproc("pg_backend_pid") == ()
    assert cur.fetchone() == (conn.info.backend_pid,)


def test_scrolling_through_a_result(conn: dbapi.Connection) -> None:
    cur = conn.execute("SELECT generate_series(0, 9)")
    cur.scroll(4)
    assert cur.fetchone() == (4,)
    cur.scroll(-3)
    assert cur.fetchone() == (2,)
    cur.scroll(9, mode="absolute")
    assert next(cur) == (9,)
    for value in (1, -11):
        with pytest.raises(IndexError):
            cur.scroll(value)
    with pytest.raises(StopIteration):
        next(cur)
    with pytest.raises(ValueError, match="sideways"):
        cur.scroll(1, mode="sideways")


def test_what_the_connection_knows(conn: dbapi.Connection, dsn: str) -> None:
    info = conn.info
    row = conn.execute(
        "SELECT current_database(), current_user, pg_backend_pid(), "
        "current_setting('server_version_num')::int, inet_server_port()"
    ).fetchone()
    assert (info.dbname, info.user, info.backend_pid, info.server_version, info.port) == row
    assert info.parameter_status("server_encoding") == "UTF8"
    assert info.parameter_status("nonsense") is None
    conn.execute("SET TimeZone = 'Europe/Paris'")
    assert str(info.timezone) == "Europe/Paris"
    with dbapi.connect(dsn, dbname="template1", application_name="it's \\ mine") as other:
        assert other.info.dbname == "template1"
        assert other.execute("SHOW application_name").fetchone() == ("it's \\ mine",)
    words = f"host={info.host} port={info.port} user={info.user}"
    with dbapi.connect(words, dbname="postgres", application_name="a b") as other:
        assert other.execute("SHOW application_name").fetchone() == ("a b",)
