"""asyncpg's module `connection`: the class of connections, for annotations and subclasses."""

from __future__ import annotations

from colonnade._async.connect import connect
from colonnade._async.connection import Connection
from colonnade._logged_query import LoggedQuery

__all__ = ["Connection", "LoggedQuery", "connect"]
