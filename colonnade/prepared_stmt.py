"""The class of prepared statements, where asyncpg has it: for annotations."""

from __future__ import annotations

from colonnade._async.prepared_statement import PreparedStatement

__all__ = ["PreparedStatement"]
