"""The same API without `await`, over blocking sockets.

    conn = colonnade.sync.connect("postgresql://localhost/test")
    columns = conn.fetch_columns("SELECT * FROM flights")

The interpreter is released while waiting and while decoding, so that threads, each with its own
connection, fetch at the same time.
"""

from __future__ import annotations

from colonnade._listening import listen
from colonnade._notifications import Notification, NotificationGap
from colonnade._supply.stats import PoolStats
from colonnade._sync.column_stream import ColumnStream
from colonnade._sync.connect import connect
from colonnade._sync.connection import Connection
from colonnade._sync.cursor import Cursor, CursorFactory
from colonnade._sync.pipeline import Pipeline
from colonnade._sync.pipeline_result import PipelineResult
from colonnade._sync.pool.pool import Pool, create_pool
from colonnade._sync.pool.proxy import PoolConnectionProxy
from colonnade._sync.prepared_statement import PreparedStatement
from colonnade._sync.result import HeldResult, Result
from colonnade._sync.transaction import Transaction
from colonnade.columns import Columns

__all__ = [
    "ColumnStream",
    "Columns",
    "Connection",
    "Cursor",
    "CursorFactory",
    "HeldResult",
    "Notification",
    "NotificationGap",
    "Pipeline",
    "PipelineResult",
    "Pool",
    "PoolConnectionProxy",
    "PoolStats",
    "PreparedStatement",
    "Result",
    "Transaction",
    "connect",
    "create_pool",
    "listen",
]
