"""Polars' `read_database_uri` with ConnectorX, in a worker thread.

Every fetch opens a connection.
"""

from __future__ import annotations

import asyncio
import importlib

from benches.measure.measurement import Fetched

TITLE = "Polars read_database_uri, ConnectorX"
KIND = "columns"
REQUIRES = ("polars", "connectorx")
ENVIRONMENT = ("polars==2.1.0", "connectorx==0.4.6", "pyarrow>=20")
ENGINE = "connectorx"


async def connect(dsn: str) -> str:
    """Import the libraries."""
    for library in REQUIRES:
        importlib.import_module(library)
    return dsn


async def fetch(connection: str, sql: str) -> Fetched:
    """Fetch the whole result."""
    return await asyncio.to_thread(read, connection, sql, ENGINE)


async def close(connection: str) -> None:
    """Do nothing: there is no connection to close."""


def read(dsn: str, sql: str, engine: str) -> Fetched:
    """Read with the engine of this name."""
    frame = importlib.import_module("polars").read_database_uri(sql, dsn, engine=engine)
    return Fetched(frame, frame.height, frame.estimated_size())
