"""A pool and a schema of queues for each test, and a check that no task is left."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

PAYLOAD = {"a": "int8", "b": "text"}


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    """A pool; afterwards its schema `jobs` is dropped."""
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        await pool.execute('DROP SCHEMA IF EXISTS "jobs" CASCADE')
    # Coroutines that are finalized while CPython 3.11 parses a module break its parser.
    gc.collect()
    # async-only: begin
    assert asyncio.all_tasks() == {asyncio.current_task()}
    # async-only: end


@pytest.fixture
async def queue(pool: colonnade.Pool, layout: LayoutName) -> jobs.Queue:
    """A queue of the test's layout with two attempts without a pause."""
    retry = jobs.Retry(max_attempts=2, delay=0)
    return await jobs.create_queue(pool, "work", PAYLOAD, retry=retry, layout=layout)


@pytest.fixture
async def rows_queue(pool: colonnade.Pool) -> jobs.Queue:
    """A queue of the layout rows, which alone has unique keys."""
    return await jobs.create_queue(pool, "rows", PAYLOAD)
