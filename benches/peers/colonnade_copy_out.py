"""Colonnade on asyncio, the result as columns by the other road: COPY in the binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched
from benches.peers.colonnade_columns import close, connect

if TYPE_CHECKING:
    import colonnade

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch"]

TITLE = "Colonnade columns, COPY"
KIND = "columns"
REQUIRES = ("colonnade",)


async def fetch(connection: colonnade.Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    columns = await connection.copy_columns_from_query(sql)
    return Fetched(columns, columns.num_rows, columns.nbytes)
