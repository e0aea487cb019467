"""PostgreSQL in columns: a driver whose core decodes the wire straight into Arrow's layout.

    conn = await colonnade.connect("postgresql://localhost/test")
    columns = await conn.fetch_columns("SELECT * FROM flights")
    columns["dep_delay"]        # a NumPy view
    columns.to_polars()         # without a copy

`colonnade.sync` has the same without `await`.
"""

# ruff: noqa: I002 - the import for annotations would be a name of the package's
from colonnade import (
    _one_interpreter as _one_interpreter,  # first: in another one nothing may be made
    connection,
    cursor,
    errors,
    exceptions,
    frames,
    pgproto,
    pool,
    prepared_stmt,
    protocol,
    rkt,
    sync,
    transaction,
    types,
)
from colonnade._async.column_stream import ColumnStream
from colonnade._async.connect import connect
from colonnade._async.connection import Connection
from colonnade._async.listen import listen
from colonnade._async.pipeline import Pipeline
from colonnade._async.pipeline_result import PipelineResult
from colonnade._async.pool.pool import Pool, create_pool
from colonnade._async.result import HeldResult, Result
from colonnade._asyncpg_names import install_as_asyncpg
from colonnade._core import QueryTiming, Record, __version__
from colonnade._logged_query import LoggedQuery
from colonnade._named import Named, named
from colonnade._notifications import Notification, NotificationGap
from colonnade._supply.stats import PoolStats
from colonnade.arrow_stream import ArrowStream
from colonnade.columns import Columns
from colonnade.errors import *  # noqa: F403

# Again, for type checkers that do not add up `__all__` over several modules.
from colonnade.errors._sqlstate import *  # noqa: F403
from colonnade.frames import read_sql, write_table
from colonnade.types import (
    Attribute as Attribute,
    BitString as BitString,
    Box as Box,
    Circle as Circle,
    Line as Line,
    LineSegment as LineSegment,
    Path as Path,
    Point as Point,
    Polygon as Polygon,
    Range as Range,
    ServerVersion as ServerVersion,
    Type as Type,
)

# Without the classes of values, as in asyncpg: `import *` shall not hide `pathlib.Path`.
__all__ = [
    "ArrowStream",
    "ColumnStream",
    "Columns",
    "Connection",
    "HeldResult",
    "LoggedQuery",
    "Named",
    "Notification",
    "NotificationGap",
    "Pipeline",
    "PipelineResult",
    "Pool",
    "PoolStats",
    "QueryTiming",
    "Record",
    "Result",
    "__version__",
    "connect",
    "connection",
    "create_pool",
    "cursor",
    "errors",
    "exceptions",
    "frames",
    "install_as_asyncpg",
    "listen",
    "named",
    "pgproto",
    "pool",
    "prepared_stmt",
    "protocol",
    "read_sql",
    "rkt",
    "sync",
    "transaction",
    "types",
    "write_table",
]
__all__ += errors.__all__
