"""DuckDB's PostgreSQL scanner, limited to one thread, with an Arrow table as result."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    import duckdb

TITLE = "DuckDB Arrow, thread"
KIND = "columns"
REQUIRES = ("duckdb", "pyarrow")
#: For some releases of DuckDB, the scanner is available as a package.
ENVIRONMENT = ("duckdb==1.5.5", "duckdb-extension-postgres-scanner==1.5.5", "pyarrow>=20")
_SCANNER = "duckdb_extension_postgres_scanner"


def unavailable() -> str | None:
    """Return a reason if the scanner is missing: a benchmark downloads nothing."""
    import duckdb

    with _database() as database:
        try:
            database.execute(_load())
        except duckdb.Error:
            return "DuckDB's extension `postgres` is not installed"
    return None


async def connect(dsn: str) -> duckdb.DuckDBPyConnection:
    """Import the library and attach the server."""
    import pyarrow as pa

    pa.table({})
    database = _database()
    database.execute(_load())
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


def _load() -> str:
    """Load the scanner from its package, or from DuckDB's extension directory."""
    package = importlib.util.find_spec(_SCANNER)
    for place in (package.submodule_search_locations or []) if package is not None else []:
        for file in Path(place).rglob("*.duckdb_extension"):
            return f"LOAD '{file}'"
    return "LOAD postgres"


def _fetch(database: duckdb.DuckDBPyConnection, sql: str) -> Fetched:
    quoted = sql.replace("'", "''")
    cursor = database.execute(f"SELECT * FROM postgres_query('p', '{quoted}')")
    table: Any = cursor.to_arrow_table()
    return Fetched(table, table.num_rows, table.nbytes)
