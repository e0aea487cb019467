# async-only: file
"""Two verbs on parts of one batch: one of them in a transaction that is still open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import embedded, jobs
from colonnade.jobs._async import asking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from numpy.typing import NDArray

    from colonnade.jobs.definition import LayoutName

VERBS = ("ack", "nack", "release", "extend")
# The jobs that are still in the queue after the verb, of eight.
LEFT = {"ack": 0, "commit": 0, "nack": 8, "release": 8, "extend": 8}
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """A server that may die: its crash must not end other tests."""
    with embedded.start() as server:
        yield server.dsn


@pytest.fixture
async def pool(own_server: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(own_server, min_size=1, max_size=4) as pool:
        yield pool
        await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")


async def many_ranges(pool: colonnade.Pool, layout: LayoutName) -> jobs.Queue:
    """A queue whose tables have pages, so that plans are those of a queue at work."""
    retry = jobs.Retry(max_attempts=100, delay=0)
    queue = await jobs.create_queue(pool, "work", {"a": "int8"}, retry=retry, layout=layout)
    await queue.add({"a": np.arange(3000)}, priority=np.arange(3000) % 300, delay=3600)
    # Not the whole database: with fewer facts, the plans are nested loops, as they are at work.
    await pool.execute("ANALYZE jobs.work")
    if layout == "segments":
        await pool.execute("ANALYZE jobs.work_r")
    return queue


async def within(connection: colonnade.Connection, batch: jobs.Batch, verb: str, ids: Any) -> None:
    """Let a verb of the batch do its work in an open transaction."""
    leased: Any = batch._leased
    calls: dict[str, Callable[[], Any]] = {
        "ack": lambda: batch._acked(ids),
        "nack": lambda: leased.nack(ids, 0.0, ["no"] * len(ids)),
        "release": lambda: leased.release(ids, batch.held),
        "extend": lambda: leased.extend(ids, 60.0),
    }
    call = calls[verb]()
    rows = await connection.fetch_plain(call.forms.brisk, *call.arguments)
    (done,) = call.done(rows)
    assert sorted(done) == ids.tolist()


async def second(
    pool: colonnade.Pool, batch: jobs.Batch, verb: str, ids: NDArray[np.int64]
) -> None:
    if verb == "commit":
        async with pool.acquire() as connection, connection.transaction():
            await batch.commit(connection, ids)
    elif verb == "extend":
        await batch.extend(60.0, ids)
    elif verb == "nack":
        await batch.nack(ids, delay=0, reason="no")
    else:
        await getattr(batch, verb)(ids)


async def blocked(pool: colonnade.Pool, task: asyncio.Task[None]) -> None:
    """Wait until the task waits for the open transaction, unless it need not."""
    while not task.done() and not await pool.fetchval(BLOCKED):  # noqa: ASYNC110 - see `until`
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("first", VERBS)
async def test_every_pair_of_verbs(pool: colonnade.Pool, layout: LayoutName, first: str) -> None:
    queue = await many_ranges(pool, layout)
    table = "work" if layout == "rows" else "work_r"
    for _ in range(2):
        for then in (*VERBS, "commit"):
            for _ in range(8):
                await queue.add({"a": [1, 2, 3]})
            batch = await queue.get(24, timeout=0)
            assert len(batch) == 24
            ids = batch.ids
            async with pool.acquire() as connection:
                transaction = connection.transaction()
                await transaction.start()
                await within(connection, batch, first, ids[::3])
                task = asyncio.create_task(second(pool, batch, then, ids[1::3]))
                await blocked(pool, task)
                await transaction.commit()
            await task
            await batch.ack(ids[2::3])
            assert await queue.length() == 3000 + LEFT[first] + LEFT[then], (first, then)
            await pool.execute(
                f"UPDATE jobs.{table} SET job_token = NULL, job_ready_at = '-infinity'"
                " WHERE job_token IS NOT NULL"
            )
            while rest := await queue.get(timeout=0):
                await rest.ack()


async def test_verbs_at_the_same_time(
    pool: colonnade.Pool, layout: LayoutName, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A deadlock is not to be mended by another attempt.
    monkeypatch.setattr(asking, "_GIVEN_UP", ())
    queue = await many_ranges(pool, layout)
    for round_ in range(40):
        for _ in range(8):
            await queue.add({"a": [1, 2, 3]})
        batch = await queue.get(24, timeout=0)
        ids = batch.ids
        parts = [ids[at::4] for at in range(4)]
        turned = [VERBS[(at + round_) % 4] for at in range(4)]
        await asyncio.gather(
            *(second(pool, batch, verb, part) for verb, part in zip(turned, parts, strict=True))
        )
        await batch.ack()
        while rest := await queue.get(timeout=0):
            await rest.ack()
        assert await queue.length() == 3000
