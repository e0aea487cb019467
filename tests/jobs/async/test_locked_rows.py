# async-only: file
"""Another transaction has locked a job: only this job waits for it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._async import asking
from colonnade.jobs._async.batch import ack_together

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

# The rows whose lease has the job 0, or the only job of its range.
OF_THE_FIRST = {
    "rows": "SELECT FROM jobs.work WHERE a = 0 FOR UPDATE",
    "segments": "SELECT FROM jobs.work_r AS r JOIN jobs.work AS s ON s.job_add = r.job_add"
    " AND s.job_id BETWEEN r.job_first AND r.job_last WHERE s.a = 0 FOR UPDATE OF r",
}


@pytest.fixture
async def ten(queue: jobs.Queue) -> jobs.Queue:
    """A queue with ten jobs; in the layout segments each is a range."""
    for number in range(10):
        await queue.add({"a": [number]})
    return queue


@pytest.fixture
async def other(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection of somebody else."""
    async with await colonnade.connect(dsn) as connection:
        yield connection


async def left(queue: jobs.Queue) -> list[int]:
    """The jobs that are in the queue."""
    return (await queue.peek(100)).to_pydict()["a"]


async def blocked(connection: colonnade.Connection) -> None:
    """Wait until a statement waits for a lock."""
    while not await connection.fetchval(  # noqa: ASYNC110 - the server does not say it
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ):
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("verb", ["ack", "nack", "release"])
async def test_a_verb_waits_for_the_locked_job_alone(
    ten: jobs.Queue, layout: LayoutName, other: colonnade.Connection, verb: str
) -> None:
    batch = await ten.get()
    async with other.transaction():
        await other.execute(OF_THE_FIRST[layout])
        options: dict[str, Any] = {"delay": 0} if verb == "nack" else {}
        task = asyncio.create_task(getattr(batch, verb)(**options))
        await blocked(other)
        if verb == "ack":
            assert await left(ten) == [0]
        else:
            assert (await ten.get(timeout=0)).columns["a"].tolist() == list(range(1, 10))
        assert not task.done()
    await task
    assert not len(batch.held)
    assert await left(ten) == ([] if verb == "ack" else list(range(10)))


async def test_what_a_cancelled_get_gives_back_waits_for_the_locked_job(
    ten: jobs.Queue, layout: LayoutName, other: colonnade.Connection
) -> None:
    """Another `get` locks it, to see that it is leased, for as long as its statement takes."""
    batch = await ten.get()
    async with other.transaction():
        await other.execute(OF_THE_FIRST[layout])
        release_all = asking.ask(ten.pool, ten.layout.release_all, batch.token)
        task = asyncio.create_task(release_all)
        await blocked(other)
    assert await task == [(10,)]
    again = await ten.get(timeout=0)
    assert again.attempts.tolist() == [1] * 10


async def test_a_lock_that_was_given_up_is_none(
    ten: jobs.Queue, layout: LayoutName, other: colonnade.Connection
) -> None:
    batch = await ten.get()
    for end in ("ROLLBACK", "COMMIT"):
        await other.execute("BEGIN")
        await other.execute(OF_THE_FIRST[layout])
        await other.execute(end)
        await batch.extend(60.0)
    await other.execute(f"BEGIN; {OF_THE_FIRST[layout]}; COMMIT")
    assert await ack_together([batch], ten.pool) == ([], [])
    assert await ten.length() == 0


async def test_a_locked_job_keeps_no_others_from_being_acknowledged(
    ten: jobs.Queue, layout: LayoutName, other: colonnade.Connection
) -> None:
    """Neither those of its batch, nor those of others."""
    first, second = await ten.get(5), await ten.get(5)
    async with other.transaction():
        await other.execute(OF_THE_FIRST[layout])
        locked, lost = await ack_together([first, second], ten.pool)
        assert (locked, lost) == ([first], [])
        assert first.held.tolist() == first.ids[:1].tolist()
        assert await left(ten) == [0]
        assert await ack_together(locked, ten.pool) == ([first], [])
    assert await ack_together(locked, ten.pool) == ([], [])
    assert await ten.length() == 0


async def test_a_locked_job_may_be_lost_after_all(
    rows_queue: jobs.Queue, other: colonnade.Connection
) -> None:
    await rows_queue.add({"a": [1, 2]}, key="a")
    batch = await rows_queue.get()
    async with other.transaction():
        await rows_queue.add({"a": [1]}, key="a", on_conflict="replace", connection=other)
        assert await ack_together([batch], rows_queue.pool) == ([batch], [])
    locked, ((loser, lost),) = await ack_together([batch], rows_queue.pool)
    assert not locked
    assert loser is batch
    assert lost.lost.tolist() == batch.ids[:1].tolist()


async def test_a_worker_tells_later_what_is_locked(
    ten: jobs.Queue,
    layout: LayoutName,
    other: colonnade.Connection,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[int] = []
    done = asyncio.Event()

    async def handler(batch: jobs.Batch) -> None:
        if not seen:
            await other.execute("BEGIN")
            await other.execute(OF_THE_FIRST[layout])
        seen.extend(batch.columns["a"].tolist())
        if len(seen) == 10:
            done.set()

    consumer = ten.consume(handler, limit=5, lease=1.0)
    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        work = asyncio.create_task(consumer.run())
        await done.wait()
        while await left(ten) != [0]:  # noqa: ASYNC110 - the server does not say it
            await asyncio.sleep(0.01)
        await other.execute("ROLLBACK")
        while await ten.length():  # noqa: ASYNC110 - the server does not say it
            await asyncio.sleep(0.01)
        consumer.stop()
        await work
    assert sorted(seen) == list(range(10))
    assert not caplog.records


async def test_a_worker_that_stops_leaves_what_is_locked(
    ten: jobs.Queue,
    layout: LayoutName,
    other: colonnade.Connection,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("colonnade.jobs._async.acking._LAST_S", 0.1)

    async def handler(_batch: jobs.Batch) -> None:
        if not other.is_in_transaction():
            await other.execute("BEGIN")
            await other.execute(OF_THE_FIRST[layout])

    with caplog.at_level(logging.WARNING, logger="colonnade.jobs"):
        await ten.consume(handler).drain()
    await other.execute("ROLLBACK")
    assert await left(ten) == [0]
    (record,) = caplog.records
    assert "1 jobs of the queue" in record.getMessage()
    assert "another transaction has locked them" in record.getMessage()


async def test_many_hands_lock_and_settle(
    dsn: str, layout: LayoutName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of batches, settled by verbs and transactions at once: nobody waits in a circle."""
    # A deadlock is not to be mended by another attempt.
    monkeypatch.setattr(asking, "_GIVEN_UP", ())
    async with colonnade.create_pool(dsn, min_size=1, max_size=8) as pool:

        async def commit(batch: jobs.Batch, ids: Any) -> None:
            async with pool.acquire() as connection, connection.transaction():
                await batch.commit(connection, ids)

        try:
            queue = await jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
            for number in range(20):
                for _ in range(6):
                    await queue.add({"a": np.arange(8)})
                batch = await queue.get()
                ids = np.random.default_rng(number).permutation(batch.ids)
                await asyncio.gather(
                    *(commit(batch, ids[at::6]) for at in (0, 1)),
                    *(batch.ack(ids[at::6]) for at in (2, 3)),
                    batch.nack(ids[4::6], delay=0),
                    batch.release(ids[5::6]),
                )
                await queue.purge()
        finally:
            await pool.execute("DROP SCHEMA jobs CASCADE")
