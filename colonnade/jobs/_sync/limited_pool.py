# Generated from colonnade/jobs/_async/limited_pool.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A pool for callers with little time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import colonnade


class LimitedPool:
    """The part of a pool that `asking.ask` needs; each call ends within `seconds`.

    The wait for a connection counts: a worker that settles jobs because it ends must not wait for
    others, which may wait for its end.
    """

    def __init__(self, pool: colonnade.sync.Pool, seconds: float) -> None:
        self._pool = pool
        self._seconds = seconds

    def acquire(self) -> Any:
        """A connection, within the time."""
        return self._pool.acquire(timeout=self._seconds)

    def fetch_plain(self, query: str, *arguments: object, timeout: float | None = None) -> Any:
        """Run a statement, and return its rows."""
        limit = self._seconds if timeout is None else min(timeout, self._seconds)
        with self.acquire() as connection:
            return connection.fetch_plain(query, *arguments, timeout=limit)
