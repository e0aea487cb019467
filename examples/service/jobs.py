"""The small jobs of the service: each search that was answered is counted, by the batch.

They are here for what a restart does with them: a process that ends gives the leases back of what
it has not worked off, so that another process has it at once and not when the leases end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

import colonnade
from colonnade import jobs
from colonnade.errors import DataError, InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

QUEUE = "searches"
PAYLOAD = {"origin": "text NOT NULL", "dest": "text NOT NULL"}
COUNTS = "CREATE TABLE search_counts (origin text, dest text, searches int8)"
#: How often the searches are written down.
_FLUSH_SECONDS = 1.0
#: The most searches to count while the database is away; further ones are lost.
_KEPT_MAX = 10_000
_log = logging.getLogger("service.jobs")


class SearchJobs:
    """Adds the searches to the queue in batches, and works them off."""

    def __init__(self, pool: colonnade.Pool, queue: jobs.Queue, stop_within: float) -> None:
        self._pool = pool
        self._queue = queue
        self._searches: list[tuple[str, str]] = []
        self._consumer = queue.consume(
            self._work, limit=1000, lease=60.0, concurrency=1, prefetch=1, stop_within=stop_within
        )

    def note(self, origin: str, dest: str) -> None:
        """Keep a search until the next batch is added."""
        if len(self._searches) < _KEPT_MAX:
            self._searches.append((origin, dest))

    def stop(self) -> None:
        """Take no further jobs; those that were taken but not begun are given back."""
        self._consumer.stop()

    async def run(self) -> None:
        """Work until `stop`; wait for the database when it is away."""
        adding = asyncio.create_task(self._add_for_ever(), name="searches to jobs")
        try:
            await self._consumer.run()
        finally:
            adding.cancel()
            await asyncio.wait({adding})
            with contextlib.suppress(PostgresError, InterfaceError, OSError):
                await self._add()

    async def _add_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            try:
                await self._add()
            except (PostgresError, InterfaceError, OSError) as error:
                _log.warning("searches were not counted: %s", type(error).__name__)

    async def _add(self) -> None:
        searches, self._searches = self._searches, []
        if searches:
            await self._add_all(searches)

    async def _add_all(self, searches: list[tuple[str, str]]) -> None:
        """Add what can be added: one client's search that is refused costs the others nothing."""
        try:
            await self._queue.add(searches)
        except DataError as error:
            if len(searches) == 1:
                _log.warning("a search was refused: %s", error)
                return
            half = len(searches) // 2
            await self._add_all(searches[:half])
            await self._add_all(searches[half:])

    async def _work(self, batch: jobs.Batch) -> None:
        counts = batch.columns.group_by("origin", "dest").aggregate(searches=("job_id", "count"))
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.copy_columns_to_table("search_counts", counts)
            # The counts and the end of the jobs are one: none counts twice, none is lost.
            await batch.commit(connection)


async def create_jobs(dsn: str) -> None:
    """Make the queue, and the table that the jobs write to."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        await jobs.create_queue(pool, QUEUE, PAYLOAD)
        await pool.execute(COUNTS)


@contextlib.asynccontextmanager
async def search_jobs(pool: colonnade.Pool, stop_within: float) -> AsyncGenerator[SearchJobs]:
    """Work off jobs while the block runs; then give back what was taken."""
    queue = await jobs.open_queue(pool, QUEUE)
    working = SearchJobs(pool, queue, stop_within)
    task = asyncio.create_task(working.run(), name="jobs")
    try:
        yield working
    finally:
        working.stop()
        try:
            await asyncio.wait_for(task, stop_within + 1)
        except TimeoutError:
            _log.warning("jobs did not end in time: their leases end by themselves")
