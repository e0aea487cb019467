"""Defaults of role and database that no statement of a queue expects."""

from __future__ import annotations

# async-only: begin
import asyncio
import logging

# async-only: end
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._layouts import segments_ring

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

SETTINGS = {
    "serializable": {"default_transaction_isolation": "serializable"},
    "repeatable read": {"default_transaction_isolation": "repeatable read"},
    "read only": {"default_transaction_read_only": "on"},
    "idle": {"idle_in_transaction_session_timeout": "300"},
    "locks": {"lock_timeout": "1"},
    "statements": {"statement_timeout": "10000"},
    "deadlocks": {"deadlock_timeout": "1"},
}


@pytest.fixture(params=SETTINGS)
async def hostile(dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[colonnade.Pool]:
    """A pool of a role that has such settings."""
    changes = "; ".join(
        f"ALTER ROLE jobs_hostile SET {name} = '{value}'"
        for name, value in SETTINGS[request.param].items()
    )
    async with await colonnade.connect(dsn) as owner:
        await owner.execute(
            "DROP ROLE IF EXISTS jobs_hostile; CREATE ROLE jobs_hostile LOGIN SUPERUSER"
            f" PASSWORD 'hostile'; {changes}"
        )
        try:
            async with colonnade.create_pool(
                dsn, user="jobs_hostile", password="hostile", min_size=1, max_size=8
            ) as pool:
                yield pool
        finally:
            await owner.execute("DROP SCHEMA IF EXISTS jobs CASCADE; DROP ROLE jobs_hostile")


async def made(pool: colonnade.Pool, layout: LayoutName, **options: Any) -> jobs.Queue:
    return await jobs.create_queue(
        pool, "work", {"a": "int8"}, layout=layout, retry=jobs.Retry(delay=0), **options
    )


async def test_every_verb(hostile: colonnade.Pool, layout: LayoutName) -> None:
    queue = await made(hostile, layout, max_length=1000)
    assert await queue.add({"a": [1, 2, 3, 4, 5, 6]}) == 6
    assert await queue.add({"a": [7]}, priority=1, delay=0.0, ttl=60) == 1
    batch = await queue.get()
    await batch.extend(60.0)
    await batch.nack(batch.ids[:1], reason="no")
    await batch.release(batch.ids[1:2])
    await batch.ack(batch.ids[2:3])
    async with hostile.acquire() as connection, connection.transaction():
        await connection.execute("SET TRANSACTION READ WRITE")
        await batch.commit(connection, batch.ids[3:4])
    await batch.ack()
    assert (await queue.get(1, lease=None)).columns["a"].tolist() == [1]
    assert (await queue.get(10, lease=None)).columns["a"].tolist() == [2]
    assert (await queue.stats()).total == await queue.length() == await queue.purge() == 0
    assert await queue.requeue() == await queue.purge_dead() == 0
    assert await jobs.migrate_queues(hostile) == []
    await jobs.drop_queue(hostile, "work")


# async-only: begin
@pytest.mark.parametrize(
    "hostile", ["serializable", "read only", "locks", "deadlocks"], indirect=True
)
async def test_workers_do_each_job_once(
    hostile: colonnade.Pool,
    layout: LayoutName,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The ring turns all the time.
    monkeypatch.setattr(segments_ring, "_JOBS_BYTES", 1)
    queue = await made(hostile, layout)
    seen: list[int] = []
    failed: set[int] = set()

    async def handler(batch: jobs.Batch) -> None:
        numbers = batch.columns["a"].tolist()
        if not failed.issuperset(numbers) and numbers[0] % 7 == 0:
            failed.update(numbers)
            await batch.nack(batch.ids, delay=0)
        else:
            seen.extend(numbers)

    async def add() -> None:
        for first in range(0, 1000, 100):
            await queue.add({"a": np.arange(first, first + 100)})

    async def work() -> None:
        mine = await jobs.open_queue(hostile, "work")
        while len(seen) < 1000:
            await mine.consume(handler, limit=10, concurrency=2).drain()

    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        await asyncio.gather(add(), *(work() for _ in range(4)))
    assert sorted(seen) == list(range(1000))
    assert await queue.length() == 0
    assert not [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("hostile", ["idle"], indirect=True)
async def test_a_table_that_comes_late_keeps_the_transaction(
    hostile: colonnade.Pool, layout: LayoutName
) -> None:
    queue = await made(hostile, layout)

    async def table() -> AsyncIterator[dict[str, list[int]]]:
        # Longer than a transaction may be idle.
        await asyncio.sleep(0.5)
        yield {"a": [1]}

    assert await queue.add(table()) == 1


# async-only: end
