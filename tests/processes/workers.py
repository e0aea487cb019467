"""The function that `multiprocessing` runs in its workers."""

from __future__ import annotations

import colonnade.sync


def ask(dsn: str) -> int:
    """Run a query on a new connection."""
    with colonnade.sync.connect(dsn) as connection:
        answer: int = connection.fetchval("SELECT 40 + 2")
    return answer
