"""Colonnade, from a pyarrow table."""

from __future__ import annotations

import types
from typing import Any

import colonnade
from benches.ingest.data import empty_target, read_columns, rows_in, target_table
from benches.measure.measurement import Fetched

TITLE = "Colonnade, pyarrow"
KIND = "columns"
REQUIRES = ("pyarrow",)


async def connect(dsn: str) -> Any:
    """Connect, and keep the DSN."""
    return types.SimpleNamespace(dsn=dsn, link=await colonnade.connect(dsn), source=None)


async def prepare(connection: Any, sql: str) -> None:
    """Read the table."""
    empty_target(connection.dsn, sql)
    connection.source = read_columns(connection.dsn, sql).to_arrow()


async def fetch(connection: Any, sql: str) -> Fetched:
    """Copy the table in."""
    schema, name = target_table(sql)
    status = await connection.link.copy_columns_to_table(
        name, connection.source, schema_name=schema
    )
    return Fetched(None, rows_in(status))


async def close(connection: Any) -> None:
    """Close the connection."""
    await connection.link.close()
