"""Our queues, in either layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

import colonnade
from benches.jobs.rivals.rival import TEXT
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import Callable


class ColonnadeJobs:
    """A queue of one layout, worked off by turns of get and ack."""

    jobs_most = 10**9

    def __init__(self, layout: Literal["rows", "segments"]) -> None:
        self.name = f"colonnade {layout}"
        self._layout = layout

    async def open(self, dsn: str) -> None:
        """Make the queue."""
        self._pool = await colonnade.create_pool(dsn, min_size=1, max_size=3)
        payload = {"user_id": "int8", "body": "text"}
        name = f"bench_{self._layout}"
        self._queue = await jobs.create_queue(self._pool, name, payload, layout=self._layout)

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()

    async def add(self, count: int) -> None:
        """One call, one COPY."""
        await self._queue.add({"user_id": np.arange(count), "body": [TEXT] * count})

    async def work_off(self, batch: int) -> None:
        """Get a batch, acknowledge it, get the next."""
        while found := await self._queue.get(batch, timeout=0):
            await found.ack()

    async def add_one(self, number: int) -> None:
        """Add a table of one row."""
        await self._queue.add({"user_id": [number], "body": [TEXT]})

    async def serve(self, arrived: Callable[[int], None]) -> None:
        """A consumer."""

        async def handler(batch: jobs.Batch) -> None:
            for number in batch.columns["user_id"].tolist():
                arrived(number)

        await self._queue.consume(handler).run()
