"""asyncpg's records, every value read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.peers.asyncpg_rows import close, connect
from benches.rows.reading import fetch_and_read

if TYPE_CHECKING:
    import asyncpg

    from benches.measure.measurement import Fetched

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch", "prepare"]

TITLE = "asyncpg"
KIND = "rows"
REQUIRES = ("asyncpg",)


async def prepare(connection: asyncpg.Connection, sql: str) -> None:
    """Run once, so that the statement is cached."""
    await connection.fetch(f"{sql} LIMIT 1")
    await connection.fetchrow(sql)


async def fetch(connection: asyncpg.Connection, sql: str) -> Fetched:
    """Fetch the whole result, and read it."""
    return await fetch_and_read(connection.fetch, sql)
