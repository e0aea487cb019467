"""PostgreSQL in columns: a driver whose core decodes the wire straight into Arrow's layout.

    conn = await colonnade.connect("postgresql://localhost/test")
    columns = await conn.fetch_columns("SELECT * FROM flights")
    columns["dep_delay"]        # a NumPy view
    columns.to_polars()         # without a copy

`colonnade.sync` has the same API without `await`.

PYTEST_DONT_REWRITE (so that pytest.main does not warn in a program that has imported this package)
"""

# ruff: noqa: I002 - `from __future__ import annotations` would become a name of the package
# This import comes first: in a subinterpreter it raises before any other module is loaded.
from colonnade._words import (
    one_interpreter as _one_interpreter,  # noqa: F401 # pyright: ignore[reportUnusedImport]
)

# isort: split

from colonnade._core import (
    QueryTiming as QueryTiming,
    Record,
    __build_profile__ as __build_profile__,
    __version__ as __version__,
)
from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade import (
        adbc as adbc,
        columns as columns,
        connection as connection,
        cursor as cursor,
        datasets as datasets,
        dbapi as dbapi,
        embedded as embedded,
        errors,
        exceptions as exceptions,
        formats as formats,
        frames as frames,
        incremental as incremental,
        jobs as jobs,
        observe as observe,
        parallel as parallel,
        pgproto as pgproto,
        pool as pool,
        prepared_stmt as prepared_stmt,
        protocol as protocol,
        rkt as rkt,
        rows as rows,
        serve as serve,
        structs as structs,
        sync,
        tracing as tracing,
        transaction as transaction,
        types,
    )
    from colonnade._asyncpg_names import install_as_asyncpg as install_as_asyncpg
    from colonnade._driver._async.column_stream import ColumnStream
    from colonnade._driver._async.connect import connect
    from colonnade._driver._async.connection import Connection
    from colonnade._driver._async.pipeline import Pipeline as Pipeline
    from colonnade._driver._async.pipeline_result import PipelineResult as PipelineResult
    from colonnade._driver._async.pool.pool import Pool, create_pool
    from colonnade._driver._async.result import HeldResult as HeldResult, Result as Result
    from colonnade._driver.gather.costs import QueryCosts as QueryCosts
    from colonnade._driver.gather.gathered import Gathered as Gathered
    from colonnade._driver.gather.query import Query as Query
    from colonnade._driver.listener.asyncio import listen
    from colonnade._driver.logged_query import LoggedQuery as LoggedQuery
    from colonnade._driver.notifications.notification import (
        Notification,
        NotificationGap as NotificationGap,
    )
    from colonnade._driver.pool_core.stats import PoolStats as PoolStats
    from colonnade._driver.sql.named import Named as Named, named
    from colonnade.arrow_stream import ArrowStream as ArrowStream
    from colonnade.columns import Columns
    from colonnade.errors import *  # noqa: F403
    from colonnade.errors import DecodeError, EncodeError, InterfaceError, PostgresError

    # Imported again for type checkers that do not follow `__all__ +=` across modules.
    from colonnade.errors._sqlstate import *  # noqa: F403
    from colonnade.frames import read_sql, write_table
    from colonnade.groups import Groups as Groups, PartialGroups as PartialGroups
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

# The names that most programs need. All others can be imported, too.
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
    "sync",
    "types",
    "write_table",
]

if not TYPE_CHECKING:
    _HOMES = _lazy_names.HOMES[__name__]
    _load, _names, _ = _lazy_names.attach(__name__)

    def __getattr__(name: str) -> object:
        # The nearly 300 names of errors are listed in their own module only.
        if name[0] == "_" or name in _HOMES:
            return _load(name)
        from colonnade import errors

        if name not in errors.__all__:
            return _load(name)
        return globals().setdefault(name, getattr(errors, name))

    def __dir__() -> list[str]:
        from colonnade import errors

        return sorted({*_names(), *errors.__all__})
