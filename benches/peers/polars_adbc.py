"""Polars' `read_database_uri` with ADBC, in a worker thread.

Every fetch opens a connection.
"""

from __future__ import annotations

import asyncio
import importlib

from benches.measure.measurement import Fetched
from benches.peers.polars_connectorx import close, read

__all__ = ["KIND", "REQUIRES", "TITLE", "close", "connect", "fetch"]

TITLE = "Polars read_database_uri, ADBC"
KIND = "columns"
REQUIRES = ("polars", "adbc_driver_postgresql", "pyarrow")


async def connect(dsn: str) -> str:
    """Import the libraries."""
    for library in REQUIRES:
        importlib.import_module(library)
    return dsn


async def fetch(connection: str, sql: str) -> Fetched:
    """Fetch the whole result."""
    return await asyncio.to_thread(read, connection, sql, "adbc")
