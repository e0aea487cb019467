"""Queues of a database that publishes all of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import colonnade
    from colonnade.jobs.definition import LayoutName


@pytest.fixture
async def publishing(pool: colonnade.Pool) -> AsyncIterator[colonnade.Pool]:
    """A pool whose database does."""
    await pool.execute("CREATE PUBLICATION jobs_everything FOR ALL TABLES")
    yield pool
    await pool.execute("DROP PUBLICATION jobs_everything")


async def work_off(queue: jobs.Queue) -> None:
    """Use each verb, each way of adding, and each chore."""
    await queue.add({"a": np.arange(10)})
    await queue.add({"a": np.arange(4)}, delay=[0, 0, 0, 3600.0], priority=1)
    batch = await queue.get(6, timeout=0)
    await batch.extend(30)
    await batch.ack(batch.ids[:2])
    await batch.nack(batch.ids[2], delay=0)
    await batch.nack(batch.ids[3], delay=3600)
    await batch.release(batch.ids[4])
    await batch.ack()
    async with queue.pool.acquire() as connection, connection.transaction():
        await (await queue.get(3, timeout=0)).commit(connection)
    await queue.get(1, lease=None, timeout=0)
    while batch := await queue.get(timeout=0):
        await batch.nack(delay=0)
    assert await queue.requeue() > 0
    await queue.purge()
    # The chores: the slot turns, and is emptied.
    for _ in range(2):
        queue._next_sweep = 0.0
        await queue.sweep()
    assert await queue.length() == 0


async def test_every_verb(
    publishing: colonnade.Pool, layout: LayoutName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade.jobs._layouts.segments_ring._IDLE_S", 0.0)
    retry = jobs.Retry(max_attempts=2, delay=0)
    queue = await jobs.create_queue(publishing, "w", {"a": "int8"}, retry=retry, layout=layout)
    await work_off(queue)
    if layout == "rows":
        await queue.add({"a": [1]}, key="a")
        await queue.add({"a": [1]}, key="a", on_conflict="replace")
    else:
        assert await publishing.fetchval("SELECT slot FROM jobs.w_ring") > 0
    await jobs.drop_queue(publishing, "w")


async def test_every_table_that_changes_says_which_rows(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    await jobs.create_queue(pool, "w", {"a": "int8"}, layout=layout)
    without = await pool.fetchval(
        "SELECT array_agg(relname::text ORDER BY relname) FROM pg_class AS c"
        " WHERE relnamespace = 'jobs'::regnamespace AND relkind = 'r' AND relpersistence = 'p'"
        " AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)"
    )
    # Jobs of segments are never changed or deleted.
    assert without == (None if layout == "rows" else [f"w_s{number}" for number in range(8)])
