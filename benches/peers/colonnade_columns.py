"""Colonnade on asyncio, the result as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    import colonnade

TITLE = "Colonnade columns"
KIND = "columns"
REQUIRES = ("colonnade",)


async def connect(dsn: str) -> colonnade.Connection:
    """Import the driver and connect."""
    import colonnade

    return await colonnade.connect(dsn)


async def fetch(connection: colonnade.Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    columns = await connection.fetch_columns(sql)
    return Fetched(columns, columns.num_rows, columns.nbytes)


async def close(connection: colonnade.Connection) -> None:
    """Close the connection."""
    await connection.close()
