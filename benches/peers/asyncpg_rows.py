"""asyncpg, the result as records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    import asyncpg

TITLE = "asyncpg rows"
KIND = "rows"
REQUIRES = ("asyncpg",)


async def connect(dsn: str) -> asyncpg.Connection:
    """Import the driver and connect."""
    import asyncpg

    return await asyncpg.connect(dsn)


async def fetch(connection: asyncpg.Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    rows = await connection.fetch(sql)
    return Fetched(rows, len(rows))


async def close(connection: asyncpg.Connection) -> None:
    """Close the connection."""
    await connection.close()
