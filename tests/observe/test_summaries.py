"""Summaries of statements: operations and tables, never a value."""

from __future__ import annotations

import pytest

from colonnade.observe.metrics.summaries import OTHER, Summaries, summary_of

SUMMARIES = {
    "SELECT 1": "SELECT",
    "  -- note\n select * from Flights where id = 5": "SELECT flights",
    "SELECT * FROM a x, b AS y JOIN public.c USING (id), d": "SELECT a b public.c d",
    'SELECT * FROM "Big Table" WHERE "name" = \'from secret\'': "SELECT Big Table",
    "SELECT EXTRACT(year FROM day), TRIM(BOTH 'x' FROM t.y) FROM t": "SELECT t",
    "SELECT a IS DISTINCT FROM b FROM t": "SELECT t",
    "SELECT * FROM (SELECT * FROM inner_one) AS s WHERE EXISTS (SELECT 1 FROM other_one)": (
        "SELECT inner_one SELECT other_one"
    ),
    "SELECT * FROM generate_series(1, 10) AS n": "SELECT generate_series",
    "SELECT * FROM ONLY parent FOR UPDATE OF parent": "SELECT parent",
    "INSERT INTO t (a, b) VALUES (1, 'FROM x')": "INSERT t",
    "INSERT INTO t SELECT * FROM s ON CONFLICT (id) DO UPDATE SET a = 1": "INSERT t SELECT s",
    "UPDATE t SET a = 'x' FROM u WHERE t.id = u.id": "UPDATE t u",
    "DELETE FROM t USING u WHERE true": "DELETE t u",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1": "MERGE t s",
    "WITH recent AS (SELECT * FROM orders), old AS NOT MATERIALIZED (SELECT * FROM archive) "
    "SELECT * FROM recent, old, customers": "WITH SELECT orders SELECT archive SELECT customers",
    "WITH RECURSIVE tree (id) AS (SELECT id FROM nodes UNION SELECT 1 FROM tree) TABLE tree": (
        "WITH SELECT nodes SELECT"
    ),
    "COPY t (a, b) FROM STDIN": "COPY t",
    "COPY (SELECT * FROM t) TO STDOUT": "COPY SELECT t",
    "CREATE TABLE IF NOT EXISTS s.t (a int)": "CREATE s.t",
    "CREATE INDEX ON t USING gin (a)": "CREATE",
    "TRUNCATE a, b": "TRUNCATE a b",
    "FETCH FORWARD 50 FROM cursor_17": "FETCH",
    "SET application_name = 'secret'": "SET",
    "SELECT $$ FROM hidden $$ FROM t WHERE a = $1": "SELECT t",
    "": "QUERY",
    "SELECT * FROM": "SELECT",
    'SELECT * FROM "a\ud800", b\udc80': "SELECT a\\ud800 b",
    "SELECT * FROM a.": "SELECT a",
    ")))": "QUERY",
}


@pytest.mark.parametrize(("text", "summary"), SUMMARIES.items())
def test_a_summary_names_operations_and_tables(text: str, summary: str) -> None:
    assert summary_of(text) == summary


def test_a_summary_is_short() -> None:
    many = "SELECT * FROM " + ", ".join(f"table_{number}" for number in range(1000))
    assert summary_of(many).split() == ["SELECT", *(f"table_{number}" for number in range(11))]
    long = f'SELECT * FROM "{"x" * 400}"'
    assert summary_of(long) == "SELECT"


def test_their_number_is_bounded() -> None:
    summaries = Summaries(2)
    seen = [summaries.of(f"SELECT * FROM t{number}") for number in range(5)]
    assert seen == ["SELECT t0", "SELECT t1", OTHER, OTHER, OTHER]
    assert summaries.of("SELECT * FROM t1 WHERE a = 1") == "SELECT t1"
    assert summaries.of("SELECT * FROM t9" + " " * 10_000) == OTHER
