"""`colonnade import`: exported data come back, and nothing is written partially."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.program import run, run_on_terminal, started, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import colonnade.sync

TABLE = "cli_imported"


@pytest.fixture(autouse=True)
def no_table(connection: colonnade.sync.Connection) -> Iterator[None]:
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    yield
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def types_of(connection: colonnade.sync.Connection, table: str) -> dict[str, str]:
    rows = connection.fetch(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        table,
    )
    return {row[0]: row[1] for row in rows}


def is_the_same(connection: colonnade.sync.Connection, one: str, other: str) -> bool:
    """Whether two tables have the same rows, compared as text, in any order."""
    differing = connection.fetchval(
        f"SELECT count(*) FROM (SELECT x::text, count(*) FROM {one} x GROUP BY 1 "
        f"EXCEPT SELECT x::text, count(*) FROM {other} x GROUP BY 1) AS d"
    )
    (sizes,) = connection.fetch(
        f"SELECT (SELECT count(*) FROM {one}), (SELECT count(*) FROM {other})"
    )
    return bool(differing == 0 and sizes[0] == sizes[1])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows", "csv", "ndjson"])
def test_what_was_exported_comes_back(
    ending: str, dsn: str, connection: colonnade.sync.Connection, mixed: str, tmp_path: Path
) -> None:
    path = str(tmp_path / f"table.{ending}")
    assert run(dsn, "export", mixed, "-o", path).returncode == 0
    connection.execute(f"CREATE TABLE {TABLE} (LIKE {mixed})")
    done = run(dsn, "import", path, TABLE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f'2,500 rows into "{TABLE}"')
    assert is_the_same(connection, TABLE, mixed)


def test_a_table_is_made_of_parquet(
    dsn: str, connection: colonnade.sync.Connection, mixed: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "table.parquet")
    assert run(dsn, "export", mixed, "-o", path).returncode == 0
    done = run(dsn, "import", path, TABLE)
    assert done.returncode == 1
    assert "--create" in done.stderr
    done = run(dsn, "import", path, TABLE, "--create", "--type", "label=varchar(50)")
    assert done.returncode == 0, done.stderr
    made = types_of(connection, TABLE)
    assert made == {**types_of(connection, mixed), "label": "character varying(50)", "doc": "jsonb"}


def test_a_table_is_made_of_csv(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "sales.csv"
    path.write_text(
        "id,Day,price,at,ok,note\n"
        '1,2024-02-29,1.50,2024-02-29T12:00:00Z,t,"a\nb"\n'
        '2,2024-03-01,,2024-03-01T12:00:00Z,f,""\n'
    )
    done = run(dsn, "import", str(path), TABLE, "--create", "--type", "price=numeric(9,2)")
    assert done.returncode == 0, done.stderr
    made = "id bigint, Day date, price numeric(9,2), at timestamp with time zone, "
    made += "ok boolean, note text"
    assert f'made "{TABLE}": {made}; for other types: --type' in done.stderr
    assert types_of(connection, TABLE) == {
        "id": "bigint",
        "Day": "date",
        "price": "numeric(9,2)",
        "at": "timestamp with time zone",
        "ok": "boolean",
        "note": "text",
    }
    rows = connection.fetch(f"SELECT price::text, ok, note FROM {TABLE} ORDER BY id")
    assert [tuple(row) for row in rows] == [("1.50", True, "a\nb"), (None, False, "")]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_becomes_of_a_table_that_is_there(
    ending: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = str(tmp_path / f"new.{ending}")
    assert run(dsn, "export", "SELECT 5 AS a", "-o", path).returncode == 0
    connection.execute(f"CREATE TABLE {TABLE} (a int, b text DEFAULT 'x')")
    connection.execute(f"INSERT INTO {TABLE} VALUES (1)")

    def rows() -> list[tuple[object, ...]]:
        return [tuple(row) for row in connection.fetch(f"SELECT * FROM {TABLE} ORDER BY a")]

    done = run(dsn, "import", path, TABLE, "--if-exists", "fail")
    assert done.returncode == 1
    assert "exists" in done.stderr
    assert run(dsn, "import", path, TABLE).returncode == 0
    assert rows() == [(1, "x"), (5, "x")]
    assert run(dsn, "import", path, path, TABLE, "--if-exists", "truncate").returncode == 0
    assert rows() == [(5, "x"), (5, "x")]
    assert run(dsn, "import", path, TABLE, "--if-exists", "replace").returncode == 0
    assert rows() == [(5,)]


@pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson"])
def test_columns_are_renamed_and_left_out(
    ending: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = str(tmp_path / f"new.{ending}")
    sql = "SELECT 1 AS \"The id\", 'x' AS comment, 'n' AS name"
    assert run(dsn, "export", sql, "-o", path).returncode == 0
    connection.execute(f"CREATE TABLE {TABLE} (id int, name text)")
    done = run(dsn, "import", path, TABLE)
    assert done.returncode == 1
    assert f'{path}: the table "{TABLE}" has no column "The id"' in done.stderr
    words = ("--column", "The id=id", "--skip", "comment")
    done = run(dsn, "import", path, f'public."{TABLE}"', *words)
    assert done.returncode == 0, done.stderr
    assert [tuple(row) for row in connection.fetch(f"SELECT * FROM {TABLE}")] == [(1, "n")]
    done = run(dsn, "import", path, TABLE, "--skip", "coment")
    assert done.returncode == 1
    assert 'has no column "coment"' in done.stderr


def test_csv_of_other_kinds(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int, b text)")
    path = tmp_path / "plain"
    path.write_text("\ufeff1|x\nNIL|NIL\n", encoding="utf-8")
    words = ("--format", "csv", "--delimiter", "|", "--null", "NIL", "--no-header")
    done = run(dsn, "import", str(path), TABLE, *words)
    assert done.returncode == 0, done.stderr
    done = run(dsn, "import", "-", TABLE, *words, stdin="7|seven\n")
    assert done.returncode == 0, done.stderr
    rows = connection.fetch(f"SELECT a, b FROM {TABLE} ORDER BY a")
    assert [tuple(row) for row in rows] == [(1, "x"), (7, "seven"), (None, None)]


def test_a_mark_in_front_takes_nothing_from_the_guess(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "large.csv"
    # The file is larger than the sample, whose last row is cut.
    row = "123456789,12\n"
    path.write_text("number,other\n" + row * 330_000, encoding="utf-8-sig")
    done = run(dsn, "import", str(path), TABLE, "--create")
    assert done.returncode == 0, done.stderr
    assert types_of(connection, TABLE) == {"number": "bigint", "other": "bigint"}
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 330_000


def test_ndjson_without_names_and_with_a_mark(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int, b text DEFAULT 'x')")
    contents = ("", '\ufeff{"a": 1}\r\n{"a": 2}\r\n', "{}\n{}\n", "")
    paths = [tmp_path / f"{number}.ndjson" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8", newline="")
    done = run(dsn, "import", *map(str, paths), TABLE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("4 rows into")
    rows = connection.fetch(f"SELECT a, b FROM {TABLE} ORDER BY a")
    assert [tuple(row) for row in rows] == [(1, "x"), (2, "x"), (None, "x"), (None, "x")]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("bad.csv", "a,b\n1,2.5\n2,no\n", 'bad.csv, line 3, column "b": invalid input'),
        ("bad.csv", "a,b\n1,2\n3\n", 'bad.csv, line 3: missing data for column "b"'),
        ("bad.csv", "a,c\n1,2\n", 'bad.csv: the table "cli_imported" has no column "c"'),
        ("bad.csv", "", "bad.csv has no header"),
        ("bad.csv", "a,b\n0,0\n", "violates check constraint"),
        ("bad.ndjson", '{"a": 1}\n{"a": 2, "b": "no"}\n{"a": 3}\n', 'line 2, column "b": invalid'),
        (
            "bad.ndjson",
            '{"a": 1}\n{"a": \n',
            "bad.ndjson, line 2: invalid input syntax for type json",
        ),
        ("bad.ndjson", '{"a": 1}\n[1]\n', "bad.ndjson, line 2: expected a JSON object"),
        ("bad.ndjson", '{"a": 1}\n{"c": 1}\n', 'has no column "c"'),
    ],
)
def test_an_error_names_file_line_and_column(
    *,
    name: str,
    content: str,
    told: str,
    dsn: str,
    connection: colonnade.sync.Connection,
    tmp_path: Path,
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int CHECK (a > 0), b numeric)")
    good = tmp_path / "good.csv"
    good.write_text("a\n1\n")
    path = tmp_path / name
    path.write_text(content)
    done = run(dsn, "import", str(good), str(path), TABLE)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    # The rows of the good file are rolled back, too.
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


def good_lines(count: int) -> str:
    return "".join(f'{{"a": {number}, "t": "ok"}}\n' for number in range(1, count + 1))


FAULTY_LINES = {
    "a lone surrogate": (r'{"t": "x\ud800y"}', "low surrogate must follow"),
    "a lone low surrogate": (r'{"t": "x\udc00y"}', "low surrogate must follow"),
    "a surrogate in json": (r'{"j": ["\ud800"]}', "low surrogate must follow"),
    "a surrogate in jsonb": (r'{"b": {"x": "\ud800"}}', "low surrogate must follow"),
    "a surrogate in an array": (r'{"l": ["\ud800"]}', "low surrogate must follow"),
    "a surrogate in a key": (r'{"\ud800": 1}', "low surrogate must follow"),
    "a NUL": (r'{"t": "x\u0000y"}', "cannot be converted to text"),
    "a NUL in a number": (r'{"a": "\u0000"}', "cannot be converted to text"),
    "a NUL in json": (r'{"j": "\u0000"}', "cannot be converted to text"),
    "a NUL in a key": (r'{"\u0000": 1}', "cannot be converted to text"),
    "a NUL in a key within": (r'{"j": {"\u0000": 1}}', "cannot be converted to text"),
    "a NUL byte": ('{"t": "x\0y"}', "0x00"),
    "a check": ('{"a": -1}', "violates check constraint"),
    "no NULL": ('{"a": null}', "violates not-null constraint"),
    "a key that is there": ('{"a": 2}', "violates unique constraint"),
    "another type": ('{"a": "x"}', 'column "a": invalid input syntax'),
}


@pytest.mark.parametrize("fault", FAULTY_LINES)
def test_every_faulty_line_of_json_is_named(
    fault: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(
        f"CREATE TABLE {TABLE} (a int PRIMARY KEY DEFAULT 0 CHECK (a >= 0), t text, j json, "
        "b jsonb, l text[])"
    )
    line, reason = FAULTY_LINES[fault]
    path = tmp_path / "bad.ndjson"
    more = "".join(f'{{"a": {number}}}\n' for number in range(100, 120))
    path.write_text(good_lines(8) + line + "\n" + more)
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert done.stderr.startswith(f"colonnade: {path}, line 9"), done.stderr
    assert reason in done.stderr
    assert "\0" not in done.stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


def test_an_error_of_no_line_names_none(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int, t text)")
    connection.execute(
        f"CREATE OR REPLACE FUNCTION {TABLE}_refuses() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'closed today'; END $$; "
        f"CREATE TRIGGER refuses BEFORE INSERT ON {TABLE} EXECUTE FUNCTION {TABLE}_refuses()"
    )
    path = tmp_path / "good.ndjson"
    path.write_text(good_lines(3))
    try:
        done = run(dsn, "import", str(path), TABLE)
    finally:
        connection.execute(f"DROP FUNCTION {TABLE}_refuses CASCADE")
    assert done.returncode == 1
    assert done.stderr.startswith(f"colonnade: {path}: closed today"), done.stderr


FAULTY_CSV = {
    "a NUL": (b"1,x\n2,x\0\n", 'bad.csv, line 3: invalid byte sequence for encoding "UTF8": 0x00'),
    "a NUL far away": (b"1,x\n" * 200_000 + b"2,\0\n", "bad.csv, line 200002: invalid byte"),
    "json": (
        b'1,"""\\ud800"""\n',
        'bad.csv, line 2, column "j": invalid input syntax for type json',
    ),
}


@pytest.mark.parametrize("words", [(), ("--skip", "a")])
@pytest.mark.parametrize("fault", FAULTY_CSV)
def test_every_faulty_line_of_csv_is_named(
    fault: str,
    words: tuple[str, ...],
    dsn: str,
    connection: colonnade.sync.Connection,
    tmp_path: Path,
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int, j {'jsonb' if fault == 'json' else 'text'})")
    content, told = FAULTY_CSV[fault]
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,j\n" + content)
    done = run(dsn, "import", str(path), TABLE, *words)
    assert done.returncode == 1
    assert told in done.stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


def test_a_table_is_made_of_a_pipe(dsn: str, connection: colonnade.sync.Connection) -> None:
    """The rows whose types are guessed are imported, too, and so is what comes after them."""
    words = ("import", "-", TABLE, "--create", "--format", "csv")
    done = run(dsn, *words, stdin="number,other\n" + "1,some text in a line\n" * 300_000)
    assert done.returncode == 0, done.stderr
    assert types_of(connection, TABLE) == {"number": "bigint", "other": "text"}
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 300_000


def test_a_column_without_a_name(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(",a\n0,5\n")
    done = run(dsn, "import", str(path), TABLE, "--create")
    assert done.returncode == 1
    assert f"{path}: column 1 has no name" in done.stderr
    assert "or leave the column out: --skip ''" in done.stderr
    done = run(dsn, "import", str(path), TABLE, "--create", "--skip", "")
    assert done.returncode == 0, done.stderr
    assert connection.fetchrow(f"SELECT * FROM {TABLE}") == (5,)


FAULTY_CELLS = {
    "a NUL": ("t", ["x", "x\0y"], 'column "t", row 1, from Utf8 to text: the string has a NUL'),
    "jsonb": ("b", ["1", r'"\ud800"'], 'row 1, column "b": invalid input syntax for type json'),
    "a name": ("t\0", ["x"], "the name of column 1 has a NUL character"),
}


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("fault", FAULTY_CELLS)
def test_every_faulty_cell_is_named(
    fault: str, kind: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (t text, b jsonb)")
    name, values, told = FAULTY_CELLS[fault]
    path = tmp_path / f"bad.{kind}"
    table = pa.table({name: values})
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    for words in ((), ("--if-exists", "replace"))[: 1 if fault == "jsonb" else 2]:
        done = run(dsn, "import", str(path), TABLE, *words)
        assert done.returncode == 1
        assert done.stderr.startswith(f"colonnade: {path}"), done.stderr
        assert told in done.stderr
        assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


def test_a_sample_that_cannot_be_read_has_its_line(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,b\n1,2\n\0\n")
    done = run(dsn, "import", str(path), TABLE, "--create")
    assert done.returncode == 1
    assert f"{path}, line 3" in done.stderr
    assert "\0" not in done.stderr


def test_values_of_parquet_that_do_not_fit(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int2, b text)")
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"a": [1, 2, 70_000]}), path)
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert "wide.parquet" in done.stderr
    assert 'column "a", row 2' in done.stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0
    path.write_bytes(path.read_bytes()[:100])
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert f"{path} cannot be read as parquet" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_leaves_no_row_and_no_table(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "pipe.csv"
    path.write_text("a\n" + "1\n" * 2_000_000)
    # This lock makes the copy wait in the middle of its transaction.
    connection.execute(f"CREATE TABLE {TABLE} (a int); INSERT INTO {TABLE} VALUES (0)")
    transaction = connection.transaction()
    transaction.start()
    connection.execute(f"LOCK TABLE {TABLE} IN SHARE MODE")
    words = ("import", str(path), TABLE, "--if-exists", "replace")
    with started(dsn, *words) as process:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        until(lambda: connection.fetchval(waiting) == 1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert told.strip() == "colonnade: interrupted; no partial output remains"
    transaction.rollback()
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 1


def test_bars_are_for_terminals(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a int)")
    csv_path, parquet_path = tmp_path / "many.csv", tmp_path / "many.parquet"
    csv_path.write_text("a\n" + "1\n" * 1_000_000)
    pq.write_table(pa.table({"a": range(300_000)}), parquet_path)
    shown = run_on_terminal(dsn, "import", str(csv_path), TABLE, width=300)
    assert shown.status == 0, shown.err
    assert "many.csv" in shown.err
    assert "MB" in shown.err
    shown = run_on_terminal(dsn, "import", str(parquet_path), TABLE, width=300)
    assert "of 300,000 rows" in shown.err
    assert "many" not in run(dsn, "import", str(parquet_path), TABLE).stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 1_600_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("import", "-", TABLE), "choose a --format"),
        (("import", "-", TABLE, "--format", "parquet"), "only CSV and NDJSON can come from a pipe"),
        (("import", "none.csv", TABLE), "does not exist"),
        (("import", TABLE), "FILE"),
        (("import", "x.ndjson", "two words"), "is not a table name"),
        (("import", "x.ndjson", TABLE, "--create"), "--create"),
    ],
)
def test_misuse_ends_with_2(words: tuple[str, ...], told: str, dsn: str, tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text(json.dumps({"a": 1}) + "\n")
    done = run(dsn, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def test_blank_lines_of_ndjson_are_no_objects(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (id int)")
    path = tmp_path / "x.ndjson"
    for text in (b'{"id":1}\n{"id":2}\n\n', b'\r\n{"id":3}\r\n\r\n{"id":4}'):
        path.write_bytes(text)
        done = run(dsn, "import", str(path), TABLE)
        assert done.returncode == 0, done.stderr
    assert connection.fetchval(f"SELECT array_agg(id ORDER BY id) FROM {TABLE}") == [1, 2, 3, 4]
    path.write_text('{"id":1}\n\n\n{"id":"x"}\n')
    assert f"{path}, line 4" in run(dsn, "import", str(path), TABLE).stderr


def test_a_key_that_an_object_has_twice(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a text, b text)")
    path = tmp_path / "twice.ndjson"
    path.write_text('{"a": {"x": 1, "x": 2}}\n\n{"a": 1, "b": 2, "\\u0061": 3}\n')
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert "line 3: the object has several values for the key 'a'" in done.stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0
    path.write_text("".join(json.dumps({"a": n, "b": n}) + "\n" for n in range(9)))
    assert run(dsn, "import", str(path), TABLE).returncode == 0
