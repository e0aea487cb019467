"""ConnectorX, the result as an Arrow table, in a worker thread.

Its interface has no connections, so the cost of a fetch includes connecting.
"""

from __future__ import annotations

import asyncio
import importlib

from benches.measure.measurement import Fetched

TITLE = "ConnectorX Arrow, thread"
KIND = "columns"
REQUIRES = ("connectorx", "pyarrow")
ENVIRONMENT = ("connectorx==0.4.6", "pyarrow>=20")


async def connect(dsn: str) -> str:
    """Import the library."""
    importlib.import_module("connectorx")
    importlib.import_module("pyarrow")
    return dsn


async def fetch(connection: str, sql: str) -> Fetched:
    """Fetch the whole result."""
    return await asyncio.to_thread(_fetch, connection, sql)


async def close(connection: str) -> None:
    """Do nothing: there is no connection to close."""


def _fetch(dsn: str, sql: str) -> Fetched:
    table = importlib.import_module("connectorx").read_sql(dsn, sql, return_type="arrow")
    return Fetched(table, table.num_rows, table.nbytes)
