"""The class of transactions, where asyncpg has it: for annotations."""

from __future__ import annotations

from colonnade._async.transaction import Transaction

__all__ = ["Transaction"]
