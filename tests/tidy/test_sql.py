"""The package's own SQL names the schema of everything it uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import sql_texts
from tests.support.sql_texts import Text, unqualified

ROOT = Path(__file__).resolve().parents[2]

# (file, beginning of the text) -> the reason why it may depend on the search path.
EXCEPTIONS = {
    ("colonnade/cli/demo/flights.py", "\n    SELECT f.time_hour"): (
        "shown to people; runs where the search path is PostgreSQL's own"
    ),
    ("colonnade/cli/export/command.py", "colonnade export"): "examples of the command line",
    ("colonnade/cli/query/command.py", "colonnade query"): "examples of the command line",
    ("crates/python/src/record/methods.rs", "values($self"): "the signature of a method",
    ("colonnade/jobs/_layouts/staging.py", "CREATE TEMPORARY TABLE pg_temp.\x00 (LIKE"): (
        "no operator"
    ),
    ("colonnade/jobs/_layouts/staging.py", "CREATE UNLOGGED TABLE \x00 (LIKE"): (
        "no operator, and no types"
    ),
}
# Files whose SQL must be found, or else the search is broken.
SEEN = {
    "colonnade/_driver/_async/codecs.py",
    "colonnade/_driver/_async/copy_records.py",
    "colonnade/_driver/_async/reset.py",
    "colonnade/_driver/sql/written_tables.py",
    "colonnade/_driver/copy_plan.py",
    "colonnade/adbc/driver.py",
    "colonnade/cli/doctor/server.py",
    "colonnade/cli/importing/csv_files.py",
    "colonnade/cli/importing/destination.py",
    "colonnade/cli/importing/ndjson_files.py",
    "colonnade/dbapi/catalog.py",
    "colonnade/dbapi/two_phase.py",
    "colonnade/parallel/cuts.py",
    "colonnade/pytest_plugin/_databases.py",
    "colonnade/sqlalchemy/_connection.py",
    "crates/session/src/exchange/introspect.rs",
}

BAD = [
    "SELECT oid FROM pg_catalog.pg_class WHERE oid = 1",
    "SELECT 1::pg_catalog.oid <> 0",
    "SELECT version()",
    "SELECT pg_catalog.max(x), count(*) FROM \x00",
    "SELECT * FROM pg_class",
    "SELECT * FROM pg_catalog.pg_class c, pg_type t",
    "SELECT x::text FROM \x00",
    "SELECT x::text[] FROM \x00",
    'SELECT x::"char" FROM \x00',
    "SELECT 'array_in'::pg_catalog.regproc",
    "SELECT CAST(x AS text) FROM \x00",
    "SELECT date '2024-01-01'",
    "SELECT x FROM \x00 WHERE x IN (1, 2)",
    "SELECT x FROM \x00 WHERE x NOT IN (1, 2)",
    "SELECT x FROM \x00 WHERE x = ANY ($1)",
    "SELECT x FROM \x00 WHERE x BETWEEN 1 AND 2",
    "SELECT x FROM \x00 WHERE x LIKE $1",
    "SELECT x FROM \x00 WHERE x IS DISTINCT FROM 1",
    "SELECT CASE x WHEN 1 THEN 2 END FROM \x00",
    "SELECT nullif(x, 1) FROM \x00",
    "SELECT x FROM \x00 JOIN \x00 USING (x)",
    "SELECT x FROM \x00 NATURAL JOIN \x00",
    "SELECT x FROM \x00 WHERE (x, y) = (1, 2)",
    "SELECT x FROM \x00 ORDER BY x USING <",
    "SELECT x || 'a' FROM \x00",
    "SELECT -x FROM \x00",
    "SELECT x -1 FROM \x00",
    "SELECT x * 2 FROM \x00",
    "SELECT x OPERATOR(*) 2 FROM \x00",
    "SELECT x FROM \x00 WHERE \x00 = \x00",
    "UPDATE \x00 SET x = 1 WHERE y = 2",
    "SELECT * FROM \x00 TABLESAMPLE system (1)",
    "CREATE TABLE \x00 (a bigint, b text)",
    "CREATE TEMPORARY TABLE pg_temp.x (a json, b bigint)",
    "ALTER TABLE \x00 ADD \x00 text",
    "EXPLAIN SELECT x > 1 FROM \x00",
    "\x00 >= \x00 OR x IS NULL",
    "NULL::text",
]
GOOD = [
    "SELECT 1",
    "SELECT *, t.* FROM \x00 AS t",
    "SELECT x OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]) FROM \x00",
    "SELECT pg_catalog.count(*), -1, coalesce(x, -1) FROM \x00",
    "SELECT x FROM \x00 WHERE x OPERATOR(pg_catalog.<>) -1 AND y IS NOT NULL ORDER BY x DESC",
    "SELECT x::bigint, 'a = b', \"x = y\" FROM \x00 -- a = b\n",
    "SELECT CASE WHEN x THEN 1 ELSE -1 END FROM \x00",
    "SELECT 'pg_catalog.array_in'::pg_catalog.regproc",
    "WITH RECURSIVE w (x) AS (VALUES (1) UNION SELECT x FROM w) SELECT x FROM w",
    "SELECT x FROM (VALUES (1, 2)) AS v (x, y)",
    "SELECT k.n FROM pg_catalog.unnest(a) WITH ORDINALITY k (n, place)",
    "INSERT INTO \x00 (a, b) SELECT \x00 ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b",
    "CREATE TABLE \x00 (a bigint, b pg_catalog.text)",
    "COPY \x00 FROM STDIN (FORMAT binary)",
    "SELECT * FROM \x00 TABLESAMPLE pg_catalog.system (1)",
]
NO_SQL = [
    "select",
    "the table has no column",
    "Select its columns.",
    "in: a = b",
    "UPDATE",
    "a :: b",
]


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    """All SQL of the package, without the generated blocking half."""
    found = []
    for path in sorted((ROOT / "colonnade").rglob("*.py")):
        if "_sync" not in path.parts:
            found += sql_texts.of_python(path, path.relative_to(ROOT).as_posix())
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if path.name != "tests.rs" and "fuzzing" not in path.parts:
            found += sql_texts.of_rust(path, path.relative_to(ROOT).as_posix())
    return found


def row_of(text: Text) -> tuple[str, str] | None:
    """The row of the table of exceptions for a text."""
    rows = (row for row in EXCEPTIONS if row[0] == text.file and text.sql.startswith(row[1]))
    return next(rows, None)


def test_all_of_it_says_its_schemas(texts: list[Text]) -> None:
    left = [(text, what) for text in texts if (what := unqualified(text.sql))]
    refused = [
        f"{text.file}:{text.line}: {', '.join(what)}" for text, what in left if not row_of(text)
    ]
    assert not refused, "\n".join(refused)
    used = {row_of(text) for text, _ in left}
    assert not EXCEPTIONS.keys() - used, "an exception that is not needed any more"


def test_the_search_finds_the_sql_of_every_file(texts: list[Text]) -> None:
    assert not SEEN - {text.file for text in texts if sql_texts.is_statement(text.sql)}


def test_each_schema_that_is_left_out_is_noticed(texts: list[Text]) -> None:
    missed = []
    for text in texts:
        if not sql_texts.is_statement(text.sql) or row_of(text):
            continue
        for match in re.finditer(r"pg_catalog\.(?!\x00)", text.sql):
            without = text.sql[: match.start()] + text.sql[match.end() :]
            if not unqualified(without):
                missed.append(f"{text.file}:{text.line}: {without[match.start() - 20 :][:60]}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("sql", BAD)
def test_what_leaves_something_to_the_search_path(sql: str) -> None:
    assert sql_texts.is_sql(sql)
    assert unqualified(sql)


@pytest.mark.parametrize("sql", GOOD)
def test_what_leaves_nothing_to_it(sql: str) -> None:
    assert sql_texts.is_sql(sql)
    assert unqualified(sql) == []


@pytest.mark.parametrize("text", NO_SQL)
def test_what_is_no_sql(text: str) -> None:
    assert not sql_texts.is_sql(text)


def test_texts_are_found_in_both_languages(tmp_path: Path) -> None:
    python = tmp_path / "a.py"
    python.write_text(
        '"""SELECT 1 = 2"""\nA = f"SELECT {x} = 1"\nB = "SELECT {y}::text"\n', "utf-8"
    )
    found = sql_texts.of_python(python, "a.py")
    assert [(text.line, text.sql) for text in found] == [
        (2, "SELECT \x00 = 1"),
        (3, "SELECT \x00::text"),
    ]
    rust = tmp_path / "a.rs"
    rust.write_text(
        '// "SELECT 0"\nconst A: &str = "\\\nSELECT \'\\"\' = \\\n  1";\nlet b = r#"SELECT "x""#;\n'
        '#[cfg(test)]\nmod tests { const C: &str = "SELECT 3"; }\n',
        "utf-8",
    )
    found = sql_texts.of_rust(rust, "a.rs")
    assert [(text.line, text.sql) for text in found] == [
        (2, "SELECT '\"' = 1"),
        (5, 'SELECT "x"'),
    ]
