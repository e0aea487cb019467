"""`Record`, by asyncpg's longer name for its module."""

from __future__ import annotations

from colonnade.protocol import Record

__all__ = ["Record"]
