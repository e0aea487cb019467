# async-only: file
"""Workers of several queues that would end together, in one event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

from colonnade import jobs

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs.definition import LayoutName


async def test_a_worker_that_a_handler_runs_is_part_of_its_turn(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    outer, inner = [
        await jobs.create_queue(
            pool, name, {"a": "int8"}, layout=layout, retry=jobs.Retry(max_attempts=2)
        )
        for name in ("outer", "inner")
    ]
    await outer.add({"a": [1]})
    await outer.get(lease=0.05)
    await asyncio.sleep(0.1)
    await inner.add({"a": [2]})
    seen: list[int] = []

    async def on_inner(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["a"].tolist())

    async def on_outer(batch: jobs.Batch) -> None:
        assert batch.is_alone
        # It would wait for the end of this handler, which waits for it.
        async with asyncio.timeout(30):
            await inner.consume(on_inner, concurrency=1).drain()

    await outer.consume(on_outer, lease=30).drain()
    assert seen == [2]
    assert (await outer.stats()).dead == 0


async def test_a_job_that_may_end_the_process_begins_without_those_of_other_queues(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    deadly, harmless = [
        await jobs.create_queue(
            pool, name, {"a": "int8"}, layout=layout, retry=jobs.Retry(max_attempts=2)
        )
        for name in ("deadly", "harmless")
    ]
    await deadly.add({"a": [1]})
    await deadly.get(lease=0.05)
    await asyncio.sleep(0.1)
    await harmless.add({"a": np.arange(200)})
    seen: list[int] = []
    is_alone: list[bool] = []

    async def on_harmless(batch: jobs.Batch) -> None:
        if is_alone:
            consumers[1].stop()
        seen.extend(batch.columns["a"].tolist())
        await asyncio.sleep(0.02)

    async def on_deadly(batch: jobs.Batch) -> None:
        while len(is_alone) < 5:
            is_alone.append(batch.is_alone and (await harmless.stats()).leased == 0)
        consumers[0].stop()
        # There may be none left.
        await harmless.add({"a": [200]})

    consumers = [
        deadly.consume(on_deadly, lease=30),
        harmless.consume(on_harmless, limit=1, lease=30, concurrency=2),
    ]
    await asyncio.gather(*(consumer.run() for consumer in consumers))
    assert is_alone == [True] * 5
    assert len(seen) == len(set(seen))
    stats = await harmless.stats()
    assert (stats.total, stats.dead) == (201 - len(seen), 0)
    left = (await harmless.peek(201))["job_attempts"]
    assert set(left.tolist()) <= {0}


async def test_a_worker_stops_while_a_job_of_another_one_is_alone(
    pool: colonnade.Pool, layout: LayoutName
) -> None:
    deadly, harmless = [
        await jobs.create_queue(
            pool, name, {"a": "int8"}, layout=layout, retry=jobs.Retry(max_attempts=2)
        )
        for name in ("deadly", "harmless")
    ]
    await deadly.add({"a": [1]})
    await deadly.get(lease=0.05)
    await asyncio.sleep(0.1)
    is_begun, may_end = asyncio.Event(), asyncio.Event()

    async def on_deadly(batch: jobs.Batch) -> None:
        assert batch.is_alone
        is_begun.set()
        await may_end.wait()

    async def on_harmless(_batch: jobs.Batch) -> None: ...

    work = asyncio.create_task(deadly.consume(on_deadly, lease=30).drain())
    await is_begun.wait()
    consumer = harmless.consume(on_harmless, stop_within=30)
    other = asyncio.create_task(consumer.run())
    await asyncio.sleep(0.1)
    consumer.stop()
    async with asyncio.timeout(20):
        await other
    may_end.set()
    await work
