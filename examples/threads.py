"""The blocking API in threads: each has a connection, and a fetch releases the GIL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import colonnade.sync
from colonnade import embedded

QUERY = "SELECT g AS id, g * 0.5::float8 AS half FROM generate_series($1::int, $2::int) g"


def total(dsn: str, first: int, last: int) -> float:
    """Fetch one part, and return the sum of its column."""
    with colonnade.sync.connect(dsn) as connection:
        part = connection.fetch_columns(QUERY, first, last)
    return float(part["half"].sum())


def main(dsn: str) -> None:
    """Fetch four parts in parallel, and add up their sums."""
    starts = range(1, 1_000_001, 250_000)
    with ThreadPoolExecutor(len(starts)) as threads:
        totals = threads.map(lambda first: total(dsn, first, first + 249_999), starts)
    print(f"the sum is {sum(totals):,.1f}")


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        main(server.dsn)
