"""pgqueuer: its schema, jobs added and worked off on its asyncpg driver, and its notifications."""

from __future__ import annotations

import asyncio

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
from pgqueuer import PgQueuer  # noqa: E402
from pgqueuer.db import AsyncpgDriver  # noqa: E402
from pgqueuer.models import Job  # noqa: E402, TC002 - pgqueuer reads the annotation
from pgqueuer.queries import Queries  # noqa: E402

_JOBS = 50


async def main() -> None:
    connection = await asyncpg.connect(DSN)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    answer("installed", await queries.has_table("pgqueuer"))
    payloads = [f"{n}".encode() for n in range(_JOBS)]
    added = await queries.enqueue(["work"] * _JOBS, payloads, [0] * _JOBS)
    answer("added", len(added))
    sizes = await queries.queue_size()
    answer("size", [(row.entrypoint, row.status, row.count) for row in sizes])
    worker = await asyncpg.connect(DSN)
    queuer = PgQueuer(AsyncpgDriver(worker))
    done: list[bytes] = []
    emptied = asyncio.Event()

    @queuer.entrypoint("work")
    async def work(job: Job) -> None:
        done.append(job.payload or b"")
        if len(done) == _JOBS:
            emptied.set()
        if len(done) == _JOBS + 1:
            queuer.shutdown.set()

    async def late() -> None:
        # The worker's queue is empty by then, so a notification wakes it.
        await emptied.wait()
        await queries.enqueue("work", b"late")

    async with asyncio.timeout(60):
        await asyncio.gather(queuer.run(), late())
    answer("done", sorted(done))
    answer("left", [row.count for row in await queries.queue_size()])
    for finished in (worker, connection):
        await finished.close()


asyncio.run(main())
