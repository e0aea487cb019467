"""psycopg's fastest way to columns: binary rows, converted to an Arrow table by pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.measure.measurement import Fetched
from benches.peers import psycopg_rows
from benches.peers.psycopg_rows import close

if TYPE_CHECKING:
    import psycopg

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch"]

TITLE = "psycopg rows to Arrow"
KIND = "columns"
REQUIRES = ("psycopg", "psycopg_binary", "pyarrow")


async def connect(dsn: str) -> psycopg.AsyncConnection[Any]:
    """Import the driver and pyarrow, and connect."""
    import pyarrow as pa

    pa.table({})
    return await psycopg_rows.connect(dsn)


async def fetch(connection: psycopg.AsyncConnection[Any], sql: str) -> Fetched:
    """Fetch the whole result and convert it column by column."""
    import pyarrow as pa

    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(sql.encode())
        rows = await cursor.fetchall()
        names = [column.name for column in cursor.description or ()]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    table = pa.table(columns, names=names or None)
    return Fetched(table, table.num_rows, table.nbytes)
