"""How an event loop runs three tasks that compute, wait and compute, in both orders.

Each task computes for 1 s, waits for 5, 3 or 1 s, and computes for 1 s again, all scaled down. The
loop runs one of them at a time, so the order in which they start decides how long the whole takes.
In a third picture they wait for a real server, whose rows the driver decodes to columns.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import colonnade
from colonnade import embedded, observe

if TYPE_CHECKING:
    from collections.abc import Sequence

SECOND = 1 / 20
QUERY = """
    SELECT g AS id, g * 0.5::float8 AS half, 'row ' || g AS label
    FROM generate_series(1, 200000) AS g, pg_sleep($1)
"""


def compute() -> None:
    """Keep the loop busy for a scaled second."""
    end = time.perf_counter() + SECOND
    while time.perf_counter() < end:
        pass


async def compute_wait_compute(seconds: float) -> None:
    """Compute, wait for something that needs no processor here, and compute again."""
    compute()
    await asyncio.sleep(seconds * SECOND)
    compute()


async def compute_fetch_compute(pool: colonnade.Pool, seconds: float) -> None:
    """The same, but the wait is for a query's columns."""
    compute()
    await pool.fetch_columns(QUERY, seconds * SECOND)
    compute()


async def draw_waits(waits: Sequence[int], path: Path) -> None:
    """Trace the tasks in this order, and draw them."""
    async with observe.trace() as timeline:
        await asyncio.gather(
            *(asyncio.create_task(compute_wait_compute(n), name=f"waits {n} s") for n in waits)
        )
    finish(f"waits of {', '.join(map(str, waits))} s", timeline, path)


async def draw_queries(dsn: str, waits: Sequence[int], path: Path) -> None:
    """The same with queries."""
    pool = await colonnade.create_pool(dsn, min_size=len(waits), max_size=len(waits))
    async with pool, observe.trace() as timeline:
        await asyncio.gather(
            *(
                asyncio.create_task(compute_fetch_compute(pool, n), name=f"fetches {n} s")
                for n in waits
            )
        )
    finish(f"queries of {', '.join(map(str, waits))} s", timeline, path)


def finish(title: str, timeline: observe.Timeline, path: Path) -> None:
    """Print where the time went, and write the picture."""
    timeline.to_svg(path)
    print(f"{title}: {timeline.duration / SECOND:.1f} scaled seconds, drawn in {path}")
    print(timeline.summary(), end="\n\n")


async def main(dsn: str, folder: Path) -> None:
    """Draw three plans into a folder."""
    await draw_waits([5, 3, 1], folder / "execution-plan-5-3-1.svg")
    await draw_waits([1, 3, 5], folder / "execution-plan-1-3-5.svg")
    await draw_queries(dsn, [5, 3, 1], folder / "execution-plan-queries.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    with embedded.start(tcp=True) as server:
        asyncio.run(main(server.dsn, target))
