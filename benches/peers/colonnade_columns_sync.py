"""Colonnade without an event loop, the result as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    import colonnade.sync

TITLE = "Colonnade columns, sync"
KIND = "columns"
REQUIRES = ("colonnade",)


def connect(dsn: str) -> colonnade.sync.Connection:
    """Import the driver and connect."""
    import colonnade.sync

    return colonnade.sync.connect(dsn)


def fetch(connection: colonnade.sync.Connection, sql: str) -> Fetched:
    """Fetch the whole result."""
    columns = connection.fetch_columns(sql)
    return Fetched(columns, columns.num_rows, columns.nbytes)


def close(connection: colonnade.sync.Connection) -> None:
    """Close the connection."""
    connection.close()
