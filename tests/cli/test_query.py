"""`colonnade query`: every format, read back by its library and compared with SQL."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.cli.program import run, run_for_bytes, run_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    import colonnade.sync


def expected_table(connection: colonnade.sync.Connection, sql: str) -> pa.Table:
    return pa.table(connection.fetch_columns(sql))


def server_csv(connection: colonnade.sync.Connection, sql: str) -> str:
    out = io.BytesIO()
    connection.copy_from_query(sql, output=out, format="csv", header=True)
    return out.getvalue().decode()


def test_a_pipe_gets_csv(dsn: str, connection: colonnade.sync.Connection, mixed: str) -> None:
    sql = f"SELECT * FROM {mixed} ORDER BY id"
    text = run_for_bytes(dsn, "query", sql).decode()
    assert text == server_csv(connection, sql)
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 2501
    assert rows[2][5] == 'a,b"c'
    assert rows[3][5] == "two\nlines"


def test_csv_of_what_copy_does_not_take(dsn: str, connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TABLE cli_said (n int, t text)")
    try:
        sql = (
            "INSERT INTO cli_said VALUES (1, 'a;b'), (2, NULL), (3, 'NIL'), (4, 'say \"x\"'), "
            "(5, E'two\\nlines') RETURNING n AS \"n;m\", t"
        )
        words = ("--delimiter", ";", "--null", "NIL")
        text = run_for_bytes(dsn, "query", sql, *words).decode()
        out = io.BytesIO()
        again = 'SELECT n AS "n;m", t FROM cli_said ORDER BY n'
        connection.copy_from_query(
            again, output=out, format="csv", header=True, delimiter=";", null="NIL"
        )
        assert text == out.getvalue().decode()
    finally:
        connection.execute("DROP TABLE cli_said")
    assert run_for_bytes(dsn, "query", "SHOW server_encoding") == b"server_encoding\nUTF8\n"


@pytest.mark.parametrize("form", ["arrow", "feather", "parquet"])
def test_arrow_and_parquet_hold_the_same(
    form: str, dsn: str, connection: colonnade.sync.Connection, mixed: str, tmp_path: Path
) -> None:
    sql = f"SELECT * FROM {mixed} ORDER BY id"
    content = run_for_bytes(dsn, "query", sql, "--format", form)
    path = tmp_path / "result"
    path.write_bytes(content)
    if form == "arrow":
        with pa.ipc.open_stream(path.read_bytes()) as reader:
            table = reader.read_all()
    elif form == "feather":
        table = pyarrow.feather.read_table(path)
    else:
        table = pq.read_table(path)
    assert table.equals(expected_table(connection, sql))


def test_ndjson_is_what_the_server_says(
    dsn: str, connection: colonnade.sync.Connection, mixed: str
) -> None:
    sql = f"SELECT * FROM {mixed} ORDER BY id"
    lines = run_for_bytes(dsn, "query", sql, "--format", "ndjson").decode().splitlines()
    asked = connection.fetch(f"SELECT row_to_json(q)::text AS line FROM ({sql}) AS q")
    assert [json.loads(line) for line in lines] == [json.loads(row["line"]) for row in asked]


def test_ndjson_of_the_edges(dsn: str, connection: colonnade.sync.Connection) -> None:
    sql = """
        SELECT 'NaN'::float8 AS a, '-Infinity'::float4 AS b, 'NaN'::numeric AS c,
            123456789012345678901234567890.5::numeric AS d, 'infinity'::timestamptz AS e,
            '0044-03-15 BC'::date AS f, timestamp '0044-03-15 10:00 BC' AS g,
            int4range(1, 5) AS h, interval '1 mon 2 days' AS i, '\\x00ff'::bytea AS j,
            E'{"k":\n 1}'::json AS k, ARRAY[1.5, NULL]::numeric[] AS l, 'a"\\b'::text AS m,
            ARRAY[['x', 'y'], ['z', NULL]] AS n, 'abc'::name AS "o%s", NULL AS p
    """
    (line,) = run_for_bytes(dsn, "query", sql, "--format", "ndjson").decode().splitlines()
    asked = connection.fetchval(f"SELECT row_to_json(q)::text FROM ({sql}) AS q")
    assert json.loads(line) == json.loads(asked)


#: Values of types unknown to JSON, within arrays and composites.
PARTS = """
    SELECT ARRAY[interval '1 mon 2 days'] AS a, ARRAY[int4range(1, 5)] AS b, ARRAY[B'101'] AS c,
        ARRAY['{"k": [1]}'::json] AS d, ARRAY['NaN', 1e-10, 1e20]::numeric[] AS e,
        ARRAY['infinity', '2024-02-29 12:00+00']::timestamptz[] AS f, ARRAY[0.1]::float4[] AS g,
        ARRAY['(1,2)'::point] AS h, '{24:00}'::time[] AS i, ARRAY['\\x00ff'::bytea] AS j,
        row(1, 'x', NULL, interval '1 mon') AS "the %k", '[2:3]={1,2}'::int[] AS l, 5 AS m
"""


def test_ndjson_of_parts_is_the_servers(dsn: str, connection: colonnade.sync.Connection) -> None:
    asked = connection.fetchval(f"SELECT row_to_json(q)::text FROM ({PARTS}) AS q")
    (line,) = run_for_bytes(dsn, "query", PARTS, "--format", "ndjson").decode().splitlines()
    assert json.loads(line) == json.loads(asked)


#: Values that are text in Arrow, and Python objects in rows.
OBJECTS = """
    inet '::ffff:1.2.3.4/96' AS a, cidr '10.0.0.0/8' AS b, B'101' AS c, varbit '0' AS d,
    txid_snapshot '10:20:11' AS e, inet '1.2.3.4' AS f, macaddr '08:00:2b:01:02:03' AS g
"""
OBJECT_TEXTS = [
    *("::ffff:1.2.3.4/96", "10.0.0.0/8", "101", "0", "10:20:11", "1.2.3.4", "08:00:2b:01:02:03"),
]


def test_objects_are_the_servers_text(dsn: str, connection: colonnade.sync.Connection) -> None:
    sql = f"SELECT {OBJECTS}"
    (line,) = run_for_bytes(dsn, "query", sql, "--format", "ndjson").decode().splitlines()
    asked = connection.fetchval(f"SELECT row_to_json(q)::text FROM ({sql}) AS q")
    assert json.loads(line) == json.loads(asked) == dict(zip("abcdefg", OBJECT_TEXTS, strict=True))
    piped = run_for_bytes(dsn, "query", sql, "--format", "table", "--max-rows", "0").decode()
    assert set(OBJECT_TEXTS) <= set(piped.split())


def test_csv_that_a_statement_returns(dsn: str, connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TABLE cli_returned (n int)")
    try:
        sql = "INSERT INTO cli_returned VALUES (1) RETURNING"
        text = run_for_bytes(dsn, "query", f"{sql} {OBJECTS}", "--no-header").decode()
        assert text.rstrip("\n").split(",") == OBJECT_TEXTS
        text = run_for_bytes(dsn, "query", f"{sql} n AS a, n + 1 AS a").decode()
        assert text == "a,a\n1,2\n"
    finally:
        connection.execute("DROP TABLE cli_returned")


def test_ndjson_of_parts_that_a_statement_returns(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    connection.execute("CREATE TABLE cli_spans (spans interval[], n int)")
    try:
        sql = "INSERT INTO cli_spans VALUES (ARRAY[$1::interval], 7) RETURNING spans, n"
        done = run(dsn, "query", sql, "1 mon", "--format", "ndjson")
        assert done.stdout == '{"spans":["1 mon"],"n":7}\n', done.stderr
        assert connection.fetchval("SELECT count(*) FROM cli_spans") == 1
        # A WITH that changes rows must be at the top level.
        within = f"WITH new AS ({sql}) SELECT spans FROM new"
        done = run(dsn, "query", within, "1 mon", "--format", "ndjson")
        assert done.returncode == 1
        assert 'the column "spans"' in done.stderr
        assert "to_json" in done.stderr
        assert connection.fetchval("SELECT count(*) FROM cli_spans") == 1
    finally:
        connection.execute("DROP TABLE cli_spans")


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet", "arrows", "arrow"])
def test_the_name_of_a_file_says_its_format(ending: str, dsn: str, tmp_path: Path) -> None:
    path = tmp_path / f"result.{ending}"
    done = run(dsn, "query", "SELECT 1 AS one, 'two' AS two", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("1 row, ")
    assert list(tmp_path.iterdir()) == [path]
    content = path.read_bytes()
    if ending == "csv":
        assert content == b"one,two\n1,two\n"
    elif ending == "ndjson":
        assert content == b'{"one":1,"two":"two"}\n'
    elif ending == "parquet":
        assert pq.read_table(path).to_pylist() == [{"one": 1, "two": "two"}]
    elif ending == "arrows":
        assert pa.ipc.open_stream(path).read_all().to_pylist() == [{"one": 1, "two": "two"}]
    else:
        assert pa.ipc.open_file(path).read_all().to_pylist() == [{"one": 1, "two": "two"}]


@pytest.mark.parametrize("form", ["csv", "ndjson", "arrow", "feather", "parquet", "table"])
def test_no_rows_are_a_result(form: str, dsn: str, tmp_path: Path) -> None:
    content = run_for_bytes(dsn, "query", "SELECT 1 AS one WHERE false", "--format", form)
    path = tmp_path / "result"
    path.write_bytes(content)
    if form == "csv":
        assert content == b"one\n"
    elif form == "ndjson":
        assert content == b""
    elif form == "arrow":
        assert pa.ipc.open_stream(content).read_all().schema.names == ["one"]
    elif form == "feather":
        assert pyarrow.feather.read_table(path).schema.names == ["one"]
    elif form == "parquet":
        assert pq.read_table(path).schema.names == ["one"]
    else:
        assert content.split() == [b"one"]


def test_values_are_read_as_literals(dsn: str, tmp_path: Path) -> None:
    sql = "SELECT $1::int + 1 AS a, $2::date + 1 AS b, $3::text AS c, $4::int[] AS d"
    words = ("41", "2024-02-28", "x=y", "{1,2}")
    assert run_for_bytes(dsn, "query", sql, *words) == b'a,b,c,d\n42,2024-02-29,x=y,"{1,2}"\n'
    path = tmp_path / "query.sql"
    path.write_text("SELECT :n::int AS n, :t AS t -- the end\n;\n")
    named = ("-p", "n=7", "-p", "t=a=b")
    assert run_for_bytes(dsn, "query", "-f", str(path), *named) == b"n,t\n7,a=b\n"
    for source in (("-",), ("-f", "-")):
        done = run(dsn, "query", *source, *named, stdin=path.read_text())
        assert done.stdout == "n,t\n7,a=b\n", done.stderr
    done = run(dsn, "query", "SELECT $1::int", "no number")
    assert done.returncode == 1
    assert 'invalid input syntax for type integer: "no number"' in done.stderr


def test_wrong_parameters_are_said(dsn: str) -> None:
    for words, told in (
        (("SELECT $1::int",), "the query has 1 parameter, and 0 values came after it"),
        (("SELECT 1", "2"), "the query has 0 parameters, and 1 value came after it"),
        (("SELECT :a", "-p", "b=1"), "there is no value for :a"),
    ):
        done = run(dsn, "query", *words)
        assert done.returncode == 1
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_a_limit_stops_the_query(dsn: str) -> None:
    sql = "SELECT generate_series(1, 100000000) AS n"
    for form in ("csv", "ndjson"):
        text = run_for_bytes(dsn, "query", sql, "--limit", "3", "--format", form).decode()
        assert len(text.splitlines()) == (4 if form == "csv" else 3)
    content = run_for_bytes(dsn, "query", sql, "--limit", "70000", "--format", "arrow")
    assert pa.ipc.open_stream(content).read_all().num_rows == 70_000


@pytest.mark.parametrize("form", ["csv", "ndjson", "arrow", "table"])
def test_what_a_limit_cuts_is_undone(
    form: str, dsn: str, connection: colonnade.sync.Connection
) -> None:
    connection.execute("CREATE TABLE cli_limited (n int)")
    sql = "INSERT INTO cli_limited SELECT generate_series(1, 10) RETURNING n"
    count = "SELECT count(*) FROM cli_limited"
    try:
        run_for_bytes(dsn, "query", sql, "--limit", "11", "--format", form)
        assert connection.fetchval(count) == 10
        for limit in ("3", "10"):
            run_for_bytes(dsn, "query", sql, "--limit", limit, "--format", form)
        assert connection.fetchval(count) == 10
    finally:
        connection.execute("DROP TABLE cli_limited")


def test_a_command_says_its_status(dsn: str, connection: colonnade.sync.Connection) -> None:
    done = run(dsn, "query", "CREATE TABLE cli_made (a int)")
    try:
        assert done.returncode == 0
        assert done.stdout == ""
        assert done.stderr.startswith("CREATE TABLE, ")
        done = run(dsn, "query", "INSERT INTO cli_made VALUES (1), (2)")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("INSERT 0 2, ")
        # Rows are the result of this one, and stand alone in a pipe.
        done = run(dsn, "query", "UPDATE cli_made SET a = 1 WHERE a = 1 RETURNING a")
        assert (done.stdout, done.stderr) == ("a\n1\n", "")
        assert connection.fetchval("SELECT count(*) FROM cli_made") == 2
        done = run(dsn, "query", "DROP TABLE cli_made", "-o", "x.csv")
        assert done.returncode == 1
        assert "was not run" in done.stderr
    finally:
        connection.execute("DROP TABLE cli_made")


def test_timing_goes_to_stderr(dsn: str) -> None:
    done = run(dsn, "query", "SELECT 1 AS one", "--timing")
    assert done.stdout == "one\n1\n"
    for word in ("1 row", "server wait", "transfer", "decode", "bytes"):
        assert word in done.stderr


# On a terminal


def test_a_table_fits_its_terminal(dsn: str) -> None:
    sql = "SELECT i AS n, 'x' || repeat('y', 100) AS long, NULL::text AS nothing, 1.5 AS price"
    shown = run_on_terminal(dsn, "query", f"{sql} FROM generate_series(9, 10) i", width=60)
    assert shown.status == 0, shown.err
    lines = plain(shown.out).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in lines)
    # Numbers are right-aligned, NULL is visible, and cut values are marked.
    assert lines[1].startswith(" 9")
    assert lines[2].startswith("10")
    assert "NULL" in lines[1]
    assert "…" in lines[1]
    assert shown.err.startswith("2 rows, ")
    assert "\x1b[" in shown.out


def test_no_colour_where_none_is_wanted(dsn: str) -> None:
    sql = "SELECT 1 AS one, NULL AS nothing"
    shown = run_on_terminal(dsn, "query", sql, env={"NO_COLOR": "1"})
    assert not {part for code in codes(shown.out) for part in code.split(";")} & COLOURS
    piped = run_for_bytes(dsn, "query", sql, "--format", "table").decode()
    assert piped.split() == ["one", "nothing", "1", "NULL"]


def test_what_no_line_holds_is_shown_as_records(dsn: str) -> None:
    columns = ", ".join(f"{i} AS column_number_{i}" for i in range(20))
    shown = run_on_terminal(dsn, "query", f"SELECT {columns}", width=80)
    lines = plain(shown.out).splitlines()
    assert lines[0].strip() == "row 1"
    assert lines[1].split() == ["column_number_0", "0"]
    assert len(lines) == 21


def test_a_table_shows_the_first_rows_and_counts_all(dsn: str) -> None:
    sql = "SELECT generate_series(1, 100000) AS n"
    shown = run_on_terminal(dsn, "query", sql)
    assert len(plain(shown.out).splitlines()) == 101
    assert shown.err.startswith("first 100 of 100,000 rows")
    shown = run_on_terminal(dsn, "query", sql, "--max-rows", "5")
    assert len(plain(shown.out).splitlines()) == 6
    shown = run_on_terminal(dsn, "query", sql, "--limit", "7")
    assert shown.err.startswith("7 rows")
    shown = run_on_terminal(dsn, "query", "SELECT generate_series(1, 150)", "--max-rows", "0")
    assert len(plain(shown.out).splitlines()) == 151


def test_a_table_has_the_same_name_twice(dsn: str) -> None:
    piped = run_for_bytes(dsn, "query", "SELECT 1 AS a, 2 AS a", "--format", "table").decode()
    assert piped.split() == ["column_1", "column_2", "1", "2"]
    done = run(dsn, "query", "SELECT 1 AS a, 2 AS a", "--format", "ndjson")
    assert done.returncode == 1
    assert 'several columns have the name "a"' in done.stderr


def test_a_value_cannot_command_the_terminal(dsn: str) -> None:
    sql = r"SELECT E'\x1b[2Jgone\r\n' AS evil"
    shown = run_on_terminal(dsn, "query", sql)
    assert "\x1b[2J" not in shown.out
    assert r"\x1b[2Jgone\r\n" in shown.out


def test_binary_formats_are_not_for_terminals(dsn: str) -> None:
    shown = run_on_terminal(dsn, "query", "SELECT 1", "--format", "parquet")
    assert shown.status == 2
    assert "is a binary format" in shown.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((r"\d",), "a psql command"),
        (("pg_class",), """read a table with a query: 'SELECT * FROM "pg_class"'"""),
        (("select 1; select 2",), "the text has several statements"),
        (("select $1::int", "-1"), "put -- before negative values"),
        (("select $1::float8", "-.5"), "put -- before negative values"),
    ],
)
def test_what_was_meant_is_said(dsn: str, words: tuple[str, ...], hint: str) -> None:
    done = run(dsn, "query", *words)
    assert done.returncode != 0
    assert hint in done.stderr
    assert "prepared statement" not in done.stderr


def test_a_negative_value_behind_two_dashes(dsn: str) -> None:
    assert run_for_bytes(dsn, "query", "select $1::int", "--", "-1") == b"int4\n-1\n"
    assert "No such option" in run(dsn, "query", "select 1", "--tiemout").stderr


COLOURS = {str(base + colour) for base in (30, 40, 90, 100) for colour in range(10)}


def codes(text: str) -> list[str]:
    return [part.split("m")[0] for part in text.split("\x1b[")[1:]]


def plain(text: str) -> str:
    """The text without colours."""
    first, *others = text.split("\x1b[")
    return first + "".join(part.partition("m")[2] for part in others)


@pytest.mark.parametrize("null", [",", '"', "a,b", "\n"])
def test_a_text_of_null_that_no_reader_could_tell(dsn: str, null: str) -> None:
    done = run(dsn, "query", "SELECT NULL", "--null", null)
    assert done.returncode == 2
    assert "null must not contain the delimiter, a quote" in done.stderr
