"""Results as columns by ADBC's method names, and ingesting columns into tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade import dbapi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERY = "SELECT n, n * 1.5::float8 AS x, 'text ' || n AS t FROM generate_series(1, %s) AS n"
TABLE = pa.table({"n": pa.array([1, 2, 3], pa.int64()), "t": ["a", None, "c"]})


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    """A separate schema for the test."""
    with dbapi.connect(dsn, autocommit=True) as setup:
        setup.execute("DROP SCHEMA IF EXISTS dbapi_s CASCADE; CREATE SCHEMA dbapi_s")
        yield "dbapi_s"
        setup.execute("DROP SCHEMA dbapi_s CASCADE")


@pytest.mark.parametrize("rows", [0, 3, 20_000])
def test_the_whole_result_in_columns(conn: dbapi.Connection, rows: int) -> None:
    cur = conn.cursor()
    readings: list[Callable[[], Any]] = [
        cur.fetch_arrow_table,
        cur.fetchallarrow,
        lambda: cur.fetch_record_batch().read_all(),
        lambda: pa.table(cur.fetch_arrow()),
        lambda: pa.table(cur.fetch_polars()),
        lambda: pa.Table.from_pandas(cur.fetch_df(), preserve_index=False),
    ]
    plain = cur.execute(QUERY, (rows,)).fetchall()
    for read in readings:
        cur.execute(QUERY, (rows,))
        assert cur.rowcount == rows
        table = read()
        assert table.column_names == ["n", "x", "t"]
        assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == plain
        assert cur.fetchone() is None
    assert isinstance(cur.execute(QUERY, (1,)).fetch_polars(), pl.DataFrame)
    assert isinstance(cur.execute(QUERY, (1,)).fetch_df(), pd.DataFrame)
    columns = cur.execute(QUERY, (2,)).fetch_columns(schema={"n": "int64"})
    assert columns["n"].dtype == np.int64
    cur.execute(QUERY, (2,))
    with pytest.raises(dbapi.ProgrammingError, match="float32"):
        cur.fetch_columns(schema={"x": "float32"})
    assert len(cur.fetchall()) == 2


def test_columns_are_of_the_whole_result(conn: dbapi.Connection) -> None:
    cur = conn.execute(QUERY, (3,))
    cur.fetchone()
    with pytest.raises(dbapi.ProgrammingError, match="run the query again"):
        cur.fetch_arrow_table()
    assert len(cur.fetchall()) == 2
    with pytest.raises(dbapi.ProgrammingError, match="no rows"):
        conn.execute("CREATE TEMP TABLE t (n int)").fetch_arrow_table()


def test_rows_and_columns_in_turns(conn: dbapi.Connection) -> None:
    cur = conn.cursor()
    for _ in range(3):
        assert cur.execute("SELECT ARRAY[1], '{\"a\": 1}'::jsonb").fetchall() == [([1], '{"a": 1}')]
        assert cur.execute("SELECT 1 AS a").fetch_arrow_table().to_pylist() == [{"a": 1}]


def test_the_schema_of_a_query(conn: dbapi.Connection) -> None:
    found = conn.cursor().adbc_execute_schema(QUERY, (3,))
    assert found.names == ["n", "x", "t"]
    assert found.field("x").type == pa.float64()


@pytest.mark.parametrize("mode", ["create", "replace", "create_append"])
def test_ingesting(
    conn: dbapi.Connection, schema: str, mode: Literal["create", "replace", "create_append"]
) -> None:
    cur = conn.cursor()
    assert cur.adbc_ingest("t", TABLE, mode, db_schema_name=schema) == 3
    assert cur.adbc_ingest("t", TABLE.to_reader(), "append", db_schema_name=schema) == 3
    if mode == "create":
        with pytest.raises(dbapi.ProgrammingError):
            cur.adbc_ingest("t", TABLE, mode, db_schema_name=schema)
    else:
        cur.adbc_ingest("t", TABLE, mode, db_schema_name=schema)
    found = cur.execute(f"SELECT n, t FROM {schema}.t").fetch_arrow_table()
    assert found.num_rows == {"create": 6, "replace": 3, "create_append": 9}[mode]
    assert found.slice(0, 3).to_pylist() == TABLE.to_pylist()
    conn.rollback()
    assert conn.execute("SELECT to_regclass('dbapi_s.t')").fetchone() == (None,)


def test_a_value_without_a_place_loses_the_result(conn: dbapi.Connection) -> None:
    cur = conn.execute(
        "SELECT CASE WHEN n = 3 THEN 'infinity'::date END FROM generate_series(1,5) n"
    )
    with pytest.raises(dbapi.DataError, match="infinity"):
        cur.fetch_columns()
    for ask in (cur.fetchone, cur.fetchall, cur.fetch_columns):
        with pytest.raises(dbapi.InterfaceError, match="Run the query again"):
            ask()
    assert conn.execute("SELECT 1").fetchall() == [(1,)]


def test_what_cannot_be_ingested(conn: dbapi.Connection, schema: str) -> None:
    cur = conn.cursor()
    with pytest.raises(dbapi.ProgrammingError, match="no table"):
        cur.adbc_ingest("t", TABLE, "append", db_schema_name=schema)
    with pytest.raises(dbapi.NotSupportedError):
        cur.adbc_ingest("t", TABLE, catalog_name="elsewhere")
    with pytest.raises(dbapi.ProgrammingError, match="mode"):
        cur.adbc_ingest("t", TABLE, "upsert")  # type: ignore[arg-type]
    with pytest.raises(dbapi.ProgrammingError, match="temporary"):
        cur.adbc_ingest("t", TABLE, db_schema_name=schema, temporary=True)
    conn.rollback()


def test_a_temporary_table(conn: dbapi.Connection) -> None:
    cur = conn.cursor()
    assert cur.adbc_ingest("t", TABLE, temporary=True) == 3
    assert cur.execute("SELECT sum(n) FROM pg_temp.t").fetchone() == (6,)


def test_what_a_database_has(conn: dbapi.Connection, schema: str, dsn: str) -> None:
    conn.execute(
        f"CREATE TABLE {schema}.a (id int PRIMARY KEY, name text NOT NULL DEFAULT 'x');"
        f"CREATE TABLE {schema}.b (a_id int REFERENCES {schema}.a (id), CHECK (a_id > 0));"
        f"CREATE VIEW {schema}.v AS SELECT 1 AS one; COMMENT ON COLUMN {schema}.a.id IS 'key'"
    )
    conn.commit()
    reader = conn.adbc_get_objects(db_schema_filter=schema)
    with adbc.connect(dsn) as peer:
        theirs = peer.adbc_get_objects(db_schema_filter=schema).read_all()
    found = reader.read_all()
    assert found.schema.names == theirs.schema.names
    ours = {row["catalog_name"]: row["catalog_db_schemas"] for row in found.to_pylist()}
    (only,) = ours["postgres"]
    tables = {table["table_name"]: table for table in only["db_schema_tables"]}
    assert {name: table["table_type"] for name, table in tables.items()} == {
        "a": "table",
        "b": "table",
        "v": "view",
    }
    first = tables["a"]["table_columns"][0]
    assert (first["column_name"], first["ordinal_position"], first["remarks"]) == ("id", 1, "key")
    kinds = {each["constraint_type"]: each for each in tables["b"]["table_constraints"]}
    assert set(kinds) == {"FOREIGN KEY", "CHECK"}
    assert kinds["FOREIGN KEY"]["constraint_column_usage"][0]["fk_table"] == "a"

    def names(**options: Any) -> list[str]:
        rows = conn.adbc_get_objects(**options).read_all().to_pylist()
        return [
            table["table_name"]
            for row in rows
            for each in row["catalog_db_schemas"] or ()
            for table in each["db_schema_tables"] or ()
        ]

    assert names(depth="tables", db_schema_filter=schema) == ["a", "b", "v"]
    assert names(db_schema_filter=schema, table_types_filter=["view"]) == ["v"]
    assert names(db_schema_filter=schema, table_name_filter="a%") == ["a"]
    assert names(depth="catalogs") == names(depth="db_schemas") == []
    assert conn.adbc_get_table_schema("a", db_schema_filter=schema).names == ["id", "name"]
    assert {"table", "view"} <= set(conn.adbc_get_table_types())
    assert conn.adbc_get_info()["vendor_name"] == "PostgreSQL"
    conn.rollback()
