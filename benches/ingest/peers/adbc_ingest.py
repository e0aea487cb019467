"""ADBC's ingest of a pyarrow table, in a worker thread."""

from __future__ import annotations

import asyncio
import types
from typing import Any

from benches.ingest.data import empty_target, read_columns, target_table
from benches.measure.measurement import Fetched

TITLE = "ADBC ingest"
KIND = "columns"
REQUIRES = ("adbc_driver_postgresql", "pyarrow")


async def connect(dsn: str) -> Any:
    """Connect, and keep the DSN."""
    import adbc_driver_postgresql.dbapi

    link = adbc_driver_postgresql.dbapi.connect(dsn)
    return types.SimpleNamespace(dsn=dsn, link=link, source=None)


async def prepare(connection: Any, sql: str) -> None:
    """Read the table."""
    empty_target(connection.dsn, sql)
    connection.source = read_columns(connection.dsn, sql).to_arrow()


async def fetch(connection: Any, sql: str) -> Fetched:
    """Copy the table in."""
    return Fetched(None, await asyncio.to_thread(_ingest, connection, sql))


def _ingest(connection: Any, sql: str) -> int:
    schema, name = target_table(sql)
    with connection.link.cursor() as cursor:
        cursor.adbc_ingest(name, connection.source, mode="append", db_schema_name=schema)
    connection.link.commit()
    return int(connection.source.num_rows)


async def close(connection: Any) -> None:
    """Close the connection."""
    connection.link.close()
