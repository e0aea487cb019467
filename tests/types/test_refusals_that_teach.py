"""Values and queries that are refused, with what to do instead."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest

import colonnade
from colonnade import dbapi
from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from pathlib import Path

    from colonnade.sync import Connection


@pytest.fixture
def table(link: Connection) -> str:
    link.execute("DROP TABLE IF EXISTS pg_temp.refusing")
    link.execute("CREATE TEMP TABLE refusing (t text, n int8)")
    return "refusing"


def test_half_a_surrogate_pair_names_column_and_row(link: Connection, table: str) -> None:
    for values in (["a", "\ud800"], np.array(["a", "\ud800"], dtype=object)):
        with pytest.raises(EncodeError, match=r'column "t", row 1, from str to text'):
            link.copy_columns_to_table(table, {"t": values})


def test_a_type_of_polars_own_is_not_faulty(link: Connection, table: str) -> None:
    frame = pl.DataFrame({"n": pl.Series([1], dtype=pl.Int128)})
    with pytest.raises(EncodeError, match="cast the column before, such as Polars' Int128") as told:
        link.copy_columns_to_table(table, frame)
    assert "faulty" not in str(told.value)


@pytest.mark.parametrize("source", ["arrow", "polars", "pandas", "list", "halves"])
def test_floats_of_64_bits_go_into_vectors(link: Connection, source: str) -> None:
    if link.fetchval("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'") is None:
        pytest.skip("pgvector is not installed")
    link.execute("CREATE EXTENSION IF NOT EXISTS vector")
    link.execute("CREATE TEMP TABLE IF NOT EXISTS embedded (v vector(2)); TRUNCATE embedded")
    numbers = [0.1, -2.5]
    sources: dict[str, Any] = {
        "arrow": pa.table({"v": pa.array([numbers], pa.list_(pa.float64()))}),
        "polars": pl.DataFrame({"v": [numbers]}),
        "pandas": pd.DataFrame({"v": [numbers]}),
        "list": {"v": [numbers]},
        "halves": {"v": pa.array([numbers], pa.list_(pa.float64(), 2))},
    }
    link.copy_columns_to_table("embedded", sources[source])
    assert link.fetchval("SELECT v::text FROM embedded") == "[0.1,-2.5]"
    with pytest.raises(EncodeError, match=r"1e300|1000000|float4|32 bits"):
        link.copy_columns_to_table("embedded", pa.table({"v": [[1e300, 1.0]]}))


def test_a_codec_is_named_by_the_schema_that_it_prevents(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection:
        query = "SELECT 1.5::numeric AS x"
        assert connection.fetch_columns(query, schema={"x": "float64"})["x"].tolist() == [1.5]
        connection.set_type_codec(
            "numeric", encoder=str, decoder=float, schema="pg_catalog", format="text"
        )
        with pytest.raises(SchemaError, match="this connection has a codec for the type"):
            connection.fetch_columns(query, schema={"x": "float64"})
        connection.reset_type_codec("numeric", schema="pg_catalog")
        with pytest.raises(SchemaError) as told:
            connection.fetch_columns(query, schema={"x": "bool"})
        assert "codec" not in str(told.value)


def test_a_query_of_dbapi_is_a_str(dsn: str) -> None:
    composed: Any = psycopg.sql.SQL("SELECT {}").format(1)
    raw: Any = b"SELECT 1"
    with dbapi.connect(dsn) as connection:
        for run in (
            connection.execute,
            lambda query: connection.execute(query, [1]),
            lambda query: connection.cursor("named").execute(query),
            lambda query: connection.cursor().executemany(query, [[1]]),
        ):
            with pytest.raises(TypeError, match=r"must be a str, not psycopg\.sql\.Composed: call"):
                run(composed)
            with pytest.raises(TypeError, match="must be a str, not bytes"):
                run(raw)


def test_datetimes_of_a_list_have_a_zone_or_none(dsn: str) -> None:
    naive = dt.datetime(2026, 1, 1)
    with dbapi.connect(dsn) as connection:
        with pytest.raises(dbapi.DataError, match="give all of them one"):
            connection.execute("SELECT %s", [[naive, naive.replace(tzinfo=dt.UTC)]])
        moments = [pd.Timestamp(naive), pd.NaT, None]
        found = connection.execute("SELECT %s", [moments]).fetchone()
        assert found == ([naive, None, None],)
        assert connection.execute("SELECT %s::int", [pd.NaT]).fetchone() == (None,)
        connection.execute("CREATE TEMP TABLE moments (n int, at timestamptz)")
        with connection.cursor() as cursor:
            sets = [[1, pd.NaT], [2, pd.Timestamp(naive, tz="UTC")]]
            cursor.executemany("INSERT INTO moments VALUES (%s, %s)", sets)
        count = connection.execute("SELECT count(at) FROM moments").fetchone()
        assert count == (1,)


def test_a_service_file_may_begin_with_a_mark(dsn: str, tmp_path: Path) -> None:
    info = psycopg.conninfo.conninfo_to_dict(dsn)
    lines = "\n".join(f"{name}={value}" for name, value in info.items() if value)
    path = tmp_path / "service"
    path.write_bytes(b"\xef\xbb\xbf" + f"[shop]\n{lines}\n".encode())
    with colonnade.sync.connect(service="shop", servicefile=str(path)) as connection:
        assert connection.fetchval("SELECT 1") == 1


def test_an_unfit_value_leaves_the_columns(dsn: str) -> None:
    with dbapi.connect(dsn) as connection:
        cursor = connection.execute("SELECT 'infinity'::date AS v, 5 AS n")
        assert cursor.fetch_columns(infinity="null").to_pydict() == {"v": [None], "n": [5]}
        cursor = connection.execute("SELECT 'infinity'::date AS v, 5 AS n")
        with pytest.raises(dbapi.DataError, match="infinity"):
            cursor.fetchone()
