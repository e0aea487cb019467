"""The DB-API 2.0 (PEP 249) over `colonnade.sync`, with ADBC's methods for results in columns.

    with dbapi.connect("postgresql://localhost/test") as conn, conn.cursor() as cur:
        cur.execute("SELECT * FROM flights WHERE carrier = %s", ["UA"])
        for row in cur:
            ...

Placeholders are `%s` or `%(name)s`. The first statement begins a transaction, unless `autocommit`
is set. Threads may share a connection: its cursors take turns.
"""

from __future__ import annotations

from colonnade import _pep249
from colonnade._pep249.errors import (
    DatabaseError,
    DataError,
    Diagnostic,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - PEP 249's name
)
from colonnade._pep249.parameters import Json, Jsonb
from colonnade._pep249.transactions import IsolationLevel
from colonnade.dbapi._description import Column
from colonnade.dbapi._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from colonnade.dbapi.connection import Connection, Cursor, connect

apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Column",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Diagnostic",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "IsolationLevel",
    "Json",
    "Jsonb",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]


def _publish() -> None:
    """Make tracebacks and pickles name the public module instead of the private one."""
    for name in __all__:
        item = globals()[name]
        if isinstance(item, type) and item.__module__.startswith((__name__, _pep249.__name__)):
            item.__module__ = __name__


_publish()
