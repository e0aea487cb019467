"""Colonnade's records, every value read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.peers.colonnade_rows import close, connect
from benches.rows.reading import fetch_and_read

if TYPE_CHECKING:
    import colonnade
    from benches.measure.measurement import Fetched

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch", "prepare"]

TITLE = "Colonnade"
KIND = "rows"
REQUIRES = ("colonnade",)


async def prepare(connection: colonnade.Connection, sql: str) -> None:
    """Run once, so that the statement is cached."""
    await connection.fetch(f"{sql} LIMIT 1")
    await connection.fetchrow(sql)


async def fetch(connection: colonnade.Connection, sql: str) -> Fetched:
    """Fetch the whole result, and read it."""
    return await fetch_and_read(connection.fetch, sql)
