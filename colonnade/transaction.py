"""asyncpg's module `transaction`: the class of transactions, for annotations."""

from __future__ import annotations

from colonnade._driver._async.transaction import Transaction

__all__ = ["Transaction"]
