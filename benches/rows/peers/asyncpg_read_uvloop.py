"""asyncpg's records, on uvloop, every value read."""

from __future__ import annotations

from benches.rows.peers.asyncpg_read import close, connect, fetch, prepare

__all__ = ["KIND", "LOOP", "REQUIRES", "TITLE", "close", "connect", "fetch", "prepare"]

TITLE = "asyncpg, uvloop"
KIND = "rows"
LOOP = "uvloop"
REQUIRES = ("asyncpg", "uvloop")
