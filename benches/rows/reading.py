"""Shared by all peers: fetching small results often enough to measure, and reading every value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

#: A smaller result is fetched repeatedly, until it has given this many rows.
ROWS_MIN = 100_000


def repeats(sql: str) -> int:
    """How often to run the query of a table; the table's name ends with its number of rows."""
    rows = int(sql.rpartition("_")[2])
    return max(1, ROWS_MIN // rows)


async def fetch_and_read(fetch: Callable[[str], Awaitable[list[Any]]], sql: str) -> Fetched:
    """Fetch and read every value of every row; return the last result."""
    rows: list[Any] = []
    for _ in range(repeats(sql)):
        rows = await fetch(sql)
        read(rows)
    return Fetched(rows, len(rows))


def read(rows: Iterable[Iterable[object]]) -> None:
    """Touch every value."""
    for row in rows:
        for _ in row:
            pass
