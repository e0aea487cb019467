"""Measures queues while a snapshot is held: `python -m benches.jobs.snapshot [--minutes 10]`.

Another transaction holds a snapshot open, so vacuum can remove no dead row. A queue of each layout
is filled and worked off by turns, for a second each, on one server with fsync on and autovacuum as
it is by default: a minute without the snapshot, then the minutes with it, then a minute after its
end. Prints what is left of the rates, and draws rates, sizes and dead rows over time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import asyncpg
import numpy as np

import colonnade
from benches.jobs.__main__ import DURABLE
from benches.jobs.held_picture import draw
from benches.jobs.rivals.rival import TEXT
from colonnade import embedded, jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Layout = Literal["rows", "segments"]
Phase = Literal["before", "held", "after"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_SIZE = (
    "SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class AS c"
    " WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'i')"
)
_DEAD = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1"
_ROUND_JOBS = 10_000
_BATCH = 1000


@dataclass(frozen=True)
class Sample:
    """A turn of one queue."""

    layout: Layout
    phase: Phase
    at_s: float
    """Seconds since the snapshot was taken; before it they are negative."""
    jobs_per_s: float
    size_mb: float
    dead: int


@dataclass
class Turns:
    """Two queues that work by turns."""

    queues: dict[Layout, jobs.Queue]
    admin: asyncpg.Connection
    turn_s: float
    pause_s: float
    began: float = 0.0

    async def work(self, phase: Phase, seconds: float) -> list[Sample]:
        """Let the queues work by turns for this time."""
        samples = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for layout, queue in self.queues.items():
                rate = await self._turn(queue)
                at = time.monotonic() - self.began
                size = await self.admin.fetchval(_SIZE, queue.definition.schema)
                dead = await self.admin.fetchval(_DEAD, queue.definition.schema)
                samples.append(Sample(layout, phase, at, rate, size / 1e6, dead))
            # Others on the machine get their turn, too.
            await asyncio.sleep(self.pause_s)
        return samples

    async def _turn(self, queue: jobs.Queue) -> float:
        """Fill the queue and work it off, again and again; return the jobs per second."""
        began = time.monotonic()
        done = 0
        while time.monotonic() < began + self.turn_s:
            await queue.add({"user_id": np.arange(_ROUND_JOBS), "body": [TEXT] * _ROUND_JOBS})
            while batch := await queue.get(_BATCH, timeout=0):
                await batch.ack()
                done += len(batch)
        return done / (time.monotonic() - began)


@asynccontextmanager
async def held_snapshot(dsn: str) -> AsyncIterator[None]:
    """Hold a snapshot, as a report or a dump does."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.fetchval("SELECT count(*) FROM pg_class")
            yield
    finally:
        await connection.close()


async def measured(arguments: argparse.Namespace, dsn: str) -> list[Sample]:
    """The samples of all three phases."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=3) as pool:
        queues: dict[Layout, jobs.Queue] = {
            layout: await jobs.create_queue(
                *(pool, "work", {"user_id": "int8", "body": "text"}),
                schema=f"held_{layout}",
                layout=layout,
            )
            for layout in LAYOUTS
        }
        admin = await asyncpg.connect(dsn)
        turns = Turns(queues, admin, arguments.turn, arguments.pause)
        # The first turns make the files, prepare statements and warm the caches.
        await turns.work("before", 4 * arguments.turn)
        turns.began = time.monotonic() + arguments.around
        samples = await turns.work("before", arguments.around)
        async with held_snapshot(dsn):
            turns.began = time.monotonic()
            samples += await turns.work("held", arguments.minutes * 60)
        samples += await turns.work("after", arguments.around)
        await admin.close()
    return samples


def summary(samples: list[Sample]) -> dict[str, dict[str, float]]:
    """For each layout: the rate before, and what is left of it in the last quarter of the hold."""
    told: dict[str, dict[str, float]] = {}
    for layout in LAYOUTS:
        mine = [each for each in samples if each.layout == layout]
        before = statistics.median(each.jobs_per_s for each in mine if each.phase == "before")
        held = [each for each in mine if each.phase == "held"]
        last = statistics.median(each.jobs_per_s for each in held[-max(1, len(held) // 4) :])
        after = statistics.median(each.jobs_per_s for each in mine if each.phase == "after")
        told[layout] = {
            "jobs/s before": before,
            "kept of the rate, whole hold": (
                statistics.median(each.jobs_per_s for each in held) / before
            ),
            "kept of the rate, last quarter": last / before,
            "kept of the rate, after": after / before,
            "largest size, MB": max(each.size_mb for each in held),
            "most dead rows": max(each.dead for each in held),
        }
    return told


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the held snapshot")
    parser.add_argument("--around", type=float, default=60.0, help="seconds before and after it")
    parser.add_argument("--turn", type=float, default=1.0, help="seconds of a queue's turn")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two turns")
    parser.add_argument("--draw", type=Path, help="a folder for the picture held-snapshot.svg")
    parser.add_argument("--json", type=Path, help="a file for the samples")
    arguments = parser.parse_args()
    with embedded.start(settings=DURABLE) as server:
        samples = asyncio.run(measured(arguments, server.dsn))
    print(json.dumps(summary(samples), indent=2))
    kept: list[dict[str, Any]] = [asdict(each) for each in samples]
    if arguments.json:
        arguments.json.write_text(json.dumps(kept) + "\n")
    if arguments.draw:
        draw(kept, arguments.draw)


if __name__ == "__main__":
    main()
