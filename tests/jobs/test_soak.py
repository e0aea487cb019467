"""Twenty thousand jobs among workers that fail at random: each is done, none is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import numpy as np
import pytest

import colonnade
from colonnade import jobs
from colonnade.jobs.definition import LayoutName

pytestmark = pytest.mark.thorough

JOBS = 20_000
WORKERS = 4
BATCH = 100


class Chaos:
    """Workers that do their jobs, fail, leave them, are late, or are cancelled."""

    def __init__(self, pool: colonnade.Pool, seed: int) -> None:
        self.random = random.Random(seed)
        self.pool = pool
        self.done: Counter[int] = Counter()
        self.refused = 0

    async def work(self) -> None:
        queue = await jobs.open_queue(self.pool, "work")
        while await queue.length():
            try:
                async with asyncio.timeout(self.random.choice([0.001, 0.01, 5.0, 5.0])):
                    batch = await queue.get(BATCH, lease=0.2, timeout=0.05)
            except TimeoutError:
                continue
            try:
                await self.handle(batch)
            except jobs.LeaseLostError as error:
                self.refused += len(error.lost)

    async def handle(self, batch: jobs.Batch) -> None:
        fate = self.random.random()
        if fate < 0.1:
            return
        if fate < 0.2:
            await asyncio.sleep(0.25)
        elif fate < 0.3:
            await batch.nack(batch.ids[::2], reason="chance", delay=0)
        elif fate < 0.35:
            await batch.release()
        values = dict(zip(batch.ids.tolist(), batch.columns["a"].tolist(), strict=True))
        held = batch.held.tolist()
        try:
            await batch.ack()
        except jobs.LeaseLostError as error:
            held = [number for number in held if number not in set(error.lost.tolist())]
            raise
        finally:
            self.done.update(values[number] for number in held)


@pytest.mark.parametrize("layout", ["rows", "segments"])
async def test_each_job_is_done_exactly_once_by_its_last_holder(
    dsn: str, layout: LayoutName
) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)  # noqa: T201
    async with colonnade.create_pool(dsn, min_size=1, max_size=WORKERS + 1) as pool:
        retry = jobs.Retry(max_attempts=30_000, delay=0)
        try:
            queue = await jobs.create_queue(pool, "work", {"a": "int8"}, retry=retry, layout=layout)
            await queue.add({"a": np.arange(JOBS)})
            chaos = Chaos(pool, seed)
            async with asyncio.timeout(180):
                await asyncio.gather(*(chaos.work() for _ in range(WORKERS)))
            # An acknowledged job was acknowledged by one worker only, whatever went wrong before.
            assert chaos.done == Counter(range(JOBS))
            assert (await queue.stats()).dead == 0
        finally:
            await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE")
