"""Workers of queues, whose jobs are hostile: to their worker, to its process, to other jobs."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


@pytest.fixture
async def queue(dsn: str) -> AsyncIterator[jobs.Queue]:
    """A queue of ten jobs, each of which may fail twice."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        retry = jobs.Retry(max_attempts=3, delay=0)
        queue = await jobs.create_queue(pool, "reported", {"a": "int8"}, retry=retry)
        await queue.add({"a": np.arange(10)})
        yield queue
        await pool.execute("DROP SCHEMA jobs CASCADE")


async def awaits_what_is_cancelled() -> None:
    inner = asyncio.ensure_future(asyncio.Event().wait())
    inner.cancel()
    await inner


async def exits() -> None:
    sys.exit("the job's own end")


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text")


async def raises_what_has_no_text() -> None:
    raise WithoutTextError


@pytest.mark.parametrize(
    "deed",
    [
        pytest.param(awaits_what_is_cancelled, id="arq#213, pgqueuer#630, #631, eventiq#29"),
        pytest.param(exits, id="celery#1285, #1018, sidekiq#4633"),
        pytest.param(raises_what_has_no_text, id="celery#298, #175"),
    ],
)
async def test_a_job_that_would_end_its_worker(
    queue: jobs.Queue, deed: Callable[[], Awaitable[None]]
) -> None:
    """It has its attempts and is a dead letter; the worker goes on, and does the others once."""
    done: list[int] = []

    async def handler(batch: jobs.Batch) -> None:
        number = int(batch.columns["a"][0])
        if number == 4:
            await deed()
        done.append(number)

    await queue.consume(handler, limit=1).drain()
    assert sorted(done) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    dead = await queue.dead()
    assert (dead["a"].tolist(), dead["job_attempts"].tolist()) == ([4], [3])
