"""DuckDB's PostgreSQL scanner with one thread, the result as an Arrow table, in a worker thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from colonnade.cli.measure.measurement import Fetched

if TYPE_CHECKING:
    import duckdb

TITLE = "DuckDB Arrow, thread"
KIND = "columns"
REQUIRES = ("duckdb", "pyarrow")


def unavailable() -> str | None:
    """Say so when the scanner is not there: a benchmark downloads nothing."""
    import duckdb

    with _database() as database:
        try:
            database.execute("LOAD postgres")
        except duckdb.Error:
            return "DuckDB's extension `postgres` is not installed"
    return None


async def connect(dsn: str) -> duckdb.DuckDBPyConnection:
    """Import the library and attach the server."""
    import pyarrow as pa

    pa.table({})
    database = _database()
    database.execute("LOAD postgres")
    database.execute("SET threads = 1")
    attached = dsn.replace("'", "''")
    await asyncio.to_thread(database.execute, f"ATTACH '{attached}' AS p (TYPE postgres)")
    return database


async def fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> Fetched:
    """Fetch the whole result."""
    return await asyncio.to_thread(_fetch, connection, sql)


async def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close the database."""
    connection.close()


def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"autoinstall_known_extensions": "false"})


def _fetch(database: duckdb.DuckDBPyConnection, sql: str) -> Fetched:
    quoted = sql.replace("'", "''")
    cursor = database.execute(f"SELECT * FROM postgres_query('p', '{quoted}')")
    table: Any = cursor.to_arrow_table()
    return Fetched(table, table.num_rows, table.nbytes)
