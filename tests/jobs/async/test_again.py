"""`on_conflict="again"`: another job beside one that a worker holds, handed out after it."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import jobs
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    import colonnade

AGAIN: Any = {"key": "a", "on_conflict": "again"}


@pytest.fixture
async def queue(pool: colonnade.Pool) -> jobs.Queue:
    """A queue with two attempts."""
    retry = jobs.Retry(max_attempts=2, delay=0)
    return await jobs.create_queue(pool, "w", {"a": "int8", "b": "text"}, retry=retry, poll=3600)


async def got(queue: jobs.Queue) -> list[str]:
    """Take the jobs that are handed out now, finish them, and return their texts."""
    batch = await queue.get(timeout=0)
    await batch.ack()
    found: list[str] = batch.columns["b"].tolist()
    return found


async def test_a_job_that_waits_is_left_alone(queue: jobs.Queue) -> None:
    assert await queue.add([(1, "x"), (1, "y"), (2, "z")], **AGAIN) == 2
    assert await queue.add([(1, "w")], **AGAIN) == 0
    assert await got(queue) == ["x", "z"]


async def test_beside_a_leased_one_another_waits(queue: jobs.Queue) -> None:
    await queue.add([(1, "x"), (2, "other")], **AGAIN)
    batch = await queue.get(1, timeout=0)
    assert await queue.add([(1, "y"), (2, "no"), (3, "new")], **AGAIN) == 2
    assert await queue.add([(1, "z")], **AGAIN) == 0
    assert await queue.add([(1, "z")], key="a") == 0
    stats = await queue.stats()
    assert (stats.total, stats.ready, stats.leased, stats.delayed) == (4, 2, 1, 1)
    assert (await queue.peek()).to_pydict()["job_key"].count("1") == 2
    assert await got(queue) == ["other", "new"]
    await batch.ack()
    assert await got(queue) == ["y"]
    assert await queue.length() == 0


async def test_a_job_that_failed_is_tried_before_it(queue: jobs.Queue) -> None:
    await queue.add([(1, "x")], **AGAIN)
    batch = await queue.get(timeout=0)
    await queue.add([(1, "y")], **AGAIN)
    await batch.release()
    batch = await queue.get(timeout=0)
    assert batch.columns["b"].tolist() == ["x"]
    await batch.nack()
    batch = await queue.get(timeout=0)
    assert batch.columns["b"].tolist() == ["x"]
    await batch.nack()
    assert (await queue.stats()).dead == 1
    assert await got(queue) == ["y"]


# async-only: begin
async def test_the_end_of_the_leased_one_wakes_who_waits(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add([(1, "x")], **AGAIN)
    batch = await queue.get(timeout=0)
    await queue.add([(1, "y")], **AGAIN)
    waiting = asyncio.create_task(queue.get(timeout=60))
    while not await pool.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^LISTEN'"):
        pass
    await batch.ack()
    assert (await waiting).columns["b"].tolist() == ["y"]


# async-only: end
async def test_it_is_freed_in_the_transaction_of_commit(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add([(1, "x")], **AGAIN)
    batch = await queue.get(timeout=0)
    await queue.add([(1, "y")], delay=3600, **AGAIN)
    async with pool.acquire() as connection, connection.transaction():
        await batch.commit(connection)
    assert await pool.fetchval("SELECT job_after IS NULL FROM jobs.w WHERE job_key = '1'")
    assert not await queue.get(timeout=0)
    await pool.execute("UPDATE jobs.w SET job_ready_at = now(), job_waits_until = now()")
    assert await got(queue) == ["y"]


async def test_a_lease_that_ended_counts_as_held(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add([(1, "x")], **AGAIN)
    late = await queue.get(timeout=0)
    await pool.execute("UPDATE jobs.w SET job_ready_at = '-infinity'")
    # The late worker may have read what the adder has changed since, and still acknowledges.
    assert await queue.add([(1, "y")], **AGAIN) == 1
    await late.ack()
    assert await got(queue) == ["y"]


async def test_whoever_sweeps_frees_what_others_forgot(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add([(1, "x")], **AGAIN)
    await queue.get(timeout=0)
    await queue.add([(1, "y")], **AGAIN)
    await pool.execute("DELETE FROM jobs.w WHERE job_key = '1'")
    queue._next_sweep = 0.0
    assert await got(queue) == ["y"]


async def test_one_that_waits_is_handed_out_after_the_transaction(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add([(1, "x")], **AGAIN)
    async with pool.acquire() as connection, connection.transaction():
        assert await queue.add([(1, "y")], connection=connection, **AGAIN) == 0
        # A worker that got it now would not see what the transaction has written.
        assert not await queue.get(timeout=0)
    assert await got(queue) == ["x"]


async def test_segments_and_jobs_without_keys(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    segments = await jobs.create_queue(pool, "s", {"a": "int8"}, layout="segments")
    with pytest.raises(InterfaceError, match="no unique keys"):
        await segments.add([(1,)], **AGAIN)
    with pytest.raises(ValueError, match="needs a key"):
        await queue.add([(1, "x")], on_conflict="again")
    assert await queue.add([(None, "x"), (None, "y")], **AGAIN) == 2


@pytest.mark.parametrize("count", [3, 11_000])
async def test_large_calls_and_long_keys(queue: jobs.Queue, count: int) -> None:
    keys = [f"{number:05d}{'k' * 5000}" for number in range(3)] + list(range(3, count))
    table = {"b": ["x"] * count}
    assert await queue.add(table, key=keys, on_conflict="again") == count
    batch = await queue.get(count, timeout=0)
    assert await queue.add(table, key=keys, on_conflict="again") == count
    assert await queue.add(table, key=keys, on_conflict="again") == 0
    await batch.ack()
    assert len(await queue.get(count, timeout=0)) == count


# async-only: begin
async def test_many_adders_and_workers_of_the_same_keys(queue: jobs.Queue) -> None:
    """Of each key one is held at a time, and something runs after the last change."""
    changed = dict.fromkeys(range(20), 0)
    seen = dict.fromkeys(range(20), -1)
    held: set[int] = set()
    is_done = False

    async def change() -> None:
        for _ in range(15):
            keys = random.sample(range(20), 8)
            for key in keys:
                changed[key] += 1
            await queue.add([(key, "") for key in keys], **AGAIN)

    async def work() -> None:
        while not (is_done and not await queue.length()):
            batch = await queue.get(5, timeout=0)
            keys = batch.columns["a"].tolist()
            assert not held.intersection(keys)
            held.update(keys)
            before = {key: changed[key] for key in keys}
            await asyncio.sleep(0)
            held.difference_update(keys)
            seen.update(before)
            if keys and random.random() < 0.1:
                await batch.release()
            else:
                await batch.ack()

    working = [asyncio.create_task(work()) for _ in range(3)]
    await asyncio.gather(*(change() for _ in range(4)))
    is_done = True
    async with asyncio.timeout(60):
        await asyncio.gather(*working)
    assert all(seen[key] == changed[key] for key in changed if changed[key])


# async-only: end
