# async-only: file
"""Waiting for jobs: woken by notifications, by the clock, by a closing pool; and cancelled."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from tests.support.steps import Strike, struck
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from colonnade.jobs.definition import LayoutName


async def all_are_ready(queue: jobs.Queue, count: int) -> None:
    async with asyncio.timeout(20):
        while (await queue.stats()).ready != count:
            pass


async def test_many_waiters_share_one_connection(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    queue.poll = 30.0
    tasks = [asyncio.create_task(queue.get(1, timeout=20)) for _ in range(20)]
    await until(lambda: len(tasks) == 20 and pool.get_size() - pool.get_idle_size() == 1)
    began = time.monotonic()
    await queue.add({"a": np.arange(20)})
    batches = await asyncio.gather(*tasks)
    assert time.monotonic() - began < 5
    ids = [int(batch.ids[0]) for batch in batches]
    assert len(set(ids)) == 20


@pytest.mark.parametrize("verb", ["nack", "extend"])
async def test_whatever_comes_back_sooner_wakes_who_waits(
    pool: colonnade.Pool, queue: jobs.Queue, verb: str
) -> None:
    await queue.add({"a": [1]})
    batch = await queue.get(lease=3600)
    waiting = await jobs.open_queue(pool, "work", poll=3600)
    task = asyncio.create_task(waiting.get(timeout=60))
    while "LISTEN" not in "".join(await listening(pool)):
        pass
    began = time.monotonic()
    if verb == "nack":
        await batch.nack(delay=0.3)
    else:
        await batch.extend(0.3)
    assert (await task).ids.tolist() == batch.ids.tolist()
    assert time.monotonic() - began < 30


async def listening(pool: colonnade.Pool) -> list[str]:
    """The last statements of connections that wait for the next one."""
    sql = "SELECT query FROM pg_stat_activity WHERE state = 'idle' AND query LIKE '%LISTEN%'"
    return [row["query"] for row in await pool.fetch(sql)]


async def test_a_pool_of_one_connection_looks_by_the_clock(dsn: str, queue: jobs.Queue) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as small:
        single = await jobs.open_queue(small, "work", poll=0.1)
        task = asyncio.create_task(single.get(timeout=20))
        await asyncio.sleep(0.2)
        await queue.add({"a": [1]})
        assert len(await task) == 1


async def test_a_connection_that_listens_may_be_lost(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    task = asyncio.create_task(queue.get(timeout=20))
    await asyncio.sleep(0.2)
    await pool.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()"
    )
    await asyncio.sleep(0.1)
    await queue.add({"a": [1]})
    assert len(await task) == 1


async def test_closing_the_pool_ends_a_wait(dsn: str, queue: jobs.Queue) -> None:
    other = await colonnade.create_pool(dsn, min_size=1, max_size=4)
    waiting = await jobs.open_queue(other, "work", poll=0.2)
    task = asyncio.create_task(waiting.get())
    await asyncio.sleep(0.3)
    async with asyncio.timeout(5):
        await other.close()
    with pytest.raises(colonnade.InterfaceError, match="clos"):
        await task
    del queue


@pytest.mark.parametrize("strike", Strike)
async def test_cancelling_get_anywhere_loses_no_job(
    pool: colonnade.Pool, layout: LayoutName, strike: Strike
) -> None:
    # Each strike may cost an attempt, and jobs without any would become dead letters.
    queue = await jobs.create_queue(pool, "struck", {"a": "int8"}, layout=layout)
    await queue.add({"a": np.arange(3)})

    def work() -> Coroutine[None, None, jobs.Batch]:
        queue._next_sweep = 0.0
        return queue.get(2, lease=0.5, timeout=5)

    for at in itertools.count(1):
        reached = await struck(work, strike, at)
        if not reached.task.cancelled() and reached.task.exception() is None:
            await reached.task.result().release()  # type: ignore[attr-defined]
        assert await queue.length() == 3
        if not reached.is_struck:
            break
        await asyncio.sleep(0)
    await asyncio.sleep(0.6)
    assert (await queue.stats()).ready == 3


@pytest.mark.parametrize("strike", Strike)
async def test_cancelling_get_anywhere_leaves_no_lease(queue: jobs.Queue, strike: Strike) -> None:
    await queue.add({"a": np.arange(3)})

    def work() -> Coroutine[None, None, jobs.Batch]:
        queue._next_sweep = 0.0
        return queue.get(2, lease=3600, timeout=5)

    for at in itertools.count(1):
        reached = await struck(work, strike, at)
        if not reached.task.cancelled() and reached.task.exception() is None:
            await reached.task.result().release()  # type: ignore[attr-defined]
        # The lease is given back without the caller.
        await all_are_ready(queue, 3)
        if not reached.is_struck:
            break
    assert set((await queue.peek())["job_attempts"].tolist()) == {0}


async def test_a_cancelled_get_does_not_wait_for_the_pool(queue: jobs.Queue, dsn: str) -> None:
    await queue.add({"a": [1]})
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as small:
        single = await jobs.open_queue(small, "work")
        async with small.acquire():
            # Both before and after a sweep, which asks the server, too.
            for next_sweep in (0.0, time.monotonic() + 3600):
                single._next_sweep = next_sweep
                task = asyncio.create_task(single.get(timeout=30))
                await until(lambda: small.get_stats().waiting == 1)
                task.cancel()
                done, _ = await asyncio.wait([task], timeout=10)
                assert done
                assert task.cancelled()
        assert len(await single.get(timeout=0)) == 1
    assert (await queue.stats()).leased == 1


async def test_the_wait_for_the_pool_counts(dsn: str, queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as small:
        single = await jobs.open_queue(small, "work")
        async with small.acquire(), asyncio.timeout(10):
            with pytest.raises(TimeoutError, match=r"no connection was free within 0\.0"):
                await single.get(timeout=0.05)
        assert len(await single.get(timeout=5)) == 1


async def test_a_get_that_waits_for_a_lock_is_cancelled_at_once(
    pool: colonnade.Pool, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1]})
    locks = "SELECT FROM pg_locks WHERE NOT granted"
    async with pool.acquire() as other, pool.acquire() as watcher, other.transaction():
        await other.execute("LOCK TABLE jobs.work")
        task = asyncio.create_task(queue.get(lease=3600))
        while not await watcher.fetch(locks):
            pass
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10)
        assert done
    await all_are_ready(queue, 1)


@pytest.mark.parametrize("strike", Strike)
async def test_cancelling_a_wait_anywhere_leaves_nothing(queue: jobs.Queue, strike: Strike) -> None:
    for at in itertools.count(1):
        reached = await struck(lambda: queue.get(timeout=0.05), strike, at)
        if not reached.is_struck:
            break
    await queue.add({"a": [1]})
    assert len(await queue.get(timeout=5)) == 1


async def test_two_workers_never_hold_one_job(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(5000)})
    others = [await jobs.open_queue(pool, "work") for _ in range(4)]
    got: list[int] = []

    async def work(mine: jobs.Queue) -> None:
        while batch := await mine.get(37, timeout=0):
            got.extend(batch.columns["a"].tolist())
            await batch.ack()

    await asyncio.gather(*(work(mine) for mine in others))
    # A `get` beside others may see nothing for a moment: the rest is there.
    await work(queue)
    assert sorted(got) == list(range(5000))


@pytest.mark.parametrize("strike", Strike)
async def test_cancelling_add_anywhere_adds_all_or_nothing(
    queue: jobs.Queue, strike: Strike
) -> None:
    either: list[dict[str, Any]] = [{}, {"priority": [1, 2]}]
    for options in either:
        for at in itertools.count(1):
            reached = await struck(
                lambda: queue.add({"a": [1, 2]}, **options),  # noqa: B023 - called at once
                strike,
                at,
            )
            assert await queue.length() in {0, 2}
            await queue.purge()
            if not reached.is_struck:
                break
    # Nothing is left of them that would disturb the next one.
    assert await queue.add({"a": [1, 2]}, priority=[1, 2]) == 2


@pytest.mark.parametrize("strike", Strike)
@pytest.mark.parametrize("verb", ["ack", "nack", "release", "extend"])
async def test_cancelling_what_settles_loses_nothing(
    queue: jobs.Queue, strike: Strike, verb: str
) -> None:
    for at in itertools.count(1):
        await queue.add({"a": np.arange(3)})
        batch = await queue.get(lease=60, timeout=0)
        some = batch.ids[:2]
        method = getattr(batch, verb)
        call = method if verb == "extend" else lambda: method(some)  # noqa: B023 - called at once
        reached = await struck(call, strike, at)
        # It has happened or not; the third job has not changed.
        assert await queue.length() in ({1, 3} if verb == "ack" else {3})
        assert (await queue.stats()).leased in ({3, 1} if verb != "extend" else {3})
        await queue.purge()
        if not reached.is_struck:
            break
