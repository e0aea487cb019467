"""The loop of a worker: nothing is acknowledged that was not done, and nothing is lost."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs._async.batch import ack_together
from colonnade.jobs._tasks.asyncio import Signal

# A worker is tasks or threads, and each has its own way to stop.
pytestmark = pytest.mark.every_pair


async def test_drain_does_every_job_once(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(1000)})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    await queue.consume(handler, limit=70, concurrency=2).drain()
    assert sorted(seen) == list(range(1000))
    assert await queue.length() == 0


async def test_a_handler_that_raises_gives_its_jobs_back(queue: jobs.Queue) -> None:
    await queue.add({"a": [1, 2, 3]})

    async def handler(batch: jobs.Batch) -> None:
        await batch.ack(batch.ids[batch.columns["a"] == 1])
        raise ValueError("no\0good")

    await queue.consume(handler).drain()
    assert await queue.length() == 0
    dead = (await queue.dead()).to_pydict()
    assert dead["a"] == [2, 3]
    for errors in dead["job_errors"]:
        assert [error.split(" | ")[0] for error in errors] == ["ValueError: no\\0good"]


async def test_small_batches_are_acknowledged_together(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(300)})
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        if batch.columns["a"][0] == 7:
            await batch.nack(reason="once", delay=0)

    await queue.consume(handler, limit=1, concurrency=4, prefetch=4).drain()
    assert sorted(seen) == sorted([*range(300), 7])
    assert (await queue.stats()).total == 0


async def test_a_lost_lease_is_of_its_batch_alone(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(5)})
    late, first = await queue.get(3), await queue.get(2)
    await late.extend(0.05)
    passed_on = await queue.get(2, timeout=5)
    assert passed_on.columns["a"].tolist() == [0]
    locked, lost = await ack_together([late, first, passed_on], queue.pool)
    assert not locked
    # One of its jobs was passed on, and done by its new holder; the others were not.
    assert [(of, error.lost.tolist()) for of, error in lost] == [(late, passed_on.ids.tolist())]
    assert [len(batch.held) for batch in (late, first, passed_on)] == [0, 0, 0]
    assert await ack_together([late, first], queue.pool) == ([], [])
    assert await queue.length() == 0


async def test_what_is_to_be_alone_waits_a_lease_for_a_slow_handler(queue: jobs.Queue) -> None:
    await queue.add({"a": [0]})
    first = await queue.get(lease=60)
    await queue.add({"a": [1]})
    done = Signal()
    begun, ended = [], []

    async def handler(batch: jobs.Batch) -> None:
        (number,) = batch.columns["a"].tolist()
        begun.append((number, batch.is_alone))
        if number:
            await first.extend(0.01)
            await done.wait(30)
            ended.append(done.is_set())
        else:
            done.set()
            consumer.stop()

    consumer = queue.consume(handler, limit=1, lease=2, concurrency=2)
    await consumer.run()
    assert begun == [(1, False), (0, True)]
    assert ended == [True]


async def test_what_waits_to_be_alone_is_given_back_at_a_stop(queue: jobs.Queue) -> None:
    await queue.add({"a": [0]})
    first = await queue.get(lease=60)
    await queue.add({"a": [1]})
    seen = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        await first.extend(0.01)
        while 2 not in (await queue.peek())["job_attempts"]:
            await Signal().wait(0.01)
        consumer.stop()
        # It does not wait for this handler, nor for the end of its patience.
        while 2 in (await queue.peek())["job_attempts"]:
            await Signal().wait(0.01)

    consumer = queue.consume(handler, limit=1, lease=60, concurrency=2)
    await consumer.run()
    assert seen == [1]
    assert (await queue.peek())["job_attempts"].tolist() == [1]


async def test_rows_that_failed_are_given_back_alone(queue: jobs.Queue) -> None:
    await queue.add({"a": [1, 2, 3]})

    async def handler(batch: jobs.Batch) -> None:
        bad = batch.columns["a"] == 2
        await batch.nack(batch.ids[bad], reason="two", delay=60)

    await queue.consume(handler).drain()
    stats = await queue.stats()
    assert (stats.total, stats.delayed) == (1, 1)


async def test_results_and_ack_in_one_transaction(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await pool.execute("CREATE TABLE jobs.results (a int8)")
    await queue.add({"a": np.arange(100)})
    tries = []

    async def handler(batch: jobs.Batch) -> None:
        async with pool.acquire() as connection, connection.transaction():
            await connection.copy_columns_to_table(
                "results", {"a": batch.columns["a"]}, schema_name="jobs"
            )
            await batch.commit(connection)
            tries.append(1)
            if len(tries) == 2:
                raise ValueError("rolled back")

    await queue.consume(handler, limit=10).drain()
    assert await queue.length() == 0
    assert await pool.fetchval("SELECT count(*) FROM jobs.results") == 100
    assert len(tries) == 11


async def test_leases_are_extended_while_the_work_lasts(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})
    other: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        for _ in range(10):
            await asyncio.sleep(0.1)
            other.append(len(await queue.get(timeout=0)))
        assert batch.attempts.tolist() == [1]

    await queue.consume(handler, lease=0.3).drain()
    assert other == [0] * 10
    assert await queue.length() == 0


async def test_stop_gives_back_what_was_not_begun(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(10)})
    seen: list[Any] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())
        # Another batch is held ready meanwhile.
        await asyncio.sleep(0.2)
        consumer.stop()
        await asyncio.sleep(0.1)

    consumer = queue.consume(handler, limit=3, prefetch=2)
    began = time.monotonic()
    await consumer.run()
    assert time.monotonic() - began < 5
    assert len(seen) == 3
    stats = await queue.stats()
    assert (stats.total, stats.ready, stats.leased) == (7, 7, 0)
    # Those that were given back have lost no attempt.
    assert set((await queue.get()).attempts.tolist()) == {1}
    with pytest.raises(colonnade.InterfaceError, match="works once"):
        await consumer.run()


async def test_a_handler_that_does_not_end_is_told(queue: jobs.Queue) -> None:
    await queue.add({"a": [1]})
    begun = []

    async def handler(batch: jobs.Batch) -> None:
        begun.append(len(batch))
        consumer.stop()
        await asyncio.sleep(1.5)

    consumer = queue.consume(handler, stop_within=0.2, prefetch=0)
    with pytest.raises(TimeoutError, match="still ran"):
        await consumer.run()
    assert begun == [1]
    assert await queue.length() == 1


# async-only: begin
# A thread cannot be cancelled while it waits for a connection: it acknowledges the jobs later.
async def test_a_worker_ends_though_its_handlers_keep_all_connections(
    dsn: str, queue: jobs.Queue
) -> None:
    await queue.add({"a": [1]})
    async with colonnade.create_pool(dsn, min_size=1, max_size=3) as pool:
        kept: list[Any] = []

        async def handler(batch: jobs.Batch) -> None:
            assert len(batch) == 1
            while len(kept) < 2:
                kept.append(await pool.acquire())
            consumer.stop()

        cramped = await jobs.open_queue(pool, "work")
        consumer = cramped.consume(handler, lease=0.5, stop_within=0.2)
        with pytest.raises(TimeoutError, match="could not be acknowledged"):
            await consumer.run()
        # Nobody extends its lease any more.
        again = await queue.get(timeout=30)
        assert again.attempts.tolist() == [2]
        for connection in kept:
            await pool.release(connection)


# async-only: end


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"lease": 0}, {"concurrency": 0}, {"prefetch": -1}, {"stop_within": -1}],
)
async def test_options_are_checked(queue: jobs.Queue, options: dict[str, Any]) -> None:
    async def handler(_batch: jobs.Batch) -> None: ...

    with pytest.raises(ValueError, match=next(iter(options))):
        queue.consume(handler, **options)


# async-only: begin
async def test_a_waiting_consumer_is_woken_and_stopped(queue: jobs.Queue) -> None:
    seen: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    consumer = queue.consume(handler, concurrency=3)
    task = asyncio.create_task(consumer.run())
    for number in range(20):
        await queue.add({"a": [number]})
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    consumer.stop()
    await task
    assert sorted(seen) == list(range(20))


async def test_a_cancelled_consumer_gives_everything_back(queue: jobs.Queue) -> None:
    await queue.add({"a": np.arange(10)})
    begun = asyncio.Event()

    async def handler(_batch: jobs.Batch) -> None:
        begun.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(queue.consume(handler, limit=3).run())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stats = await queue.stats()
    assert (stats.total, stats.ready) == (10, 10)


async def test_a_handler_that_takes_no_batch(queue: jobs.Queue) -> None:
    async def handler() -> None: ...

    async def with_two(_batch: jobs.Batch, _other: int) -> None: ...

    for wrong, told in (
        (handler, r"called with one argument, the batch, which the function .*handler does not"),
        (with_two, "called with one argument, the batch"),
        (5, "handler must be a function, not int"),
    ):
        made: Any = wrong
        with pytest.raises(TypeError, match=told):
            queue.consume(made)


async def test_a_plain_function_ends_the_worker(queue: jobs.Queue) -> None:
    def handler(_batch: jobs.Batch) -> None:
        return None

    await queue.add({"a": [1]})
    plain: Any = handler
    with pytest.raises(TypeError, match=r"coroutine function .* returned NoneType: .*jobs\.sync"):
        await queue.consume(plain).run()
    assert (await queue.peek())["job_attempts"].tolist() == [0]
    await queue.consume(lambda batch: batch.ack()).drain()
    assert await queue.length() == 0


# async-only: end
