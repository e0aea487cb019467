"""pgqueuer: enqueue with arrays, and a worker that gets and logs jobs by the batch."""

from __future__ import annotations

import importlib.metadata
import logging
from typing import TYPE_CHECKING, Any

import asyncpg

from benches.jobs.rivals.rival import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

# Not all environments have it.
pgqueuer: Any = importlib.import_module("pgqueuer")

_LISTENING_BATCH = 10


class PgQueuer:
    """A connection that adds, and one that works. The payload is bytes."""

    name = f"pgqueuer {importlib.metadata.version('pgqueuer')}"
    jobs_most = 10_000

    async def open(self, dsn: str) -> None:
        """Make its tables."""
        logging.getLogger("pgqueuer").setLevel(logging.ERROR)
        self._adder, self._worker = [await asyncpg.connect(dsn) for _ in range(2)]
        self._queries = pgqueuer.Queries(pgqueuer.AsyncpgDriver(self._adder))
        if await self._adder.fetchval("SELECT to_regclass('pgqueuer') IS NULL"):
            await self._queries.install()

    async def close(self) -> None:
        """Close the connections."""
        await self._adder.close()
        await self._worker.close()

    async def add(self, count: int) -> None:
        """One call with arrays."""
        payloads = [f"{number} {TEXT}".encode() for number in range(count)]
        await self._queries.enqueue(["bench"] * count, payloads, [0] * count)

    async def work_off(self, batch: int) -> None:
        """A worker that ends when the queue is empty."""
        modes = importlib.import_module("pgqueuer.types").QueueExecutionMode
        manager = self._manager(lambda _: None)
        await manager.run(batch_size=batch, mode=modes.drain)

    async def add_one(self, number: int) -> None:
        """Enqueue a job."""
        await self._queries.enqueue("bench", f"{number} {TEXT}".encode())

    async def serve(self, arrived: Callable[[int], None]) -> None:
        """A worker that listens."""
        await self._manager(arrived).run(batch_size=_LISTENING_BATCH)

    def _manager(self, arrived: Callable[[int], None]) -> Any:
        manager = pgqueuer.QueueManager(pgqueuer.Queries(pgqueuer.AsyncpgDriver(self._worker)))

        async def work(job: Any) -> None:
            arrived(int(job.payload.split(maxsplit=1)[0]))

        manager.entrypoint("bench")(work)
        return manager
