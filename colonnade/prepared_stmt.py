"""asyncpg's module `prepared_stmt`: the class of prepared statements, for annotations."""

from __future__ import annotations

from colonnade._driver._async.prepared_statement import PreparedStatement

__all__ = ["PreparedStatement"]
