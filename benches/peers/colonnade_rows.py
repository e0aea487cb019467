"""Colonnade on asyncio, the result as records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched
from benches.peers.colonnade_columns import close, connect

if TYPE_CHECKING:
    import colonnade

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch"]

TITLE = "Colonnade rows"
KIND = "rows"
REQUIRES = ("colonnade",)


async def fetch(connection: colonnade.Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    rows = await connection.fetch(sql)
    return Fetched(rows, len(rows))
