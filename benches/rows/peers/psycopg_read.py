"""psycopg 3's tuples from a binary cursor, every value read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.peers.psycopg_rows import close, connect
from benches.rows.reading import fetch_and_read

if TYPE_CHECKING:
    import psycopg

    from benches.measure.measurement import Fetched

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch", "prepare"]

TITLE = "psycopg, binary"
KIND = "rows"
REQUIRES = ("psycopg", "psycopg_binary")


async def prepare(connection: psycopg.AsyncConnection[Any], sql: str) -> None:
    """Run once as a prepared statement, which psycopg then reuses."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(sql.encode(), prepare=True)
        await cursor.fetchone()


async def fetch(connection: psycopg.AsyncConnection[Any], sql: str) -> Fetched:
    """Fetch the whole result, and read it."""

    async def fetch_all(query: str) -> list[Any]:
        async with connection.cursor(binary=True) as cursor:
            await cursor.execute(query.encode(), prepare=True)
            return await cursor.fetchall()

    return await fetch_and_read(fetch_all, sql)
