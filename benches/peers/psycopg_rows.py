"""psycopg 3 on asyncio, the binary format, the result as tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    import psycopg

TITLE = "psycopg rows"
KIND = "rows"
REQUIRES = ("psycopg", "psycopg_binary")


async def connect(dsn: str) -> psycopg.AsyncConnection[Any]:
    """Import the driver and connect."""
    import psycopg

    return await psycopg.AsyncConnection.connect(dsn, autocommit=True)


async def fetch(connection: psycopg.AsyncConnection[Any], sql: str) -> Fetched:
    """Fetch the whole result."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(sql.encode())
        rows = await cursor.fetchall()
    return Fetched(rows, len(rows))


async def close(connection: psycopg.AsyncConnection[Any]) -> None:
    """Close the connection."""
    await connection.close()
