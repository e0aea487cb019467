"""The classes of values, by the names of the library that asyncpg shares with other drivers."""

from __future__ import annotations

from colonnade.pgproto import pgproto, types

__all__ = ["pgproto", "types"]
