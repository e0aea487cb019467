"""What every peer does: small results often enough to be measured, and every value read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.measure.measurement import Fetched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

#: A result below this is fetched as often as it takes to have so many rows.
ROWS_MIN = 100_000


def repeats(sql: str) -> int:
    """How often the query of a table, whose name ends with its rows, is run."""
    rows = int(sql.rpartition("_")[2])
    return max(1, ROWS_MIN // rows)


async def fetch_and_read(fetch: Callable[[str], Awaitable[list[Any]]], sql: str) -> Fetched:
    """Fetch, and read each value of each row; the last result is handed over."""
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
