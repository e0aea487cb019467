"""The first and last date and datetime: infinities in asyncpg's face, and nowhere else.

Public reports of such values: psycopg2 #1469, psycopg #1251 and #315.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa

import colonnade
from colonnade import adbc, dbapi, frames, jobs, parallel
from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Iterator


OUTERMOST = {
    dt.date.max: ("date", "infinity", "9999-12-31"),
    dt.date.min: ("date", "-infinity", "0001-01-01"),
    dt.datetime.max: ("timestamp", "infinity", "9999-12-31 23:59:59.999999"),
    dt.datetime.min: ("timestamp", "-infinity", "0001-01-01 00:00:00"),
}
EACH = pytest.mark.parametrize("value", OUTERMOST)


@pytest.fixture
def table(dsn: str) -> Iterator[str]:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS outermost")
        connection.execute("CREATE TABLE outermost (v date, at timestamp)")
        yield "outermost"
        connection.execute("DROP TABLE outermost")


def texts(dsn: str, column: str = "v") -> list[str]:
    """The server's values of a column, read by another driver."""
    with psycopg.connect(dsn) as other:
        return [row[0] for row in other.execute(f"SELECT {column}::text FROM outermost".encode())]


def column_of(value: Any) -> str:
    return "at" if isinstance(value, dt.datetime) else "v"


@EACH
def test_asyncpgs_face_takes_and_shows_infinity(dsn: str, table: str, value: Any) -> None:
    kind, infinite, _ = OUTERMOST[value]
    column = column_of(value)
    with colonnade.sync.connect(dsn) as connection:
        query = f"SELECT $1::{kind}::text, $1::{kind}, array[$1::{kind}]"
        assert connection.fetchrow(query, value) == (infinite, value, [value])
        connection.copy_records_to_table(table, records=[(value,)], columns=[column])
    assert texts(dsn, column) == [infinite]


@EACH
def test_dbapi_sends_the_value_as_psycopg_does(dsn: str, value: Any) -> None:
    kind, _, text = OUTERMOST[value]
    queries = {
        "SELECT (%s)::text": [value],
        "SELECT (%s)[1]::text": [[value, None]],
        f"SELECT (%s::{kind})::text": [value],
        f"SELECT x::text FROM unnest(%s::{kind}[]) AS x": [[value]],
    }
    with dbapi.connect(dsn) as ours, psycopg.connect(dsn) as other:
        for query, params in queries.items():
            expected = other.execute(query.encode(), params).fetchone()
            assert ours.execute(query, params).fetchone() == expected == (text,), query
        assert ours.execute("SELECT %s, %s", [value, [value]]).fetchone() == (value, [value])
        with ours.cursor() as cursor:
            cursor.executemany(f"SELECT %s::{kind}::text", [[value], [None]], returning=True)
            assert cursor.fetchone() == (text,)
        with ours.cursor("named") as named:
            named.execute("SELECT %s::text", [value])
            assert named.fetchone() == (text,)


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_dbapi_refuses_to_show_infinity_as_psycopg_does(dsn: str, kind: str, sign: str) -> None:
    query = f"SELECT '{sign}infinity'::{kind}"
    with dbapi.connect(dsn) as ours, psycopg.connect(dsn) as other:
        with pytest.raises(psycopg.DataError, match="infinity"):
            other.execute(query.encode()).fetchall()
        with pytest.raises(dbapi.DataError, match=f"the value is {sign}infinity") as refused:
            ours.execute(query).fetchall()
        assert "cast it to text" in str(refused.value)
        ours.rollback()
        with pytest.raises(dbapi.DataError, match="infinity"):
            ours.execute(f"SELECT array['{sign}infinity'::{kind}]").fetchall()


@EACH
def test_the_dialect_sends_the_value(dsn: str, table: str, value: Any) -> None:
    kind, _, text = OUTERMOST[value]
    column = column_of(value)
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+colonnade://"))
    types: dict[str, Any] = {"date": sa.Date(), "timestamp": sa.DateTime()}
    typed = types[kind]
    with engine.begin() as connection:
        assert connection.scalar(sa.select(sa.cast(sa.literal(value, typed), sa.Text))) == text
        assert connection.scalar(sa.text("SELECT CAST(:x AS text)"), {"x": value}) == text
        streamed = connection.execution_options(yield_per=10)
        query = sa.text(f"SELECT CAST(CAST(:x AS {kind}) AS text)")
        assert streamed.execute(query, {"x": value}).scalar() == text
    with engine.begin() as connection:
        ours = sa.table(table, sa.column(column, typed))
        connection.execute(ours.insert(), [{column: value}, {column: value}])
        frame = pd.DataFrame({column: pd.Series([value], dtype=object)})
        frame.to_sql(table, connection, if_exists="append", index=False)
        assert list(connection.execute(sa.select(ours.c[column])).scalars()) == [value] * 3
    assert texts(dsn, column) == [text] * 3
    engine.dispose()


@EACH
def test_frames_hold_the_value_whatever_their_library(dsn: str, table: str, value: Any) -> None:
    kind, _, text = OUTERMOST[value]
    column = column_of(value)
    objects = pd.DataFrame({column: pd.Series([value], dtype=object)})
    with colonnade.sync.connect(dsn) as connection:
        frames.write_table(objects, table, connection, if_exists="append")
        polars = pl.DataFrame({column: [value]})
        frames.write_table(polars, table, connection, if_exists="append")
        connection.copy_columns_to_table(table, {column: [value]})
        connection.copy_columns_to_table(table, {column: pa.array([value])})
        frame = frames.read_sql(
            f"SELECT $1::{kind}::text AS v", connection, params=[value], into="polars"
        )
        assert frame["v"].to_list() == [text]
        # The caller's connection has asyncpg's face again.
        assert connection.fetchval(f"SELECT $1::{kind}", value) == value
        assert "infinity" in connection.fetchval(f"SELECT $1::{kind}::text", value)
    assert texts(dsn, column) == [text] * 4


@EACH
def test_adbc_sends_the_value(dsn: str, value: Any) -> None:
    text = OUTERMOST[value][2]
    with adbc.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT $1::text", pa.table({"v": pa.array([value])}))
        assert cursor.fetchone() == (text,)


@EACH
def test_parallel_reads_send_the_value(dsn: str, value: Any) -> None:
    kind, _, text = OUTERMOST[value]
    query = f"SELECT $1::{kind}::text AS v, 1 AS k"
    read = parallel.sync.read(query, dsn, args=[value], partition_by="k", parts=2)
    assert read.to_pydict() == {"v": [text], "k": [1]}


async def test_a_job_keeps_the_last_day(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        queue = await jobs.create_queue(pool, "outermost", {"day": "date"})
        try:
            await queue.add([(dt.date.max,), (dt.date.min,)])
            batch = await queue.get(timeout=0)
            assert batch.columns.to_pydict()["day"] == [dt.date.max, dt.date.min]
            await batch.ack()
        finally:
            await pool.execute("DROP SCHEMA jobs CASCADE")


def test_a_copied_column_of_days_takes_no_time_of_day(dsn: str, table: str) -> None:
    """A datetime64 was refused, and a datetime was cut."""
    noon = dt.datetime(2026, 1, 1, 12)
    with colonnade.sync.connect(dsn) as connection:
        for midnight in (noon.replace(hour=0), noon.replace(hour=0, tzinfo=dt.UTC)):
            connection.copy_columns_to_table(table, {"v": [midnight]})
        for values in ([noon], pd.Series([noon], dtype=object)):
            with pytest.raises(EncodeError, match="not the first moment of a day"):
                connection.copy_columns_to_table(table, {"v": values})
    assert texts(dsn) == ["2026-01-01"] * 2
