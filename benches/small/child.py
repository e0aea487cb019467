"""The program that runs small queries: a job as JSON on stdin, the figures as JSON on stdout.

Every case runs once before it is measured, so that its statement is prepared and cached.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Ask = Callable[[], Awaitable[object]]

TABLE = "small_rows"
KEY = 500

#: A query, its arguments, and the method that runs it.
CASES: dict[str, tuple[str, tuple[int, ...], str]] = {
    "SELECT 1": ("SELECT 1", (), "fetchval"),
    "a row by its key": (f"SELECT * FROM {TABLE} WHERE id = $1", (KEY,), "fetchrow"),
    "a row as columns": (f"SELECT * FROM {TABLE} WHERE id = $1", (KEY,), "fetch_columns"),
    "10 rows": (f"SELECT * FROM {TABLE} WHERE id > $1 ORDER BY id LIMIT 10", (KEY,), "fetch"),
    "100 rows": (f"SELECT * FROM {TABLE} WHERE id > $1 ORDER BY id LIMIT 100", (KEY,), "fetch"),
}
CONNECTIONS = (1, 10)
ROWS = 1000
CREATE = f"""
CREATE TABLE {TABLE} AS
SELECT id::int, 'instrument ' || id AS name, id / 7.0::float8 AS price, id % 2 = 0 AS is_listed,
       timestamptz '2024-01-01 00:00+00' + id * interval '1 second' AS seen, id * 1000 AS amount
FROM generate_series(1, {ROWS}) id;
ALTER TABLE {TABLE} ADD PRIMARY KEY (id);
VACUUM (FREEZE, ANALYZE) {TABLE};
"""


@dataclass(frozen=True)
class Job:
    """The measurements of one process: every case, by one driver on one loop."""

    dsn: str
    driver: str
    loop: str
    seconds: float

    def to_json(self) -> str:
        """Return the job as the child reads it."""
        return json.dumps(asdict(self))


async def measured(job: Job) -> list[dict[str, Any]]:
    """Queries per second of each case, and microseconds of client CPU per query."""
    driver = importlib.import_module(job.driver)
    connections = [await driver.connect(job.dsn) for _ in range(max(CONNECTIONS))]
    figures = []
    for name, (text, values, method) in CASES.items():
        if not hasattr(connections[0], method):
            continue
        asks = [_ask(getattr(connection, method), text, values) for connection in connections]
        for count in CONNECTIONS:
            await _asked(asks[:count], job.seconds / 10)
            queries, wall, spent = await _asked(asks[:count], job.seconds)
            figures.append(
                {
                    "case": name,
                    "connections": count,
                    "per_second": queries / wall,
                    "client_us": spent / queries * 1e6,
                }
            )
    for connection in connections:
        await connection.close()
    return figures


def _ask(method: Callable[..., Awaitable[object]], text: str, values: tuple[int, ...]) -> Ask:
    return lambda: method(text, *values)


async def _asked(asks: list[Ask], seconds: float) -> tuple[int, float, float]:
    """Query on all connections for this long; return the count and the seconds taken."""
    wall, spent = time.perf_counter(), time.process_time()
    counts = await asyncio.gather(*(_kept_asking(ask, wall + seconds) for ask in asks))
    return sum(counts), time.perf_counter() - wall, time.process_time() - spent


async def _kept_asking(ask: Ask, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        await ask()
        count += 1
    return count


def main() -> None:
    """Run the job on the loop that it names."""
    job = Job(**json.load(sys.stdin))
    factory = importlib.import_module(job.loop).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        print(json.dumps(runner.run(measured(job))))


if __name__ == "__main__":
    main()
