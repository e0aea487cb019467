"""The same API without `await`, over blocking sockets.

    conn = colonnade.sync.connect("postgresql://localhost/test")
    columns = conn.fetch_columns("SELECT * FROM flights")

Waiting and decoding release the GIL, so threads with their own connections fetch in parallel.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade import errors, types
    from colonnade._core import Record
    from colonnade._driver._sync.column_stream import ColumnStream
    from colonnade._driver._sync.connect import connect
    from colonnade._driver._sync.connection import Connection
    from colonnade._driver._sync.cursor import Cursor as Cursor, CursorFactory as CursorFactory
    from colonnade._driver._sync.pipeline import Pipeline as Pipeline
    from colonnade._driver._sync.pipeline_result import PipelineResult as PipelineResult
    from colonnade._driver._sync.pool.pool import Pool, create_pool
    from colonnade._driver._sync.pool.proxy import PoolConnectionProxy as PoolConnectionProxy
    from colonnade._driver._sync.prepared_statement import PreparedStatement as PreparedStatement
    from colonnade._driver._sync.result import HeldResult as HeldResult, Result as Result
    from colonnade._driver._sync.transaction import Transaction as Transaction
    from colonnade._driver.gather.costs import QueryCosts as QueryCosts
    from colonnade._driver.gather.gathered import Gathered as Gathered
    from colonnade._driver.gather.query import Query as Query
    from colonnade._driver.listener.threads import listen
    from colonnade._driver.notifications.notification import (
        Notification,
        NotificationGap as NotificationGap,
    )
    from colonnade._driver.pool_core.stats import PoolStats as PoolStats
    from colonnade._driver.sql.named import named
    from colonnade.columns import Columns
    from colonnade.errors import DecodeError, EncodeError, InterfaceError, PostgresError
    from colonnade.frames import read_sql, write_table

# The names of `colonnade.__all__`, except "sync". All others can be imported, too.
__all__ = [
    "ColumnStream",
    "Columns",
    "Connection",
    "DecodeError",
    "EncodeError",
    "InterfaceError",
    "Notification",
    "Pool",
    "PostgresError",
    "Record",
    "connect",
    "create_pool",
    "errors",
    "listen",
    "named",
    "read_sql",
    "types",
    "write_table",
]

if not TYPE_CHECKING:
    __getattr__, __dir__, _ = _lazy_names.attach(__name__)
