"""asyncpg's records, on uvloop, every value read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.rows.reading import fetch_and_read
from colonnade.cli.measure.peers.asyncpg_rows import close, connect

if TYPE_CHECKING:
    import asyncpg

    from colonnade.cli.measure.measurement import Fetched

__all__ = ["KIND", "LOOP", "REQUIRES", "TITLE", "close", "connect", "fetch", "prepare"]

TITLE = "asyncpg, uvloop"
KIND = "rows"
LOOP = "uvloop"
REQUIRES = ("asyncpg", "uvloop")


async def prepare(connection: asyncpg.Connection, sql: str) -> None:
    """Let the statement be kept."""
    await connection.fetch(f"{sql} LIMIT 1")
    await connection.fetchrow(sql)


async def fetch(connection: asyncpg.Connection, sql: str) -> Fetched:
    """Fetch the whole result, and read it."""
    return await fetch_and_read(connection.fetch, sql)
