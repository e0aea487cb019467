# async-only: file
"""A lease is kept by a connection that nobody else uses, whatever the handlers do."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

LEASE_S = 0.6


@pytest.fixture
async def small(dsn: str, queue: jobs.Queue) -> AsyncIterator[colonnade.Pool]:
    """The pool of a worker, with three connections; `queue` has another pool."""
    settings = {"application_name": "worker"}
    async with colonnade.create_pool(dsn, min_size=1, max_size=3, server_settings=settings) as pool:
        yield pool
    del queue


async def nobody_gets_a_job(queue: jobs.Queue, leases: float = 3.0) -> bool:
    """Whether another worker gets none while this many leases pass."""
    return not await queue.get(timeout=leases * LEASE_S)


async def test_busy_handlers_do_not_hold_up_extensions(
    queue: jobs.Queue, small: colonnade.Pool
) -> None:
    """They use all connections of the pool, and more of them wait for one."""
    await queue.add({"a": np.arange(3)})
    theirs = await jobs.open_queue(small, "work")
    done: Counter[int] = Counter()
    holding, is_over = [], asyncio.Event()

    async def handler(batch: jobs.Batch) -> None:
        async with small.acquire() as connection:
            holding.append(connection)
            await is_over.wait()
        done.update(batch.columns["a"].tolist())

    consumer = theirs.consume(handler, limit=1, lease=LEASE_S, concurrency=3)
    work = asyncio.create_task(consumer.drain())
    await until(lambda: len(holding) == 2 and small.get_stats().waiting > 0)
    assert await nobody_gets_a_job(queue)
    is_over.set()
    await work
    assert done == Counter(range(3))
    assert (await queue.stats()).total == 0


async def test_a_blocked_loop_does_not_compete_with_itself(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})
    done: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        done.extend(batch.attempts.tolist())
        time.sleep(2.5 * LEASE_S)  # noqa: ASYNC251 - that is the case
        # The lease has ended; other lanes of this worker look for jobs before this one goes on.
        await asyncio.sleep(0)
        consumer.stop()

    queue.poll = 0.05
    consumer = queue.consume(handler, lease=LEASE_S, prefetch=2)
    await consumer.run()
    assert done == [1]
    assert (await queue.stats()).total == 0


async def test_a_lost_connection_is_replaced_before_anybody_else_is_served(
    queue: jobs.Queue, small: colonnade.Pool
) -> None:
    await queue.add({"a": np.arange(3)})
    theirs = await jobs.open_queue(small, "work")
    done: Counter[int] = Counter()
    holding, is_over = [], asyncio.Event()

    async def handler(batch: jobs.Batch) -> None:
        async with small.acquire() as connection:
            holding.append(connection.get_server_pid())
            await is_over.wait()
        done.update(batch.columns["a"].tolist())

    consumer = theirs.consume(handler, limit=1, lease=LEASE_S, concurrency=3)
    work = asyncio.create_task(consumer.drain())
    await until(lambda: len(holding) == 2 and small.get_stats().waiting > 0)
    ended = await queue.pool.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'worker' AND pid <> ALL ($1)",
        holding,
    )
    assert len(ended) == 1
    assert await nobody_gets_a_job(queue)
    is_over.set()
    await work
    assert done == Counter(range(3))


async def test_consumers_share_what_they_keep(queue: jobs.Queue, dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pair:
        theirs = await jobs.open_queue(pair, "work")
        done: list[int] = []

        async def handler(batch: jobs.Batch) -> None:
            done.extend(batch.columns["a"].tolist())

        consumers = [theirs.consume(handler, limit=1) for _ in range(5)]
        works = [asyncio.create_task(consumer.run()) for consumer in consumers]
        await queue.add({"a": np.arange(20)})
        await until(lambda: len(done) == 20)
        for consumer in consumers:
            consumer.stop()
        await asyncio.gather(*works)
    assert sorted(done) == list(range(20))


async def test_a_pool_of_one_connection_is_refused(queue: jobs.Queue, dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as single:
        theirs = await jobs.open_queue(single, "work")
        with pytest.raises(jobs.PoolTooSmallError, match="at least 2 connections") as caught:
            theirs.consume(lambda batch: batch.ack())
    assert caught.value.needed == 2
    del queue


async def test_what_was_done_in_time_is_not_told_as_lost(
    queue: jobs.Queue, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Extensions follow each other, and meet acknowledgements all the time.
    monkeypatch.setattr("colonnade.jobs._async.leases.EXTENSIONS_PER_LEASE", 10_000)
    await queue.add({"a": np.arange(1000)})
    events: Counter[str] = Counter()

    def note(_schema: str, _name: str, event: str, count: int) -> None:
        events[event] += count

    async def handler(_batch: jobs.Batch) -> None:
        await asyncio.sleep(0)

    jobs.add_observer(note)
    try:
        await queue.consume(handler, limit=5, lease=60.0, concurrency=6).drain()
    finally:
        jobs.remove_observer(note)
    assert events["done"] == 1000
    assert events["extended"]
    assert events["lost"] == 0
    assert not caplog.records


async def test_an_idle_worker_leaves_slow_jobs_to_others(queue: jobs.Queue) -> None:
    """Two of them wait, and do not know how slow the jobs will be."""
    begun: dict[int, list[int]] = {0: [], 1: []}
    is_over = asyncio.Event()

    def handler_of(number: int) -> Callable[[jobs.Batch], Coroutine[None, None, None]]:
        async def handler(batch: jobs.Batch) -> None:
            begun[number].append(len(batch))
            await is_over.wait()

        return handler

    # Before, they have been busy, and took as many as they may.
    await queue.add({"a": np.arange(5000)})
    is_over.set()
    consumers = [queue.consume(handler_of(number)) for number in begun]
    works = [asyncio.create_task(consumer.run()) for consumer in consumers]
    while await queue.length():
        pass
    assert max(begun[0] + begun[1]) > 500
    is_over.clear()
    begun[0].clear()
    begun[1].clear()
    await queue.add({"a": np.arange(100)})
    await until(lambda: bool(begun[0] and begun[1]))
    assert sum(begun[0] + begun[1]) <= 40
    is_over.set()
    while await queue.length():
        pass
    for consumer in consumers:
        consumer.stop()
    await asyncio.gather(*works)
