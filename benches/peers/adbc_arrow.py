"""ADBC, the result as an Arrow table, in a worker thread as asyncio programs must call it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

TITLE = "ADBC Arrow, thread"
KIND = "columns"
REQUIRES = ("adbc_driver_postgresql", "adbc_driver_manager", "pyarrow")


async def connect(dsn: str) -> Connection:
    """Import the driver and connect."""
    import adbc_driver_postgresql.dbapi
    import pyarrow as pa

    # Load pyarrow here and not at the first fetch: the library belongs to the idle process.
    pa.table({})
    connection: Connection = await asyncio.to_thread(adbc_driver_postgresql.dbapi.connect, dsn)
    return connection


async def fetch(connection: Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    return await asyncio.to_thread(_fetch, connection, sql)


async def close(connection: Connection) -> None:
    """Close the connection."""
    await asyncio.to_thread(connection.close)


def _fetch(connection: Connection, sql: str) -> Fetched:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        table = cursor.fetch_arrow_table()
    return Fetched(table, table.num_rows, table.nbytes)
