"""Polars: frames from and to tables, through SQLAlchemy and ADBC."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal

import polars as pl
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from tests.libraries.answers import DRIVER, DSN, answer, answer_error, engine_url

if DRIVER == "usual":
    from adbc_driver_postgresql import dbapi as adbc
else:
    from colonnade import adbc

frame = pl.DataFrame(
    {
        "id": [1, 2, 3],
        "small": pl.Series([1, None, 3], dtype=pl.Int16),
        "price": [0.1, None, -2.5],
        "exact": [decimal.Decimal("1.10"), None, decimal.Decimal("-3.05")],
        "name": ["ann", None, "ünï"],
        "good": [True, None, False],
        "day": [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)],
        "at": [dt.datetime(2024, 2, 29, 1, 2, 3, 4), None, dt.datetime(1, 1, 1)],
        "raw": [b"\0\xff", None, b""],
    }
)


def told(read: pl.DataFrame) -> list[object]:
    """Names, types and rows."""
    return [{name: str(kind) for name, kind in read.schema.items()}, read.rows()]


engine = sa.create_engine(engine_url("postgresql+psycopg"))
answer("written", frame.write_database("by_engine", engine))
answer("appended", frame.write_database("by_engine", engine, if_table_exists="append"))
query = "SELECT * FROM by_engine ORDER BY id"
answer("by engine", told(pl.read_database(query, engine)))
with engine.connect() as connection:
    answer("by connection", told(pl.read_database(query, connection)))
    parts = pl.read_database(query, connection, iter_batches=True, batch_size=2)
    answer("batches", [len(part) for part in parts])
    by_name = pl.read_database(
        "SELECT id, name FROM by_engine WHERE id > :id",
        connection,
        execute_options={"parameters": {"id": 1}},
    )
    answer("parameters", told(by_name))
    answer_error("error", lambda: pl.read_database("SELECT * FROM no_such_table", connection))


async def in_a_task() -> None:
    tasks = create_async_engine(engine_url("postgresql+asyncpg"))
    answer("async engine", told(await asyncio.to_thread(pl.read_database, query, tasks)))
    await tasks.dispose()


asyncio.run(in_a_task())
with adbc.connect(DSN) as connection:
    columns = [name for name in frame.columns if name != "exact"]
    answer("ingested", frame.select(columns).write_database("by_adbc", connection))
    connection.commit()
    answer("by ADBC", told(pl.read_database("SELECT * FROM by_adbc ORDER BY id", connection)))
engine.dispose()
