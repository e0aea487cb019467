"""A query that may have other rows each time it runs is not read in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import parallel, sync
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MADE = """
CREATE TABLE agreed AS SELECT g AS id, g % 10 AS k,
    timestamptz '2024-01-01' + g * interval '1 ms' AS at FROM generate_series(1, 5000) AS g;
CREATE INDEX ON agreed (id);
ANALYZE agreed;
CREATE VIEW agreed_some AS SELECT * FROM agreed LIMIT 10;
CREATE FUNCTION agreed_steady(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION agreed_any(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION agreed_draw(int) RETURNS int IMMUTABLE LANGUAGE plpgsql
    AS 'BEGIN RETURN CASE WHEN random() < 0.5 THEN $1 END; END';
"""
_DROPPED = """
DROP VIEW agreed_some; DROP TABLE agreed;
DROP FUNCTION agreed_steady, agreed_any, agreed_draw
"""


@pytest.fixture(scope="module", autouse=True)
def made(dsn: str) -> Iterator[None]:
    with sync.connect(dsn) as connection:
        connection.execute(_MADE)
    yield
    with sync.connect(dsn) as connection:
        connection.execute(_DROPPED)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT id FROM agreed LIMIT 200", "LIMIT"),
        ("SELECT id FROM agreed ORDER BY id FETCH FIRST 9 ROWS ONLY", "LIMIT"),
        ("SELECT id FROM agreed OFFSET 9", "LIMIT"),
        ("SELECT * FROM agreed_some", "LIMIT"),
        ("agreed_some", "LIMIT"),
        ("SELECT id FROM agreed WHERE id > (SELECT k FROM agreed LIMIT 1)", "LIMIT"),
        ("SELECT DISTINCT ON (k) k, id FROM agreed", "DISTINCT ON"),
        ("SELECT DISTINCT /* ' */ ON (k) k, id FROM agreed -- '", "DISTINCT ON"),
        ("SELECT id FROM agreed TABLESAMPLE system (10)", "TABLESAMPLE"),
        ("SELECT id, now() - at AS age FROM agreed", r"now\(\)"),
        ("SELECT id, age(at) FROM agreed", "CURRENT_DATE"),
        ("SELECT id FROM agreed WHERE at < LOCALTIMESTAMP", "LOCALTIMESTAMP"),
        ("SELECT id, pg_backend_pid() FROM agreed", "pg_backend_pid"),
        ("SELECT id, random() AS r FROM agreed", r"random\(\) is volatile"),
        ("SELECT id FROM agreed WHERE agreed_any(k) = 1", r"agreed_any\(\) is volatile"),
        ("SELECT id, row_number() OVER (ORDER BY k) FROM agreed", "row_number"),
    ],
)
def test_refused_with_the_reason(dsn: str, query: str, why: str) -> None:
    with pytest.raises(InterfaceError, match=f"each part would run.*{why}") as caught:
        parallel.sync.read(query, dsn, partition_by="id")
    assert "CREATE TABLE" in str(caught.value.hint)
    # One part is a single read.
    parallel.sync.read(query, dsn, partition_by="id", parts=1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, agreed_steady(k) AS k, to_char(at, 'YYYY'), lower('A') FROM agreed",
        "SELECT id, 'now() LIMIT 1 CURRENT_DATE' AS \"random()\", 'it''s DISTINCT ON' FROM agreed",
        "SELECT id FROM agreed WHERE id < (SELECT max(id) FROM agreed) -- DISTINCT ON",
        "SELECT id, rank() OVER (ORDER BY k), count(*) OVER (PARTITION BY k) FROM agreed",
        "SELECT DISTINCT k AS id FROM agreed",
        "SELECT id FROM agreed TABLESAMPLE system (10) REPEATABLE (3)",
        "SELECT id FROM agreed a WHERE EXISTS (SELECT FROM agreed b WHERE b.id = a.k LIMIT 1)",
    ],
)
def test_what_has_the_same_rows_each_time(dsn: str, query: str) -> None:
    with sync.connect(dsn) as connection:
        expected = connection.fetch_columns(query)["id"].tolist()
    assert parallel.sync.read(query, dsn, partition_by="id")["id"].tolist() == sorted(expected)


def test_a_function_that_is_declared_wrongly_is_counted(dsn: str) -> None:
    query = "SELECT id FROM agreed WHERE agreed_draw(k) IS NOT NULL"
    with pytest.raises(InterfaceError, match="rows when they were counted"):
        parallel.sync.read(query, dsn, partition_by="id", parts=6)
