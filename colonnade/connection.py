"""asyncpg's module `connection`: the class of connections, for annotations and subclasses."""

from __future__ import annotations

from colonnade._driver._async.connect import connect
from colonnade._driver._async.connection import Connection
from colonnade._driver.logged_query import LoggedQuery

__all__ = ["Connection", "LoggedQuery", "connect"]
