"""procrastinate: batch_defer, and a worker that fetches one job after another."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import psycopg

from benches.jobs.rivals.rival import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

# Not all environments have it.
procrastinate: Any = importlib.import_module("procrastinate")


class Procrastinate:
    """One worker with ten coroutines; jobs that are done are deleted."""

    name = f"procrastinate {procrastinate.__version__}"
    jobs_most = 1000

    async def open(self, dsn: str) -> None:
        """Make its schema."""
        connector = procrastinate.PsycopgConnector(conninfo=dsn, min_size=1, max_size=4)
        self._app: Any = procrastinate.App(connector=connector)
        self._arrived: Callable[[int], None] = lambda _: None

        async def work(user_id: int, body: str) -> None:
            del body
            self._arrived(user_id)

        self._task = self._app.task(name="bench", queue="bench")(work)
        await self._app.open_async()
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            asked = "SELECT to_regclass('procrastinate_jobs') IS NULL"
            row = await (await connection.execute(asked)).fetchone()
        if row is not None and row[0]:
            await self._app.schema_manager.apply_schema_async()

    async def close(self) -> None:
        """Close its pool."""
        await self._app.close_async()

    async def add(self, count: int) -> None:
        """One call of batch_defer."""
        jobs = [{"user_id": number, "body": TEXT} for number in range(count)]
        await self._task.batch_defer_async(*jobs)

    async def work_off(self, batch: int) -> None:
        """A worker that ends when the queue is empty; it cannot get several jobs at once."""
        del batch
        await self._app.run_worker_async(
            wait=False,
            concurrency=10,
            delete_jobs="always",
            listen_notify=False,
            install_signal_handlers=False,
        )

    async def add_one(self, number: int) -> None:
        """Defer a job."""
        await self._task.defer_async(user_id=number, body=TEXT)

    async def serve(self, arrived: Callable[[int], None]) -> None:
        """A worker that listens."""
        self._arrived = arrived
        await self._app.run_worker_async(
            concurrency=10, delete_jobs="always", install_signal_handlers=False
        )
