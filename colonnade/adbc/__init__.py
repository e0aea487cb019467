"""Colonnade as an ADBC driver, for libraries that need connections of ADBC's driver manager.

    with colonnade.adbc.connect("postgresql://localhost/test") as connection:
        frame = pandas.read_sql("SELECT * FROM flights", connection)
        frame = polars.read_database("SELECT * FROM flights", connection)

The driver is the extension module's own library; `adbc_driver_manager` loads it by its C interface.
It works in processes that run Python, over the same sockets as the rest of the package.
"""

from __future__ import annotations

import contextlib
import importlib.util
from typing import TYPE_CHECKING, Any

from colonnade._words.extras import needed_by

if TYPE_CHECKING:
    from adbc_driver_manager import dbapi

__all__ = ["ENTRYPOINT", "connect", "library"]

ENTRYPOINT = "ColonnadeAdbcInit"
"""The library's entry point that creates the driver."""


def library() -> str:
    """The path of the library that the driver manager loads."""
    spec = importlib.util.find_spec("colonnade._core")
    if spec is None or spec.origin is None:
        raise ImportError("the extension module colonnade._core was not found")
    return spec.origin


def connect(dsn: str, *, autocommit: bool = False) -> dbapi.Connection:
    """Connect to a server, and return a connection of `adbc_driver_manager.dbapi`.

    `dsn` is as in `colonnade.connect`. Without `autocommit`, a transaction begins with the first
    statement, and `commit` or `rollback` ends it, as in PEP 249.

    Raises errors of `adbc_driver_manager`, and ImportError if it is not installed.
    """
    with needed_by("colonnade.adbc.connect()", "adbc_driver_manager", "adbc"):
        from adbc_driver_manager import AdbcConnection, AdbcDatabase, dbapi

        from colonnade.adbc.given import Given
    with contextlib.ExitStack() as opened:
        database = AdbcDatabase(driver=library(), entrypoint=ENTRYPOINT, uri=dsn)
        opened.callback(database.close)
        connection = AdbcConnection(database)
        opened.callback(connection.close)
        given: Any = Given()
        made = dbapi.Connection(database, connection, {}, autocommit=autocommit, backend=given)
        opened.pop_all()
    return made
