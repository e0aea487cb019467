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

    consumers = [
        deadly.consume(on_deadly, lease=30),
        harmless.consume(on_harmless, limit=1, lease=30, concurrency=2),
    ]
    await asyncio.gather(*(consumer.run() for consumer in consumers))
    assert is_alone == [True] * 5
    assert len(seen) == len(set(seen))
    stats = await harmless.stats()
    assert (stats.total, stats.dead) == (200 - len(seen), 0)
    left = (await harmless.peek(200))["job_attempts"]
    assert set(left.tolist()) <= {0}
