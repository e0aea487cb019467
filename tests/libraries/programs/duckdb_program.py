"""DuckDB: results of an ADBC connection as its relations, and its relations as tables."""

from __future__ import annotations

import duckdb

from tests.libraries.answers import DRIVER, DSN, answer, answer_error

if DRIVER == "usual":
    from adbc_driver_postgresql import dbapi as adbc
else:
    from colonnade import adbc


def ask(query: str) -> duckdb.DuckDBPyRelation:
    """The relation of a query, whose tables are variables of this module."""
    relation = duckdb.sql(query)
    assert relation is not None
    return relation


with adbc.connect(DSN) as connection, connection.cursor() as cursor:
    made = ask(
        "SELECT range AS id, range / 8 AS price, 'row ' || range AS name,"
        " TIMESTAMP '2024-02-29' + to_hours(range) AS moment, range % 2 = 0 AS good,"
        " nullif(range % 3, 0) AS gap FROM range(1000)"
    )
    answer("written", cursor.adbc_ingest("things", made.to_arrow_table(), mode="create"))
    connection.commit()
    cursor.execute("SELECT * FROM things ORDER BY id")
    things = cursor.fetch_arrow_table()
    answer("columns", things.column_names)
    answer("types", ask("SELECT * FROM things").types)
    answer("rows", ask("SELECT * FROM things LIMIT 10").fetchall())
    answer(
        "grouped",
        ask(
            "SELECT good, count(gap), sum(price), max(moment) FROM things"
            " GROUP BY good ORDER BY good"
        ).fetchall(),
    )
    cursor.execute("SELECT id FROM things WHERE id > $1 ORDER BY id", (990,))
    later = cursor.fetch_arrow_table()
    answer("joined", ask("SELECT sum(price) FROM things JOIN later USING (id)").fetchall())
    answer_error("no such table", lambda: cursor.execute("SELECT * FROM no_such_table"))
    connection.rollback()
